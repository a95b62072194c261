import { expect, test } from "bun:test";
import { join } from "node:path";
import { isJudged, MADE, SHORT_INPUTS } from "./expression-rows.ts";
import { type Verdict, verdictsOn } from "./expression-verdicts.ts";
import { place, SOURCE_MODULES } from "./source-module.ts";

// A regular expression of the gateway takes time in proportion to its text, whatever the text: one that goes back over bytes of
// others lets a request of a few bytes hold a thread. Write a scan in its place, or make its parts exclude each other; trimming is
// in src/core/trimming.ts, and expressions of users are run by src/proto/expression/expression.ts.

const modules = SOURCE_MODULES.filter(({ path }) => isJudged(path));
const written = modules.flatMap((module) =>
  module.expressions
    .filter(({ isCall }) => !isCall)
    .map(({ text, line }) => ({ text, at: place(module, line), path: module.path })),
);
const made = MADE.flatMap(({ path, examples }) =>
  examples.map((example) => ({ text: String(example), at: path, path })),
);

const exempt = new Set(SHORT_INPUTS.flatMap(({ path, texts }) => texts.map((text) => `${path} ${text}`)));
const all = [...written, ...made].filter(({ path, text }) => !exempt.has(`${path} ${text}`));

/** Those that have been judged before and take the judge long. EXPRESSIONS=all judges them anew, and writes the list. */
const LIST = join(import.meta.dir, "linear-expressions.txt");
const judged = new Set((await Bun.file(LIST).text()).split("\n"));
const isWhole = process.env.EXPRESSIONS === "all";
const LONG_MS = 100;

async function keep(verdicts: ReadonlyMap<string, Verdict>): Promise<void> {
  const long = [...verdicts].filter(([, { cost, tookMs }]) => cost === "linear" && tookMs > LONG_MS);
  await Bun.write(
    LIST,
    `${long
      .map(([text]) => text)
      .sort()
      .join("\n")}\n`,
  );
}

test("every regular expression takes linear time, or has a row that says why it need not", async () => {
  const texts = [...new Set(all.map(({ text }) => text))].filter((text) => isWhole || !judged.has(text));
  const verdicts = await verdictsOn(texts.map((text) => ({ text, timeoutMs: 30_000 })));
  if (isWhole) await keep(verdicts);
  const faults = all.flatMap(({ at, text }) => {
    const { cost, attack } = verdicts.get(text) ?? { cost: "linear", attack: "" };
    return cost === "linear" ? [] : [`${at}: ${text} is ${cost}, shown by ${attack}`];
  });
  expect(faults).toEqual([]);
}, 600_000);

test("the judge finds what is not linear", async () => {
  const texts = ["/^(?:[A-Za-z0-9+/]+={0,2})*$/", "/0+$/", "/^[ \\t]+|[ \\t]+$/g", "/^0+$/"];
  const verdicts = await verdictsOn(texts.map((text) => ({ text, timeoutMs: 30_000 })));
  expect(texts.map((text) => verdicts.get(text)!.cost)).toEqual(["exponential", "polynomial", "polynomial", "linear"]);
}, 60_000);

test("what is put together as the gateway runs has examples, which are judged as well", () => {
  const calls = new Map<string, number>();
  for (const { path, expressions } of modules) {
    const count = expressions.filter(({ isCall }) => isCall).length;
    if (count > 0) calls.set(path, count);
  }
  expect(Object.fromEntries(calls)).toEqual(Object.fromEntries(MADE.map((row) => [row.path, row.calls])));
});

test("each row is about an expression that is there", () => {
  const there = new Set([...written, ...made].map(({ path, text }) => `${path} ${text}`));
  const rows = SHORT_INPUTS.flatMap(({ path, texts }) => texts.map((text) => `${path} ${text}`));
  expect(rows.filter((row) => !there.has(row))).toEqual([]);
});
