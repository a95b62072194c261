import { describe, expect, test } from "bun:test";
import { SeededRandom } from "../harness/seeded-random.ts";
import { bootstrapMedian, fixed, inTurn, median, percentile, slope, table } from "./figures.ts";

describe("figures", () => {
  test("the median is the middle value, or the mean of the two middle ones", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  test("the median of other samples of the same kind lies in the range of the bootstrap", () => {
    const random = new SeededRandom(7);
    const noise = () => 3 + Array.from({ length: 12 }, () => random.next()).reduce((sum, one) => sum + one - 0.5, 0);
    let inside = 0;
    for (let run = 0; run < 100; run++) {
      const { low, high } = bootstrapMedian(Array.from({ length: 60 }, noise), 95, () => random.next());
      if (low <= 3 && high >= 3) inside++;
    }
    expect(inside).toBeGreaterThan(85);
    expect(inside).toBeLessThanOrEqual(100);
    const { low, high } = bootstrapMedian([5, 5, 5], 95);
    expect([low, high]).toEqual([5, 5]);
  });

  test("percentiles are interpolated between neighbours", () => {
    expect(percentile([0, 10, 20, 30, 40], 99)).toBeCloseTo(39.6);
    expect(percentile([7], 99)).toBe(7);
  });

  test("the slope is that of the least-squares line", () => {
    expect(slope([1, 2, 3, 4].map((x) => ({ x, y: 5 + 2 * x })))).toBeCloseTo(2);
    expect(slope([0, 1, 2, 3].map((x) => ({ x, y: [1, 3, 2, 4][x]! })))).toBeCloseTo(0.8);
    expect(slope([{ x: 1, y: 1 }])).toBe(0);
  });

  test("what is measured first in one round is measured last in the next one", () => {
    expect([1, 2, 3, 4].map((round) => inTurn(["edge", "before", "nginx"], round).join(" "))).toEqual([
      "edge before nginx",
      "nginx before edge",
      "edge before nginx",
      "nginx before edge",
    ]);
  });

  test("a figure that is not known is a dash", () => {
    expect(fixed(1.005, 1)).toBe("1.0");
    expect(fixed(undefined, 2)).toBe("-");
    expect(fixed(Number.NaN, 2)).toBe("-");
  });

  test("a table has its first column on the left", () => {
    expect(table(["a", "b"], [["x", "1"]])).toBe("| a | b |\n| --- | ---: |\n| x | 1 |");
  });
});
