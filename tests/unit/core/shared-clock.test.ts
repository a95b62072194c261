import { describe, expect, test } from "bun:test";
import { SharedClock } from "../../../src/core/shared-clock.ts";
import { Turn } from "../../../src/core/timer-wheel.ts";

/** A worker's reading of the control thread's clock, in a turn at 100 ms on its own. */
function reading(control: [originMs: number, nowMs: number], own: [originMs: number, nowMs: number]): number {
  const turn = new Turn();
  turn.nowMs = 100;
  const [from, to] = [control, own].map(([originMs, nowMs]) => ({ originMs, nowMs }));
  return new SharedClock(turn, from!, to).nowMs;
}

describe("the shared clock", () => {
  test("is the control thread's, however long the message took", () => {
    // The worker began 5000 ms after the control thread.
    expect(reading([1_000_000, 5040], [1_005_000, 40])).toBe(5100);
    expect(reading([1_000_000, 5040], [1_005_000, 90])).toBe(5100);
    expect(reading([1_000_000, 5040], [1_005_000, 900])).toBe(5100);
  });

  test("goes by the message where the time of day was set in between", () => {
    // An hour forth, an hour back.
    expect(reading([1_000_000, 5040], [4_605_000, 45])).toBe(5095);
    expect(reading([1_000_000, 5040], [-2_595_000, 45])).toBe(5095);
  });
});
