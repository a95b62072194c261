import { expect, test } from "bun:test";
import { percentile } from "../figures.ts";
import { AnswerQueue } from "./answer-queue.ts";
import { type DelayProfile, leavingAt, trueLatencies } from "./delayed-answers.ts";

const FIVE_MS: DelayProfile = { parts: [{ share: 1, fromMs: 5, toMs: 5 }], stallEveryMs: 0, stallMs: 0 };
const STALLING: DelayProfile = { ...FIVE_MS, stallEveryMs: 1000, stallMs: 100 };

test("answers that are ready in a stall leave at its end", () => {
  expect([2000, 2050, 2099.5, 2100, 2500].map((ms) => leavingAt(STALLING, ms))).toEqual([2100, 2100, 2100, 2100, 2500]);
});

test("the truth of a constant delay is that delay", () => {
  expect(percentile(trueLatencies(FIVE_MS, 1000, 100, 5), 99)).toBeCloseTo(5);
});

test("a stall is felt by all that are due in it, also by those that find no connection free", () => {
  const [many, few] = [1000, 10].map((connections) => trueLatencies(STALLING, 1000, connections, 20));
  const slow = (all: readonly number[]) => all.filter((ms) => ms > 50).length / all.length;
  // A tenth of the time stands still, and half of what falls into it waits for more than half of it.
  expect(slow(many!)).toBeWithin(0.04, 0.07);
  expect(slow(few!)).toBeGreaterThan(slow(many!));
});

test("answers that a stall held back leave one by one, as fast as the server writes them", () => {
  const slowest = (answerMs: number) => percentile(trueLatencies(STALLING, 1000, 1000, 20, answerMs), 99.9);
  // A hundred are held back by each stall; those that came first waited longest, and leave first.
  expect(slowest(0.01) - slowest(0)).toBeWithin(-0.1, 1);
  expect(slowest(1) - slowest(0)).toBeGreaterThan(0);
  expect(percentile(trueLatencies(STALLING, 1000, 1000, 20, 1), 50)).toBeWithin(4.9, 5.5);
});

test("answers leave in the order of their times", async () => {
  const order: number[] = [];
  const queue = new AnswerQueue<number>((client) => order.push(client));
  const now = performance.now();
  const times = [30, 10, 25, 5, 20, 15, 40, 35].map((ms) => now + ms / 4);
  for (const atMs of times) queue.add(atMs, atMs);
  while (order.length < times.length) await Bun.sleep(1);
  expect(order).toEqual([...times].sort((a, b) => a - b));
});
