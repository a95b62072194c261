import { describe, expect, test } from "bun:test";
import { readTokenKeys } from "../../../../../src/features/auth/control/key-service.ts";
import type { VerificationKey } from "../../../../../src/proto/jwt/key-set.ts";
import { type FetchedText, freshMs, KeySetOwner } from "../../../../../src/proto/jwt/key-set-owner.ts";
import { issuerKey, keySetText } from "../../../../harness/token-issuer.ts";

const first = keySetText(issuerKey("ES256", "one"));
const second = keySetText(issuerKey("ES256", "two"));

/** An owner on a clock of its own, whose source answers as told. */
function lab() {
  let nowMs = 0;
  const timers: { atMs: number; act: () => void }[] = [];
  const told: string[] = [];
  const state = { answer: (): Promise<FetchedText> => Promise.resolve({ text: first, cacheControl: "" }), fetches: 0 };
  const owner = new KeySetOwner<VerificationKey>({
    read: readTokenKeys,
    fetch: () => {
      state.fetches++;
      return state.answer();
    },
    now: () => nowMs,
    after(ms, act) {
      const timer = { atMs: nowMs + ms, act };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
    onKeys: (keys: readonly VerificationKey[]) => told.push(keys.map(({ kid }) => kid).join()),
    onFailure: (reason, failures, retryInMs) => told.push(`${reason} ${failures} ${retryInMs}`),
  });
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms;
    for (const timer of timers.filter(({ atMs }) => atMs <= nowMs)) {
      timers.splice(timers.indexOf(timer), 1);
      timer.act();
    }
    await Bun.sleep(0);
  };
  return { owner, state, told, pass, timers };
}

const away = (): Promise<FetchedText> => Promise.reject(new Error("away"));

test("fetches at the start, then when the keys are too old; the same keys are told once", async () => {
  const { owner, state, told, pass } = lab();
  await owner.fetch();
  await pass(599_000);
  expect(state.fetches).toBe(1);
  await pass(1000);
  expect([state.fetches, told]).toEqual([2, ["one"]]);
  state.answer = () => Promise.resolve({ text: second, cacheControl: "max-age=120" });
  await pass(600_000);
  await pass(119_000);
  expect([state.fetches, told]).toEqual([3, ["one", "two"]]);
  await pass(1000);
  expect(state.fetches).toBe(4);
});

test("an unknown key is asked for once in ten seconds, whoever asks; questions meanwhile share one response", async () => {
  const { owner, state, pass } = lab();
  await owner.fetch();
  expect(await owner.wanted()).toBe(10_000);
  await pass(9000);
  expect(await owner.wanted()).toBe(1000);
  expect(state.fetches).toBe(1);
  await pass(1000);
  expect(await Promise.all([owner.wanted(), owner.wanted(), owner.wanted()])).toEqual([10_000, 10_000, 10_000]);
  expect(state.fetches).toBe(2);
});

test("without keys it tries again soon and then less often; with keys they stay", async () => {
  const { owner, state, told, pass } = lab();
  state.answer = away;
  await owner.fetch();
  for (const ms of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) await pass(ms);
  expect(told.slice(-2)).toEqual(["away 7 30000", "away 8 30000"]);
  expect(owner.keys).toBeNull();
  state.answer = () => Promise.resolve({ text: first, cacheControl: "" });
  await pass(30_000);
  state.answer = away;
  await pass(600_000);
  for (const ms of [10_000, 20_000, 40_000, 80_000, 160_000, 300_000]) await pass(ms);
  expect(told.at(-1)).toBe("away 7 300000");
  expect(owner.keys).toHaveLength(1);
  owner.hurry();
  expect(state.fetches).toBe(17);
});

test.each([["{}"], ['{"keys":[]}'], ['{"keys":[{"kty":"oct","k":"AA"}]}'], ["<html>"]])(
  "%s is a failure, and changes nothing",
  async (text) => {
    const { owner, state, told } = lab();
    await owner.fetch();
    state.answer = () => Promise.resolve({ text, cacheControl: "" });
    await owner.fetch();
    expect([told.length, owner.keys?.length]).toEqual([2, 1]);
  },
);

test("stopped, it is silent: what comes then changes nothing", async () => {
  const { owner, state, told, timers } = lab();
  const { promise, resolve } = Promise.withResolvers<FetchedText>();
  state.answer = () => promise;
  const fetched = owner.fetch();
  owner.stop();
  resolve({ text: first, cacheControl: "" });
  await fetched;
  expect([told, timers.length, owner.keys]).toEqual([[], 0, null]);
});

describe("how long keys are fresh", () => {
  test.each([
    ["", 600_000],
    ["public, max-age=300", 300_000],
    ["max-age=0", 60_000],
    ["MAX-AGE=5", 60_000],
    ["max-age=99999999999", 600_000],
    ["max-age=86400", 3_600_000],
    ["no-store", 60_000],
    ["max-age=-5", 600_000],
    ['max-age="120"', 120_000],
    ["x-max-age=70", 600_000],
  ])("%j: %i ms", (value, ms) => {
    expect(freshMs(value)).toBe(ms);
  });
});
