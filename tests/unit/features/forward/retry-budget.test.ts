import { describe, expect, test } from "bun:test";
import { RetryBudget } from "../../../../src/features/forward/forward-handler.ts";

/** Everything fails: each request asks for a retry; gives the number that are allowed. */
function outage(budget: RetryBudget, fromMs: number, requests: number, everyMs: number): number {
  let allowed = 0;
  for (let i = 0; i < requests; i++) {
    const nowMs = fromMs + i * everyMs;
    budget.noteRequest(nowMs);
    if (!budget.allows(nowMs)) continue;
    budget.noteRetry();
    allowed++;
  }
  return allowed;
}

describe("a retry budget", () => {
  test("allows every retry while requests are few", () => {
    expect(outage(new RetryBudget(), 0, 500, 200)).toBe(500);
  });

  test("allows a fifth and a floor when they are many", () => {
    const requests = 60_000;
    const allowed = outage(new RetryBudget(), 0, requests, 1);
    expect(allowed).toBeGreaterThan(requests * 0.2);
    expect(allowed).toBeLessThan(requests * 0.2 + 60 * 10 * 1.5);
  });

  test("has room for what fails when one of three targets is away", () => {
    const budget = new RetryBudget();
    let refused = 0;
    for (let i = 0; i < 20_000; i++) {
      budget.noteRequest(i);
      // Until the breaker opens, a hundred requests or so; then nothing.
      if (i < 5000 || i > 5300 || i % 3 !== 0) continue;
      if (budget.allows(i)) budget.noteRetry();
      else refused++;
    }
    expect(refused).toBe(0);
  });

  test("forgets: after a pause it is full again", () => {
    const budget = new RetryBudget();
    outage(budget, 0, 10_000, 1);
    expect(budget.allows(10_000)).toBe(false);
    expect(budget.allows(40_000)).toBe(true);
    expect(outage(budget, 40_000, 1000, 0)).toBeGreaterThanOrEqual(100);
  });
});
