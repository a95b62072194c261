import { expect, test } from "bun:test";
import fc from "fast-check";
import { LineJoiner } from "../../../src/core/line-joiner.ts";
import { growthFault } from "../../harness/reader-cost.ts";

function linesOf(bytes: Uint8Array, cuts: readonly number[], maxBytes = 1000): string[] {
  const lines: string[] = [];
  const joiner = new LineJoiner(maxBytes);
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (let i = 1; i < places.length; i++)
    joiner.push(bytes.subarray(places[i - 1], places[i]), (line) => lines.push(line));
  return [...lines, joiner.rest()];
}

test("lines are the same however they are cut, characters of several bytes too", () => {
  const text = fc.array(fc.constantFrom("\n", "a", "é", "€", "😀", "\r")).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 10 }), (all, cuts) => {
      expect(linesOf(Buffer.from(all), cuts)).toEqual(all.split("\n"));
    }),
  );
});

test("a line that is too long is refused, whole or in pieces", () => {
  const long = Buffer.from(`ok\n${"a".repeat(11)}\n`);
  for (const cuts of [[], [5], [3, 8]]) expect(() => linesOf(long, cuts, 10)).toThrow("a line has more than 10 bytes");
  expect(linesOf(Buffer.from(`${"a".repeat(10)}\nb`), [4], 10)).toEqual(["a".repeat(10), "b"]);
});

// A hostile store sends the longest line in small pieces: the control thread once read all of it again for each.
test("a long line in small pieces takes time in proportion to its length", () => {
  const read = (text: string): void => {
    const bytes = Buffer.from(text, "latin1");
    const joiner = new LineJoiner(bytes.length);
    for (let at = 0; at < bytes.length; at += 64) joiner.push(bytes.subarray(at, at + 64), () => {});
  };
  const maxChars = 4_194_304;
  expect(growthFault({ name: "lines", maxChars, read }, (length) => "a".repeat(length))).toBe("");
});
