import { expect, test } from "bun:test";
import fc from "fast-check";
import { BodyReplacer, TextRules } from "../../src/features/rewrite/body-replacer.ts";
import { type CutPoint, cutAt, cutPoints } from "./h1-arbitraries.ts";

interface Rule {
  readonly find: string;
  readonly with: string;
}

interface Case {
  readonly rules: readonly Rule[];
  readonly ignoreCase: boolean;
  readonly once: boolean;
}

/** What the page says: the text that begins first, of those the longest. */
function plainly(text: string, { rules, ignoreCase, once }: Case): string {
  const left = new Set(rules);
  const fold = (one: string): string => (ignoreCase ? one.toLowerCase() : one);
  let out = "";
  for (let at = 0; at < text.length; ) {
    const [found] = [...left]
      .filter(({ find }) => fold(text.slice(at, at + find.length)) === fold(find))
      .sort((a, b) => b.find.length - a.find.length);
    out += found === undefined ? text[at] : found.with;
    at += found?.find.length ?? 1;
    if (found !== undefined && once) left.delete(found);
  }
  return out;
}

function inPieces(pieces: readonly Uint8Array[], one: Case): string {
  const editor = new BodyReplacer(new TextRules({ ...one, rules: [...one.rules] }));
  const out: Uint8Array[] = [];
  const take = (hasEnded: boolean): void => {
    for (let piece = editor.next(hasEnded); piece !== null; piece = editor.next(hasEnded))
      out.push(Uint8Array.from(piece));
  };
  for (const piece of pieces) {
    const lent = Uint8Array.from(piece);
    editor.feed(lent, 0, lent.length);
    take(false);
    editor.settle();
    // What was lent is used again.
    lent.fill(0x21);
  }
  take(true);
  return Buffer.concat(out).latin1Slice();
}

const word = (unit: string) => fc.string({ unit: fc.constantFrom(...unit), minLength: 1, maxLength: 6 });
const cases = fc.record({
  rules: fc
    .uniqueArray(fc.record({ find: word("abAB"), with: fc.constantFrom("", "a", "xyz") }), {
      minLength: 1,
      maxLength: 5,
      selector: ({ find }) => find.toLowerCase(),
    })
    .map((all) => all as Rule[]),
  ignoreCase: fc.boolean(),
  once: fc.boolean(),
});
const texts = fc.string({ unit: fc.constantFrom(..."aabbABx"), maxLength: 60 });

test("any split of a body gives the same new body, and it is what one text after another gives", () => {
  const property = (text: string, one: Case, points: CutPoint[]) => {
    const bytes = Buffer.from(text);
    const wanted = plainly(text, one);
    expect(inPieces([bytes], one)).toBe(wanted);
    expect(inPieces(cutAt(bytes, points), one)).toBe(wanted);
    expect(
      inPieces(
        [...bytes].map((byte) => Uint8Array.of(byte)),
        one,
      ),
    ).toBe(wanted);
  };
  fc.assert(fc.property(texts, cases, cutPoints, property), { numRuns: 300 });
});

test("texts that nearly fit cost no more than others", () => {
  const rules = [{ find: `${"a".repeat(255)}b`, with: "x" }];
  const one = { rules, ignoreCase: false, once: false };
  const bytes = Buffer.alloc(200_000, "a");
  expect(inPieces([bytes], one)).toBe(bytes.latin1Slice());
});
