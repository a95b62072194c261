import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ANNOTATION_ROWS, annotationRow } from "../../../../../src/features/kubernetes/ingress/annotation-rows.ts";

// The rows of the page are derived: `scripts/reference` writes them from the table.
const PAGE = join(import.meta.dir, "../../../../../docs/kubernetes-annotations.md");
const HEAD = "| annotation | says | in edge |\n|---|---|---|\n";

const FATES = { carried: "", standard: "no setting is needed: ", lost: "lost: " };

test("docs/kubernetes-annotations.md has a row for each annotation; scripts/reference writes them", () => {
  const page = readFileSync(PAGE, "utf8");
  const from = page.indexOf(HEAD) + HEAD.length;
  const end = page.indexOf("\n\n", from);
  const rows = Object.keys(ANNOTATION_ROWS).map((name) => {
    const { meaning, here, fate, isGuard } = annotationRow(name)!;
    const closed = isGuard ? (fate === "lost" ? "**closed**: " : "**guard**: ") : FATES[fate];
    return `| \`${name}\` | ${meaning} | ${closed}${here} |\n`;
  });
  const expected = page.slice(0, from) + rows.join("") + (end < 0 ? "" : page.slice(end + 1));
  if (process.env.EDGE_WRITE_REFERENCE === "1") writeFileSync(PAGE, expected);
  expect(readFileSync(PAGE, "utf8")).toBe(expected);
});
