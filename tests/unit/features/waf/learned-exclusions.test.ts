import { describe, expect, test } from "bun:test";
import { importCrsExclusions } from "../../../../src/features/waf/crs-exclusions.ts";
import { type LearnedLine, learnExclusions } from "../../../../src/features/waf/learned-exclusions.ts";

const LIMITS = { minClients: 3, scannerFamilies: 3 };

function hit(client: number, rule: string, path: string, location: string): LearnedLine {
  const client_ip = `192.0.2.${client}`;
  return { event: "waf_detect", request_id: `${client}-${rule}-${path}`, client_ip, path, rule_id: rule, location };
}

const common = [1, 2, 3, 4].map((client) => hit(client, "SQLI-007", `/shop/${client}/search`, "query q"));
const rare = [1, 1, 1, 2].map((client) => hit(client, "XSS-001", "/once", "query q"));

describe("exclusions that are learnt", () => {
  test("are of what several clients do, by field and by the path before an id", () => {
    const { exclusions, hits, clients, rare: few } = learnExclusions([...common, ...rare], LIMITS, false);
    expect(exclusions).toEqual([{ rule: "SQLI-007", path: "/shop", param: "q", requests: 4, clients: 4 }]);
    expect([hits, clients, few]).toEqual([8, 4, 1]);
  });

  test("are not of clients that match rules of many families, or of scanners", () => {
    const scanner = ["SQLI-001", "XSS-001", "RCE-001", "SQLI-007"].flatMap((rule) =>
      [11, 12, 13, 14].map((client) => hit(client, rule, "/a", "query x")),
    );
    const prober = [21, 22, 23].flatMap((client) => [
      hit(client, "FILES-001", "/.env", "url"),
      hit(client, "LFI-001", "/b", "query f"),
    ]);
    const learned = learnExclusions([...scanner, ...prober], LIMITS, false);
    expect(learned.exclusions).toEqual([]);
    expect(learned.scanners).toBe(7);
  });

  test("name a field without a path where it is on many, and come smallest first", () => {
    const paths = ["/a", "/b", "/c", "/d", "/e"];
    const many = paths.flatMap((path) => [1, 2, 3].map((client) => hit(client, "SQLI-002", path, "body note")));
    const path = [1, 2, 3].map((client) => hit(client, "TRAVERSAL-001", "/files/x", "url"));
    const { exclusions } = learnExclusions([...path, ...many, ...common], LIMITS, false);
    expect(exclusions.map(({ rule, path: at, param }) => [rule, at, param])).toEqual([
      ["SQLI-007", "/shop", "q"],
      ["SQLI-002", "", "note"],
      ["TRAVERSAL-001", "/files/x", ""],
    ]);
  });

  test("with the access log, count only what the application took", () => {
    const access = (line: LearnedLine, status: number): LearnedLine => ({ request_id: line.request_id, status });
    const lines = [...common, ...common.slice(0, 3).map((line) => access(line, 200)), access(common[3]!, 404)];
    const learned = learnExclusions(lines, LIMITS, true);
    expect(learned.exclusions.map(({ clients }) => clients)).toEqual([3]);
    expect(learned.refused).toBe(1);
  });

  test("hold nothing that a client wrote but plain names", () => {
    const odd = [1, 2, 3].map((client) => hit(client, "SQLI-001", '/a"\n- x/b', "query a: b} #"));
    expect(learnExclusions(odd, LIMITS, false).exclusions).toEqual([
      { rule: "SQLI-001", path: "/", param: "", requests: 3, clients: 3 },
    ]);
    expect(learnExclusions([{ ...common[0], rule_id: "x: y" }], { ...LIMITS, minClients: 1 }, false).hits).toBe(0);
  });
});

describe("lists for the Core Rule Set", () => {
  test("come to rules with that counterpart; what has none is named", () => {
    const text = [
      "# a comment",
      'SecRuleRemoveById 942480 "949110" 942360 941100-941110',
      'SecRuleUpdateTargetById 942130 "!ARGS:q,!REQUEST_COOKIES:session"',
      "SecRuleRemoveByTag attack-sqli",
    ].join("\n");
    const imported = importCrsExclusions(text);
    expect(imported.disabled).toContainEqual(["942480", ["SQLI-007"]]);
    // One counterpart among many of other rules.
    expect(imported.disabled).toContainEqual(["941100", ["XSS-010"]]);
    expect(imported.disabled.map(([number]) => number)).toContain("941110");
    expect(imported.exclusions).toEqual([
      { rule: "942130", param: "q" },
      { rule: "942130", param: "session" },
    ]);
    expect(imported.unknown).toEqual(["949110", "942360"]);
    expect(imported.ignored).toEqual(["4: SecRuleRemoveByTag attack-sqli"]);
  });
});
