import { describe, expect, test } from "bun:test";
import { TRAVERSAL_RULES } from "../../../../src/features/waf/detectors/path-traversal.ts";
import { BUDGET_EXHAUSTED } from "../../../../src/features/waf/detectors/protocol-abuse.ts";
import { DETECTOR_GROUPS, keywordGroups, WAF_RULES } from "../../../../src/features/waf/rule-table.ts";
import { WAF_CATEGORIES } from "../../../../src/memory/counter-rows.ts";
import ruleVectors from "../../../vectors/waf/rules.json";
import { inspectVector, vectorsOf } from "./vector-request.ts";

describe("the rule table", () => {
  test("is in the order of the categories, and numbered in each", () => {
    const expected = WAF_CATEGORIES.flatMap((category) => {
      const { length } = WAF_RULES.filter((rule) => rule.category === category);
      return Array.from({ length }, (_, i) => `${category.toUpperCase()}-${String(i + 1).padStart(3, "0")}`);
    });
    expect(WAF_RULES.map((rule) => rule.id)).toEqual(expected);
  });

  test("has unique ids that say their category, and weights that are those of the Core Rule Set", () => {
    expect(new Set(WAF_RULES.map((rule) => rule.id)).size).toBe(WAF_RULES.length);
    for (const { id, category, score } of WAF_RULES) {
      expect(id.toLowerCase().split("-")[0]).toBe(category);
      expect([5, 4, 3, 2]).toContain(score);
      if (category === "traversal") expect(score).toBe(5);
    }
  });

  test("has keywords for each group of detectors, which the bits of a number have room for", () => {
    expect(DETECTOR_GROUPS.length).toBeLessThan(32);
    expect(keywordGroups().filter(({ keywords }) => keywords.length === 0)).toEqual([]);
  });

  test("has vectors for each rule, and no others", () => {
    const { note: _note, ...vectors } = ruleVectors;
    const expected = WAF_RULES.filter((rule) => rule !== BUDGET_EXHAUSTED).map((rule) => rule.id);
    expect(Object.keys(vectors).sort()).toEqual(expected.sort());
  });

  for (const rule of WAF_RULES) {
    if (rule === BUDGET_EXHAUSTED || TRAVERSAL_RULES.some((one) => one === rule)) continue;
    test(`${rule.id} agrees with its own vectors`, () => {
      const { matches, passes } = vectorsOf(rule.id);
      const missed = matches.filter((vector) => !inspectVector(vector, rule).ids.includes(rule.id));
      const wrong = passes.filter((vector) => inspectVector(vector, rule).ids.includes(rule.id));
      expect({ missed, wrong }).toEqual({ missed: [], wrong: [] });
      expect(matches.length).toBeGreaterThan(1);
      expect(passes.length).toBeGreaterThan(1);
      // A rule of level 2 is silent at level 1, and one of a section without it.
      const early =
        rule.level === 2 || rule.needs !== undefined
          ? matches.filter((vector) => inspectVector(vector).ids.includes(rule.id))
          : [];
      expect(early).toEqual([]);
    });
  }
});
