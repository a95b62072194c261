import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { judgeRuleExpression } from "../../src/proto/expression/expression.ts";
import { readRules } from "../../src/proto/seclang/rule-set-reader.ts";
import { buildCoraza, judgeHere, judgeThere, writeCoreRules } from "./coraza.ts";
import { rulePairs } from "./coraza-pairs.ts";

// Rules of operators beside Coraza, and the OWASP Core Rule Set as a test of what reads them. docs/waf.md#rules-of-your-own
const binary = await buildCoraza();

describe.skipIf(binary === null)("Coraza", () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-core-rules-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("comes to the same verdict on each pair of rules and a request", async () => {
    const pairs = rulePairs();
    const there = await judgeThere(binary!, pairs);
    const differing = pairs.flatMap((pair, i) => {
      const here = judgeHere(pair);
      return Bun.deepEquals(here, there[i]) ? [] : [{ pair, here, there: there[i] }];
    });
    expect(differing).toEqual([]);
    expect(pairs.length).toBeGreaterThan(1400);
    // Most of them are about something that matches.
    expect(there.filter(({ action }) => action !== "").length).toBeGreaterThan(1000);
  }, 120_000);

  test("has no rule in its Core Rule Set that is not read, or named with what is not supported", async () => {
    const rules = join(folder, "rules");
    await writeCoreRules(binary!, rules);
    const names = readdirSync(join(rules, "@owasp_crs")).filter((name) => name.endsWith(".conf"));
    const paths = [
      join(rules, "@crs-setup.conf.example"),
      ...names.sort().map((name) => join(rules, "@owasp_crs", name)),
    ];
    const files = {
      matching(pattern: string, from: string): string[] {
        const path = resolve(dirname(from), pattern);
        return existsSync(path) ? [path] : [];
      },
      read: (path: string) => readFileSync(path, "latin1"),
    };
    const { set, faults } = readRules(paths, files, judgeRuleExpression);
    const features = Map.groupBy(faults, ({ message }) => message.replace(/:.*/s, ""));
    expect([...features].map(([feature, all]) => [feature, all.length]).sort()).toEqual([
      ["ctl", 2],
      ["phase 5 is not supported", 13],
      ["the action initcol is not supported", 1],
      ["the variable MULTIPART_PART_HEADERS is not supported", 5],
      ["the variable RESPONSE_BODY is not supported", 59],
    ]);
    expect(set.entries.filter((entry) => "id" in entry).length).toBeGreaterThan(500);
  }, 120_000);
});
