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

  // Of an exponential distribution, the standard deviation is the mean. What is drawn second by second is too even at low rates.
  test.each([0.1, 1, 2, 5, 20, 200, 2000])("vary as those of a Poisson process at %d a second", (perSecond) => {
    for (const seed of [1, 2, 3]) {
      const times = arrivals(perSecond, (40_000 / perSecond) * 1000, seed);
      const gaps = times.slice(1).map((at, i) => at - times[i]!);
      const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
      const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
      expect(Math.abs(Math.sqrt(variance) / mean - 1)).toBeLessThan(0.03);
      expect(mean).toBeCloseTo(1000 / perSecond, -1);
      // In any stretch of time there are as many as their mean, with a variance as large.
      const perTen = new Array<number>(4000).fill(0);
      for (const at of times) perTen[Math.floor(((at - START_MS) * perSecond) / 10_000)]!++;
      const spread = perTen.reduce((sum, count) => sum + (count - 10) ** 2, 0) / perTen.length;
      expect(Math.abs(spread / 10 - 1)).toBeLessThan(0.1);
    }
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
