import { describe, expect, test } from "bun:test";
import { buildRouter } from "../../../../src/features/route/build-router.ts";
import { type RouteFacts, TRAVERSAL_RULES } from "../../../../src/features/waf/detectors/path-traversal.ts";
import { WafInspector } from "../../../../src/features/waf/waf-inspector.ts";
import benign from "../../../vectors/waf/benign.json";
import spellings from "../../../vectors/waf/spellings.json";
import { headOfTarget } from "../../proto/target/head-of-target.ts";
import { routeInit } from "../route/route-inits.ts";
import { vectorsOf } from "./vector-request.ts";

const NO_ROUTES: RouteFacts = { exactId: () => -1, prefixId: () => -1 };
const ROUTER = buildRouter(
  [
    ...benign.static.map((path) => ({ kind: "static", label: path, path })),
    ...benign.upstream.map((path) => ({ kind: "upstream", label: path, path })),
    ...benign.exact.map((path) => ({ kind: "built-in", label: path, path, exact: true, methods: ["GET"] })),
  ].map(routeInit),
);

function triggered(target: string, routes: RouteFacts, disabled: readonly string[] = []): string[] {
  const inspector = new WafInspector(disabled, routes);
  const score = inspector.inspect(headOfTarget(target));
  const rules = inspector.findings.rules();
  expect(score).toBe(rules.reduce((sum, rule) => sum + rule.score, 0));
  return rules.map((rule) => rule.id).filter((id) => id.startsWith("TRAVERSAL"));
}

describe("the rules on the path", () => {
  for (const rule of TRAVERSAL_RULES) {
    test(`${rule.id} agrees with its own vectors`, () => {
      for (const target of vectorsOf(rule.id).matches)
        expect([target, triggered(target, NO_ROUTES)]).toEqual([target, expect.arrayContaining([rule.id])]);
      for (const target of vectorsOf(rule.id).passes)
        expect([target, triggered(target, NO_ROUTES)]).toEqual([target, expect.not.arrayContaining([rule.id])]);
    });

    test(`${rule.id} can be switched off`, () => {
      for (const target of vectorsOf(rule.id).matches)
        expect(triggered(target, NO_ROUTES, [rule.id])).not.toContain(rule.id);
    });
  }
});

describe("every spelling of a dot-dot segment", () => {
  for (const dots of spellings.dots) {
    test(dots.text, () => {
      for (const separator of spellings.separators) {
        for (const prefix of spellings.prefixes) {
          for (const repeat of spellings.repeats) {
            for (const tail of spellings.tails) {
              const target = prefix + (dots.text + separator.text).repeat(repeat) + tail;
              expectRules(target, [dots.rule, separator.rule]);
            }
          }
        }
      }
    });
  }

  function expectRules(target: string, rules: readonly string[]): void {
    const found = triggered(target, NO_ROUTES);
    for (const rule of rules) {
      if (rule !== "" && !found.includes(rule)) throw new Error(`${target}: expected ${rule}, found ${found.join()}`);
    }
  }
});

describe("with routes", () => {
  test.each(benign.targets)("%s scores 0", (target) => {
    expect(triggered(target, ROUTER)).toEqual([]);
  });

  test.each(benign.attacks)("%s scores", (target) => {
    expect(triggered(target, ROUTER)).not.toEqual([]);
  });

  test("a segment that no file system can hold is padding", () => {
    const name = "a".repeat(255);
    expect(triggered(`/static/${name}/../x`, ROUTER)).toEqual([]);
    expect(triggered(`/static/${name}a/../x`, ROUTER)).toEqual(["TRAVERSAL-001"]);
    expect(triggered(`/static/x/../${name}a`, ROUTER)).toEqual(["TRAVERSAL-001"]);
    expect(triggered(`/static/${name}a`, ROUTER)).toEqual([]);
  });

  test("the method does not matter to a relative path", () => {
    const inspector = new WafInspector([], ROUTER);
    expect(inspector.inspect(headOfTarget("/public/../health", "POST"))).toBe(0);
  });

  test.each([
    ["../", true],
    ["%2e%2e%2f", true],
    ["%252525252e./", true],
    ["....//", true],
    ["%c0%ae%c0%ae/", true],
    ["%", false],
    ["/a/..", false],
  ])("60,000 bytes of %p are judged to their end", (part, isAttack) => {
    const path = `/static/${part.repeat(Math.floor(60_000 / part.length))}`;
    expect(triggered(path, ROUTER).length > 0).toBe(isAttack);
  });
});
