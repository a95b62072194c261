import { expect, test } from "bun:test";
import fc from "fast-check";
import { SqlRuns } from "../../src/features/waf/detectors/sql-tokens.ts";
import { StepBudget } from "../../src/features/waf/match/step-budget.ts";

const PIECES = [
  "/*",
  "*/",
  "/*!",
  "*",
  "/",
  "!",
  "5",
  " ",
  "\n",
  "\u00a0",
  "\u00c3\u00a0",
  "a",
  ".",
  "select",
  "'",
  "x".repeat(40),
  " ".repeat(40),
  "c".repeat(130),
];
const text = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((parts) => parts.join(""));

/** White space and comments, as databases have them; an unclosed comment, and one of more than 128 bytes, is none. */
function gapEnd(value: string, from: number): number {
  const gap = /^(?:[\t-\r \u00a0]|\/\*!\d*|\*\/|\/\*(?!!)[\s\S]*?\*\/)/;
  for (let at = from; ; ) {
    const [part] = gap.exec(value.slice(at)) ?? [""];
    const isComment = part.startsWith("/*") && part[2] !== "!";
    if (part === "" || (isComment && part.length > 2 + 128 + 1)) return at;
    at += part.length;
  }
}

/** A no-break space is white space in Latin-1, and part of a name after another byte of UTF-8, as in `à`. */
function nameEnd(value: string, from: number): number {
  let at = from;
  while (
    /[a-z_$\d.\u0080-\u00ff]/.test(value[at] ?? "") &&
    (value[at] !== "\u00a0" || (value[at - 1] ?? "") >= "\u0080")
  )
    at++;
  return at;
}

test("names and gaps end where they end, however many bytes are read at a time", () => {
  const runs = new SqlRuns();
  fc.assert(
    fc.property(text, (value) => {
      const bytes = Buffer.concat([Buffer.from(value, "latin1"), Buffer.alloc(8)]);
      runs.begin({ bytes, length: value.length, steps: new StepBudget() });
      for (let at = 0; at <= value.length; at++) {
        expect([value, at, runs.gapEnd(at)]).toEqual([value, at, gapEnd(value, at)]);
        expect([value, at, runs.nameEnd(at)]).toEqual([value, at, nameEnd(value, at)]);
      }
    }),
    { numRuns: 2000 },
  );
});
