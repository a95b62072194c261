import { expect, test } from "bun:test";
import { pumpedTexts, skeletonOf } from "../harness/pumped-texts.ts";
import { isJudged, MADE, SHORT_INPUTS } from "../tidy/expression-rows.ts";
import { SOURCE_MODULES } from "../tidy/source-module.ts";

// Each regular expression of the gateway runs on what is worst for it, at the length of the longest head that a client may send.
// tests/tidy/expressions.test.ts proves more; this is what the runtime's own engine does with them.

const MAX_CHARS = 65_536;
/** Below it nothing is compared: a linear match of the longest text takes a tenth of it, and one of shorter texts never so long. */
const FLOOR_MS = 60;

const shortChars = new Map(
  SHORT_INPUTS.flatMap(({ texts, maxChars }) => texts.map((text) => [text, maxChars] as const)),
);

const written = SOURCE_MODULES.filter(({ path }) => isJudged(path)).flatMap(({ expressions }) =>
  expressions.filter(({ isCall }) => !isCall).map(({ text }) => text),
);
const texts = new Set([...written, ...MADE.flatMap(({ examples }) => examples.map(String))]);

/** The least of three runs: a search through the whole text, as `replace` makes one. */
function msOf(expression: RegExp, text: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const startMs = performance.now();
    text.replace(expression, "");
    least = Math.min(least, performance.now() - startMs);
    if (least < FLOOR_MS) break;
  }
  return least;
}

/** Whether twice the text costs more than three times as much, each time that it is tried: other work on the machine comes and goes. */
function isSteep(expression: RegExp, text: string, twice: string): boolean {
  return [0, 1, 2, 3].every(() => msOf(expression, twice) > 3 * msOf(expression, text));
}

/** Text lengths from short ones on, so that what is exponential shows before it stops the test. */
function* lengths(maxChars: number): Generator<number> {
  for (let length = 20; length < 40 && length < maxChars; length += 4) yield length;
  for (let length = 64; length < maxChars; length *= 4) yield length;
  yield maxChars;
}

/** What is wrong with an expression, "" for nothing. */
function faultOf(text: string): string {
  const end = text.lastIndexOf("/");
  const source = text.slice(1, end);
  const expression = new RegExp(source, text.slice(end + 1));
  const maxChars = shortChars.get(text) ?? MAX_CHARS;
  for (const length of lengths(maxChars)) {
    for (const pumped of pumpedTexts(source, length)) {
      const ms = msOf(expression, pumped);
      if (ms < FLOOR_MS) continue;
      // Beyond some length the runtime goes on with another engine, slower by a constant: what is longer yet tells.
      const twice = pumped.slice(0, -1) + pumped.slice(-length);
      const fourfold = twice.slice(0, -1) + twice.slice(-2 * length);
      if (length < MAX_CHARS || isSteep(expression, twice, fourfold))
        return `${text}: ${ms} ms for ${length} of ${JSON.stringify(pumped.slice(0, 40))}`;
    }
  }
  return "";
}

test("each expression takes time in proportion to the longest text that a client may send", () => {
  expect(texts.size).toBeGreaterThan(500);
  expect([...texts].map(faultOf).filter((fault) => fault !== "")).toEqual([]);
}, 240_000);

/** A number in quotes, with escapes before it. */
const ESCAPED = String.raw`/"(?!-?(?:0|[1-9]\d*)")(?:\s|\\[bfnrtu][\da-f]{0,4})*[+-]?\.?\d[\w.+\\-]*\s*"/i`;

test("what is not linear is found", () => {
  for (const text of ["/^(?:[A-Za-z0-9+/]+={0,2})*$/", "/0+$/", "/^[ \\t]+|[ \\t]+$/g", "/\\s*([;,=])\\s*/g", ESCAPED])
    expect(faultOf(text)).not.toBe("");
  expect(skeletonOf(String.raw`^a[bc]{2}\d+(?:x|\.y)$`)).toBe("ab0x.y");
}, 60_000);
