import { expect, test } from "bun:test";
import { nextRate, type SweepStep, sweepText } from "../../../../src/tools/loadgen/rate-sweep.ts";

// docs/tools.md#the-knee

function stepAt(offered: number, isGood: boolean): SweepStep {
  const figures = { reached_rps: offered, benign_success_pct: 100, p50_ms: 1, p99_ms: 2, is_generator_busy: false };
  return { offered_rps: offered, is_good: isGood, ...figures };
}

/** Looks for the knee of a gateway that keeps so many. */
function ratesUntilFound(kept: number, first: number): { tried: number; found: number } {
  const steps: SweepStep[] = [];
  for (let rate = nextRate(steps, first); rate !== null; rate = nextRate(steps, first)) {
    steps.push(stepAt(rate, rate <= kept));
  }
  return {
    tried: steps.length,
    found: Math.max(0, ...steps.filter((one) => one.is_good).map((one) => one.offered_rps)),
  };
}

test("a knee is found to within a tenth, from wherever the search begins", () => {
  for (const kept of [1, 7, 90, 1500, 23_456, 400_000]) {
    for (const first of [1, 100, 2000, 50_000]) {
      const { tried, found } = ratesUntilFound(kept, first);
      expect(tried).toBeLessThanOrEqual(24);
      if (tried < 24) expect([kept, first, found <= kept && found * 1.11 + 1 >= kept]).toEqual([kept, first, true]);
    }
  }
});

test("where nothing is kept, or all is, the search ends", () => {
  expect(ratesUntilFound(0, 2000).found).toBe(0);
  expect(ratesUntilFound(10_000_000, 100_000).found).toBe(1_000_000);
});

test("the text names what was in the way", () => {
  const report = { timestamp: "", target_url: "", knee_rps: 100, steps: [stepAt(200, false), stepAt(100, true)] };
  const text = sweepText({ ...report, limited_by: "generator" });
  expect(text).toContain("knee at 100 requests a second: above it this machine is too busy");
  expect(text.indexOf("100/s  kept")).toBeLessThan(text.indexOf("200/s  not kept"));
});
