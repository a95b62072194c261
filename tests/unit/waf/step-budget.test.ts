import { describe, expect, test } from "bun:test";
import { WAF_LEAST_BYTES, WAF_STEPS_PER_BYTE } from "../../../src/core/limits.ts";
import { StepBudget } from "../../../src/features/waf/match/step-budget.ts";
import { WafInspector } from "../../../src/features/waf/waf-inspector.ts";
import { HOSTILE_PLACES, repeated } from "../../harness/hostile-values.ts";
import { NO_ROUTES } from "./vector-request.ts";

describe("a budget of steps", () => {
  test("grows with what is inspected, and a short request has that of a longer one", () => {
    const steps = new StepBudget();
    steps.begin(10);
    expect(steps.take(WAF_STEPS_PER_BYTE * WAF_LEAST_BYTES)).toBe(true);
    expect([steps.take(1), steps.isSpent]).toEqual([false, true]);
    steps.begin(2 * WAF_LEAST_BYTES);
    expect(steps.take(2 * WAF_STEPS_PER_BYTE * WAF_LEAST_BYTES)).toBe(true);
  });

  for (const { name, maxBytes, request } of HOSTILE_PLACES.filter((place) => place.name !== "pairs")) {
    test(`that is spent in ${name} scores, is told once an inspection, and stops it`, () => {
      let told = 0;
      const steps = new StepBudget(1 / 64);
      const inspector = new WafInspector([], NO_ROUTES, [], steps, () => told++);
      const { head, body } = request(repeated("/*'*/;cat a;<a b=1>${a}{{select select.a from b(", maxBytes));
      const score = inspector.inspect(head);
      if (body.length > 0) inspector.inspectBody(head, score, body, 0, body.length);
      expect(inspector.findings.rules().map(({ id }) => id)).toContain("PROTOCOL-007");
      expect(inspector.findings.score).toBeGreaterThanOrEqual(5);
      expect(told).toBe(1);
      expect(steps.taken).toBeLessThan(40 * maxBytes);
    });
  }
});
