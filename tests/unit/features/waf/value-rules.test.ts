import { describe, expect, test } from "bun:test";
import { VALUE_RULES, WAF_RULES } from "../../../../src/features/waf/rule-table.ts";
import { Sign } from "../../../../src/features/waf/rules/sign.ts";
import { inspectVector, vectorsOf } from "./vector-request.ts";

describe("the rule table", () => {
  test("has each sign once, in order", () => {
    expect(VALUE_RULES.map((rule) => rule.sign)).toEqual(Array.from({ length: Sign.Count }, (_, sign) => sign));
  });

  test("has unique ids that say their category, and weights that are those of the Core Rule Set", () => {
    expect(new Set(WAF_RULES.map((rule) => rule.id)).size).toBe(WAF_RULES.length);
    for (const { id, category, score } of WAF_RULES) {
      expect(id.toLowerCase().split("-")[0]).toBe(category);
      expect([5, 4, 3, 2]).toContain(score);
      if (category === "traversal") expect(score).toBe(5);
    }
  });

  for (const rule of VALUE_RULES) {
    test(`${rule.id} agrees with its own vectors`, () => {
      const { matches, passes } = vectorsOf(rule.id);
      const missed = matches.filter((vector) => !inspectVector(vector).ids.includes(rule.id));
      const wrong = passes.filter((vector) => inspectVector(vector).ids.includes(rule.id));
      expect({ missed, wrong }).toEqual({ missed: [], wrong: [] });
      expect(matches.length).toBeGreaterThan(1);
      expect(passes.length).toBeGreaterThan(1);
    });
  }
});
