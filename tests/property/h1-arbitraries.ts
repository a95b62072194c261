import fc from "fast-check";
import { SPICES } from "../harness/spices.ts";
import { piecesAt } from "../unit/proto/byte-pieces.ts";
import { CARRIERS, type Carrier } from "../unit/proto/carriers.ts";
import { bytesOf, textOf, type Vector } from "../unit/proto/vector-file.ts";

/** One of the ways in which bytes reach a parser. */
export const carrier: fc.Arbitrary<Carrier> = fc.constantFrom(...CARRIERS);

/** A place to cut an input at: a share of its length, or so many bytes from one of its line ends. */
export type CutPoint = number | readonly [line: number, distance: number];

/** Places to cut an input at; many lie near line ends, where heads and chunks have their seams. */
export const cutPoints: fc.Arbitrary<CutPoint[]> = fc.array(
  fc.oneof(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.tuple(fc.integer({ min: 0, max: 12 }), fc.integer({ min: -3, max: 3 })),
  ),
  { maxLength: 8 },
);

/** Cuts bytes at these places. */
export function cutAt(bytes: Buffer, points: readonly CutPoint[]): Buffer[] {
  const ends = [...bytes.entries()].flatMap(([at, byte]) => (byte === 0x0a ? [at] : []));
  const cuts = points.map((point) => {
    if (typeof point === "number") return Math.round(point * bytes.length);
    const end = ends.length === 0 ? 0 : ends[point[0] % ends.length]!;
    return end + point[1];
  });
  return piecesAt(bytes, cuts);
}

/** A vector and its bytes. */
export function anyOf<T extends Vector>(vectors: readonly T[]): fc.Arbitrary<{ vector: T; bytes: Buffer }> {
  return fc.constantFrom(...vectors).map((vector) => ({ vector, bytes: bytesOf(vector.input) }));
}

const OWN_SPICES: readonly string[] = [
  ...SPICES,
  ...["\r\r\n", "%zz", "@", "[", "]", "*", "HTTP/1.0", "http://", "\r\n ", "\r\n\t", "Host: b\r\n", ": "],
  ...["Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "Expect: 100-continue\r\n"],
  ...["Connection: X-A, Content-Length\r\n", "Upgrade: x\r\n", "CONNECT ", "GET ", " HTTP/1.1\r\n", "5\r\nhello\r\n"],
];

/** Bytes that hold more sense than noise. */
export const spicedText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.constantFrom(...OWN_SPICES),
      fc.string({ maxLength: 6 }).map((text) => text.replace(/[^\0-\xff]/g, "?")),
      fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
    ),
    { maxLength: 24 },
  )
  .map((parts) => parts.join(""));

type Change = (text: string) => string;

const place = fc.double({ min: 0, max: 1, noNaN: true });
const spice = fc.constantFrom(...OWN_SPICES);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.tuple(place, spice).map(
    ([at, insert]): Change =>
      (text) =>
        spliced(text, at, 0, insert),
  ),
  fc.tuple(place, spice).map(
    ([at, insert]): Change =>
      (text) =>
        spliced(text, at, insert.length, insert),
  ),
  fc.tuple(place, fc.integer({ min: 1, max: 6 })).map(
    ([at, count]): Change =>
      (text) =>
        spliced(text, at, count, ""),
  ),
  fc.tuple(place, fc.integer({ min: 0, max: 255 })).map(
    ([at, code]): Change =>
      (text) =>
        spliced(text, at, 1, String.fromCharCode(code)),
  ),
  fc.tuple(place, place).map(
    ([from, to]): Change =>
      (text) =>
        lineMoved(text, from, to, true),
  ),
  fc.tuple(place, place).map(
    ([from, to]): Change =>
      (text) =>
        lineMoved(text, from, to, false),
  ),
  place.map(
    (at): Change =>
      (text) =>
        caseChanged(text, at),
  ),
);

/** A short vector's text with a few changes, or two of them joined. */
export function mutated(vectors: readonly Vector[], maxLength: number): fc.Arbitrary<string> {
  const texts = vectors.map((vector) => textOf(vector.input)).filter((text) => text.length <= maxLength);
  const one = fc.constantFrom(...texts);
  const joined = fc
    .tuple(one, one, place, place)
    .map(([a, b, x, y]) => a.slice(0, x * a.length) + b.slice(y * b.length));
  return fc
    .tuple(
      fc.oneof({ weight: 4, arbitrary: one }, { weight: 1, arbitrary: joined }),
      fc.array(change, { maxLength: 3 }),
    )
    .map(([text, changes]) => changes.reduce((changed, next) => next(changed), text));
}

function spliced(text: string, share: number, remove: number, insert: string): string {
  const at = Math.floor(share * text.length);
  return text.slice(0, at) + insert + text.slice(at + remove);
}

function lineMoved(text: string, from: number, to: number, keep: boolean): string {
  const lines = text.split("\r\n");
  const index = Math.floor(from * (lines.length - 1));
  const line = lines[index]!;
  if (!keep) lines.splice(index, 1);
  lines.splice(Math.floor(to * lines.length), 0, line);
  return lines.join("\r\n");
}

function caseChanged(text: string, share: number): string {
  const at = Math.floor(share * text.length);
  const part = text.slice(at, at + 8);
  // ASCII alone: other letters would leave the range of a byte.
  const lower = part.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const changed = lower === part ? part.replace(/[a-z]/g, (letter) => letter.toUpperCase()) : lower;
  return text.slice(0, at) + changed + text.slice(at + 8);
}
