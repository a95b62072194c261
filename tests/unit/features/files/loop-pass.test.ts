import { expect, test } from "bun:test";
import { LoopPass } from "../../../../src/features/files/loop-pass.ts";

test("requests of one pass of the event loop have one number", async () => {
  const pass = new LoopPass();
  const first = pass.current;
  expect([pass.current, pass.current]).toEqual([first, first]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(pass.current).toBe(first + 1);
});

test("a pass is over when its events have been served, and a quiet loop counts nothing", () => {
  const ends: (() => void)[] = [];
  const pass = new LoopPass((end) => ends.push(end));
  expect(pass.current).toBe(1);
  expect(ends).toHaveLength(1);
  ends[0]!();
  expect(ends).toHaveLength(1);
  expect(pass.current).toBe(2);
});
