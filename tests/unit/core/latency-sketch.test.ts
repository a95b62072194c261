import { expect, test } from "bun:test";
import fc from "fast-check";
import { LatencySketch, percentilesOf } from "../../../src/core/latency-sketch.ts";

test("percentiles are within 10 % of the exact ones, however the durations were gathered", () => {
  const durations = fc.array(fc.double({ min: 0.1, max: 50_000, noNaN: true }), { minLength: 200, maxLength: 400 });
  fc.assert(
    fc.property(durations, fc.nat(200), (all, at) => {
      const [one, other] = [new LatencySketch(), new LatencySketch()];
      for (const ms of all.slice(0, at)) one.add(ms);
      for (const ms of all.slice(at)) other.add(ms);
      one.merge(other.pairs());
      expect(one.count).toBe(all.length);
      const sorted = all.toSorted((a, b) => a - b);
      one.percentiles()!.forEach((found, i) => {
        const exact = sorted[Math.ceil([0.5, 0.9, 0.99][i]! * all.length) - 1]!;
        expect(Math.abs(found - exact) / exact).toBeLessThan(0.1);
      });
    }),
    { numRuns: 50 },
  );
});

test("what is out of bounds counts at the ends, and what fades is gone after a while", () => {
  const sketch = new LatencySketch();
  for (const ms of [0, -1, Number.NaN, 1e9]) sketch.add(ms);
  expect(sketch.count).toBe(4);
  expect(sketch.percentiles()![2]).toBeGreaterThan(60_000);
  for (let i = 0; i < 30; i++) sketch.fade(0.8);
  expect([sketch.count, sketch.percentiles()]).toEqual([0, null]);
});

test("a histogram with fixed bounds gives the place within a bucket", () => {
  expect(percentilesOf([0, 0, 0], [1, 2])).toBeNull();
  expect(percentilesOf([100, 0, 0], [1, 2])).toEqual([0.5, 0.9, 0.99]);
  expect(percentilesOf([0, 0, 7], [1, 2])).toEqual([2, 2, 2]);
});
