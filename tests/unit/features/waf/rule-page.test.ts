import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WAF_RULES } from "../../../../src/features/waf/rule-table.ts";

// The rules in docs/waf.md are derived: `scripts/reference` writes them from the table.
const PAGE = join(import.meta.dir, "../../../../docs/waf.md");
const HEAD = "| rule | score | finds |\n|---|---|---|\n";

describe("docs/waf.md", () => {
  test("has a row for each rule, with its score and its description; scripts/reference writes them", () => {
    const page = readFileSync(PAGE, "utf8");
    const from = page.indexOf(HEAD) + HEAD.length;
    const to = page.indexOf("\n\n", from) + 1;
    const rows = WAF_RULES.map(({ id, score, description }) => `| \`${id}\` | ${score} | ${description} |\n`);
    const expected = page.slice(0, from) + rows.sort().join("") + page.slice(to);
    if (process.env.EDGE_WRITE_REFERENCE === "1") writeFileSync(PAGE, expected);
    expect(readFileSync(PAGE, "utf8")).toBe(expected);
  });
});
