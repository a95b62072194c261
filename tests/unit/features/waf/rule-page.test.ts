import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WAF_RULES } from "../../../../src/features/waf/rule-table.ts";

describe("docs/waf.md", () => {
  test("has a row for each rule, with its score and its description", () => {
    const page = readFileSync(join(import.meta.dir, "../../../../docs/waf.md"), "utf8");
    const rows = page.split("\n").filter((line) => /^\| `[A-Z0-9]+-\d{3}` \|/.test(line));
    const expected = WAF_RULES.map(({ id, score, description }) => `| \`${id}\` | ${score} | ${description} |`);
    expect(rows).toEqual(expected.sort());
  });
});
