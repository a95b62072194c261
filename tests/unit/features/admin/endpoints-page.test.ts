import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ENDPOINTS } from "../../../../src/features/admin/built-in-endpoints.ts";

// The table in docs/endpoints.md is derived: `scripts/reference` writes it from the rows.
const PAGE = join(import.meta.dir, "../../../../docs/endpoints.md");
const HEAD = "| method | path | who | response |\n|---|---|---|---|\n";
/** What answers by its prefix. */
const CHALLENGES = "| GET | `/.well-known/acme-challenge/<token>` | every client | [challenges](acme.md#http-01) |\n";

test("docs/endpoints.md has each endpoint, with those who may ask it; scripts/reference writes them", () => {
  const page = readFileSync(PAGE, "utf8");
  const from = page.indexOf(HEAD) + HEAD.length;
  const to = page.indexOf("\n\n", from) + 1;
  const firstInternal = ENDPOINTS.find(({ internal }) => internal)!;
  const rows = ENDPOINTS.map((row) => {
    const { path, methods, internal, doc } = row;
    const method = methods.join(", ");
    const inside = row === firstInternal ? "[internal](#access)" : "internal";
    const who = internal ? (methods.some((one) => one !== "GET") ? "operators" : inside) : "every client";
    return `| ${method} | \`${path}\` | ${who} | ${doc.shown} |\n`;
  });
  const expected = page.slice(0, from) + rows.join("") + CHALLENGES + page.slice(to);
  if (process.env.EDGE_WRITE_REFERENCE === "1") writeFileSync(PAGE, expected);
  expect(readFileSync(PAGE, "utf8")).toBe(expected);
});
