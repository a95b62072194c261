// What the gateway counts, logs and refuses is said once, by its owner, and gathered in src/facts.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { EVENTS } from "../../src/facts/events.ts";
import { METRICS } from "../../src/facts/metrics.ts";
import { ROOT } from "./project-files.ts";
import { SOURCE_MODULES } from "./source-module.ts";

/** Rows by name, as the files that end so export them: `x_EVENTS` of `events.ts`. */
async function declared(file: RegExp, table: RegExp): Promise<[name: string, path: string, row: unknown][]> {
  const rows: [string, string, unknown][] = [];
  for (const { path } of SOURCE_MODULES.filter((module) => file.test(module.path))) {
    const exported = (await import(join(ROOT, path))) as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    for (const [name, value] of Object.entries(exported).filter(([one]) => table.test(one)))
      for (const [key, row] of Object.entries(value)) rows.push([key, `${path}#${name}`, row]);
  }
  return rows;
}

/** What is wrong with rows of owners, beside the table that gathers them. */
function gatheringFaults(
  rows: readonly (readonly [name: string, path: string, row: unknown])[],
  gathered: Readonly<Record<string, unknown>>,
): string[] {
  const owners = Map.groupBy(rows, ([name]) => name);
  const twice = [...owners].filter(([, own]) => own.length > 1);
  return [
    ...twice.map(([name, own]) => `${name} is declared twice: ${own.map(([, path]) => path).join(", ")}`),
    ...rows
      .filter(([name, , row]) => gathered[name] !== row)
      .map(([name, path]) => `${name} of ${path} is not gathered`),
    ...Object.keys(gathered)
      .filter((name) => !owners.has(name))
      .map((name) => `${name} has no owner`),
  ];
}

describe("one home for each", () => {
  test("event", async () => {
    const rows = await declared(/^src\/(features\/\w+\/events|facts\/gateway-events)\.ts$/, /_EVENTS$/);
    expect(gatheringFaults(rows, EVENTS)).toEqual([]);
  });

  test("metric", async () => {
    const rows = await declared(/^src\/(features\/\w+\/metrics|facts\/gateway-metrics)\.ts$/, /_METRICS$/);
    expect(gatheringFaults(rows, METRICS)).toEqual([]);
  });

  test("a row that is not gathered, or declared twice, is found by its name", () => {
    const row = {};
    expect(gatheringFaults([["a", "x", row]], { a: row })).toEqual([]);
    expect(gatheringFaults([["a", "x", row]], {})).toEqual(["a of x is not gathered"]);
    expect(gatheringFaults([["a", "x", row]], { a: row, b: row })).toEqual(["b has no owner"]);
    expect(
      gatheringFaults(
        [
          ["a", "x", row],
          ["a", "y", {}],
        ],
        { a: row },
      ),
    ).toEqual(["a is declared twice: x, y", "a of y is not gathered"]);
  });
});
