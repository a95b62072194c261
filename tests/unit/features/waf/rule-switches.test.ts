import { describe, expect, test } from "bun:test";
import { WAF_RULES } from "../../../../src/features/waf/rule-table.ts";
import { explainWaf } from "../../../../src/features/waf/waf-explanation.ts";
import type { WafSettings } from "../../../../src/features/waf/waf-scorer.ts";
import { NO_ROUTES, requestOf, vectorsOf } from "./vector-request.ts";
import { ENFORCE, settingsFor } from "./waf-settings.ts";

/** Ids of the rules that match a request in the notation of the vectors, or a plain target. */
function idsOf(vector: string, change: Partial<WafSettings> = {}): string[] {
  const settings: WafSettings = { ...ENFORCE, mode: "detection", ...change };
  return explainWaf(requestOf(vector), settings, NO_ROUTES).rules.map((rule) => rule.id);
}

describe("disabled rules", () => {
  test.each(WAF_RULES.map((rule) => [rule.id, rule] as const))("%s stays silent", (id, rule) => {
    for (const vector of vectorsOf(id).matches) {
      const request = id.startsWith("TRAVERSAL") && !vector.startsWith("[") ? `[target] ${vector}` : vector;
      const before = idsOf(request, settingsFor(rule));
      expect(before).toContain(id);
      expect(idsOf(request, { ...settingsFor(rule), disabledRules: [id] })).toEqual(
        before.filter((other) => other !== id),
      );
    }
  });
});

describe("exclusions", () => {
  const attack = "' or '1'='1";
  const [id] = idsOf(attack) as [string];
  const isFound = (target: string, path: string, param: string): boolean =>
    idsOf(`[target] ${target}?${QUERY}`, { exclusions: [{ rule: id, path, param }] }).includes(id);
  const QUERY = "Text=%27+or+%271%27=%271";

  test.each([
    ["/cms/edit", "/cms", "text", false],
    ["/cms/edit", "/cms", "TEXT", false],
    ["/cms/edit", "/cms", "", false],
    ["/cms/edit", "", "text", false],
    ["/cms/edit", "/", "text", false],
    ["/cms", "/cms", "text", false],
    ["/cms/edit", "/cms", "title", true],
    ["/cmsx", "/cms", "text", true],
    ["/", "/cms", "text", true],
    ["/CMS/edit", "/cms", "text", true],
  ])("%s under %j for %j", (target, path, param, found) => {
    expect(isFound(target, path, param)).toBe(found);
  });

  test.each(["/cms/../x", "/cms/%2e%2e/x", "/cms/%252e%252e/x", "/cms/..;/y", "/cms/..%5cx"])(
    "are not gained by the spelling %s",
    (target) => {
      expect(isFound(target, "/cms", "text")).toBe(true);
    },
  );

  test("are for a whole family where it is named", () => {
    const both = "[?] sql=1' union select a from b -- &q=<script>alert(1)</script>";
    const all = idsOf(both);
    const left = idsOf(both, { exclusions: [{ rule: "SQLI-*", path: "", param: "sql" }] });
    expect(all.filter((one) => one.startsWith("SQLI-")).length).toBeGreaterThan(0);
    expect(left).toEqual(all.filter((one) => !one.startsWith("SQLI-")));
    expect(left.length).toBeGreaterThan(0);
    expect(idsOf(both, { exclusions: [{ rule: "SQLI-*", path: "", param: "q" }] })).toEqual(all);
  });

  test("are for their rule only, and several add up", () => {
    const both = "[?] a=<script>alert(1)</script>&b=' or '1'='1";
    const all = idsOf(both);
    const of = (...rules: string[]) =>
      idsOf(both, { exclusions: rules.map((rule) => ({ rule, path: "", param: "" })) });
    expect(of(id)).toEqual(all.filter((other) => other !== id));
    expect(of(...all)).toEqual([]);
  });

  test("in one parameter leave the others", () => {
    const exclusions = [{ rule: id, path: "", param: "a" }];
    expect(idsOf(`[?] a=${attack}`, { exclusions })).toEqual([]);
    expect(idsOf(`[?] a=${attack}&b=${attack}`, { exclusions })).toEqual([id]);
  });

  test.each([
    ["text", false],
    ["post.text", false],
    ["post", true],
    ["ext", true],
  ])("name a JSON member by its path or its own name: %j", (param, found) => {
    const vector = `[json] {"post":{"text":${JSON.stringify(attack)}}}`;
    expect(idsOf(vector, { exclusions: [{ rule: id, path: "", param }] }).includes(id)).toBe(found);
  });

  test.each([
    ["[cookie] session=' or '1'='1", "session"],
    ["[Referer:] https://a.test/?q=' or '1'='1", "referer"],
    ["[X-Forwarded-For:] ' or '1'='1", "x-forwarded-for"],
  ])("name cookies and headers: %s", (vector, param) => {
    const ids = idsOf(vector);
    expect(ids).not.toEqual([]);
    expect(idsOf(vector, { exclusions: ids.map((rule) => ({ rule, path: "", param })) })).toEqual([]);
  });

  test("with a parameter do not reach the path, those without do", () => {
    const [traversal] = idsOf("[target] /a/%2e%2e/b") as [string];
    const with_ = (param: string) =>
      idsOf("[target] /a/%2e%2e/b", { exclusions: [{ rule: traversal, path: "", param }] });
    expect(with_("a")).toEqual([traversal]);
    expect(with_("")).toEqual([]);
  });
});
