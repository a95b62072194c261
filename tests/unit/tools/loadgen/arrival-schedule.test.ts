import { describe, expect, test } from "bun:test";
import { ArrivalSchedule } from "../../../../src/tools/loadgen/arrival-schedule.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";

const START_MS = 1000;

function arrivals(perSecond: number, durationMs: number, seed = 1): number[] {
  const random = new SeededRandom(seed);
  const schedule = new ArrivalSchedule(perSecond, START_MS, durationMs, () => random.next());
  const times: number[] = [];
  for (; schedule.nextMs < Number.POSITIVE_INFINITY; schedule.advance()) times.push(schedule.nextMs);
  return times;
}

describe("the arrivals", () => {
  test.each([
    [2000, 5000, 10_000],
    [1800, 5000, 9000],
    [200, 1500, 300],
    [7, 1000, 7],
    [0.1, 10_000, 1],
    [0, 5000, 0],
  ])("at %d a second for %d ms are %d, none outside the time", (perSecond, durationMs, count) => {
    const times = arrivals(perSecond, durationMs);
    expect(times).toHaveLength(count);
    expect(
      times.every((at, i) => at >= START_MS && at < START_MS + durationMs && (i === 0 || at >= times[i - 1]!)),
    ).toBe(true);
  });

  test("are as many in each second", () => {
    const perSecond = new Array<number>(5).fill(0);
    for (const at of arrivals(1234, 5000)) perSecond[Math.floor((at - START_MS) / 1000)]!++;
    expect(perSecond).toEqual([1234, 1234, 1234, 1234, 1234]);
  });

  test("come at intervals of the exponential distribution", () => {
    const times = arrivals(2000, 20_000);
    const gaps = times.slice(1).map((at, i) => at - times[i]!);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const share = (limit: number) => gaps.filter((gap) => gap > limit * mean).length / gaps.length;
    expect(mean).toBeCloseTo(0.5, 3);
    expect(share(1)).toBeCloseTo(Math.exp(-1), 1.7);
    expect(share(3)).toBeCloseTo(Math.exp(-3), 1.9);
  });
});
