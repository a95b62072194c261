// Whether a reader takes time in proportion to what it reads: texts of its own words, some of them repeated and nested, at two
// lengths.
import { expect } from "bun:test";
import fc from "fast-check";

/** Something that reads what others write. */
export interface Reader {
  readonly name: string;
  /** What its texts are made of; a `#` in one is another number each time. */
  readonly words: readonly string[];
  /** What stands around the repetitions. */
  readonly frame?: readonly [before: string, after: string];
  /** The longest text that it gets where it may hold a worker. */
  readonly maxChars: number;
  /** @param text one character a byte */
  readonly read: (text: string) => void;
  /** What a reader that counts its work has counted since it began the text. */
  readonly work?: (text: string) => number;
}

/** A text of a few words, one part of which is repeated, and what comes before and after the repetitions. */
export interface Shape {
  readonly before: string;
  readonly unit: string;
  readonly after: string;
  /** Whether `after` is repeated as often: what opens is closed. */
  readonly isNested: boolean;
}

/** Shapes of a reader's words. */
function shapes({ words }: Reader): fc.Arbitrary<Shape> {
  const word = fc.constantFrom(...words);
  const run = fc.tuple(word, fc.constantFrom(1, 1, 1, 5, 40)).map(([text, times]) => text.repeat(times));
  const some = (maxLength: number, minLength = 0) =>
    fc.array(run, { minLength, maxLength }).map((parts) => parts.join(""));
  return fc.record({ before: some(2), unit: some(3, 1), after: some(2), isNested: fc.boolean() });
}

/** The text of a shape at a length. */
export function textOf({ frame: [open, close] = ["", ""] }: Reader, shape: Shape, length: number): string {
  const { before, unit, after, isNested } = shape;
  const times = Math.max(1, Math.floor(length / (unit.length + (isNested ? after.length : 0))));
  let number = 0;
  const numbered = unit.repeat(times).replaceAll("#", () => String(number++));
  return open + before + numbered.slice(0, length) + after.repeat(isNested ? times : 1) + close;
}

/** Holds a reader to it, by so many shapes. @param seed makes a run the same again */
export function expectLinear(reader: Reader, numRuns: number, seed: number): void {
  fc.assert(
    fc.property(shapes(reader), (shape) => expect(costFault(reader, shape)).toBe("")),
    { numRuns, seed },
  );
}

/** Below it nothing is compared. A linear reader takes a tenth of it, and one that is quadratic many times as long. */
const FLOOR_MS = 120;
/** What four times the text may take, times as long; sixteen times is quadratic. What is counted may take as much more as it counts. */
const MOST = 7;

/** What is wrong with the cost of a shape; "" for nothing. */
export function costFault(reader: Reader, shape: Shape): string {
  const fault = growthFault(reader, (length) => textOf(reader, shape, length));
  return fault === "" ? "" : `${JSON.stringify(shape)} ${fault}`;
}

/** What is wrong with the cost of texts of any length; "" for nothing. */
export function growthFault(
  reader: Pick<Reader, "name" | "maxChars" | "read" | "work">,
  textAt: (length: number) => string,
): string {
  const longText = textAt(reader.maxChars);
  let fault = "";
  // A pause of the collector passes: what is slow is measured more often.
  for (const runs of [1, 2, 4]) {
    const long = costOf(reader, longText, runs);
    if (long.ms < FLOOR_MS) return "";
    const short = costOf(reader, textAt(reader.maxChars / 4), runs);
    const counted = Math.max(1, long.work / short.work / 4);
    if (long.ms <= MOST * counted * short.ms) return "";
    fault = `${reader.name} takes ${short.ms} ms for ${short.work} and ${long.ms} ms for ${long.work}`;
  }
  return fault;
}

interface Cost {
  readonly ms: number;
  /** As the reader counts it; 1 where it does not. */
  readonly work: number;
}

/** The least of several runs, as time of the processor. */
function costOf(reader: Pick<Reader, "read" | "work">, text: string, runs: number): Cost {
  let ms = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) {
    // Time of this process: a busy machine adds none.
    const start = process.cpuUsage();
    reader.read(text);
    const { user, system } = process.cpuUsage(start);
    ms = Math.min(ms, (user + system) / 1000);
  }
  return { ms, work: reader.work?.(text) ?? 1 };
}
