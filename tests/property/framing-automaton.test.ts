import { expect, test } from "bun:test";
import { ChunkEvent, ChunkedDecoder } from "../../src/proto/h1/chunked-decoder.ts";
import { isForbiddenTrailer } from "../../src/proto/h1/trailer-names.ts";
import { readReferenceChunks } from "../fuzz/reference-chunks.ts";
import { Incomplete, Refused } from "../fuzz/reference-fields.ts";
import { samples } from "../harness/long-lane.ts";

/** Where a reader of a chunked body is between two bytes. */
type State =
  | "size"
  | "digits"
  | "extension"
  | "sizeLf"
  | "data"
  | "dataCr"
  | "dataLf"
  | "line"
  | "name"
  | "value"
  | "lineLf"
  | "endLf"
  | "done"
  | "refused";

/** Classes of bytes that no state tells apart, each with a byte of it. */
const CLASSES = {
  zero: "0",
  one: "1",
  letter: "g",
  semicolon: ";",
  colon: ":",
  blank: " ",
  cr: "\r",
  lf: "\n",
  control: "\0",
} as const;
type ByteClass = keyof typeof CLASSES;

/** THE automaton of chunked framing: what each class of bytes leads to in each state. A class that is not there is refused. */
const TABLE: Readonly<Record<State, Partial<Record<ByteClass, State>>>> = {
  size: { zero: "digits", one: "digits" },
  digits: { zero: "digits", one: "digits", semicolon: "extension", cr: "sizeLf" },
  extension: {
    zero: "extension",
    one: "extension",
    letter: "extension",
    semicolon: "extension",
    colon: "extension",
    blank: "extension",
    cr: "sizeLf",
  },
  sizeLf: { lf: "data" },
  data: all("data"),
  dataCr: { cr: "dataLf" },
  dataLf: { lf: "size" },
  line: { zero: "name", one: "name", letter: "name", cr: "endLf" },
  name: { zero: "name", one: "name", letter: "name", colon: "value" },
  value: {
    zero: "value",
    one: "value",
    letter: "value",
    semicolon: "value",
    colon: "value",
    blank: "value",
    cr: "lineLf",
  },
  lineLf: { lf: "line" },
  endLf: { lf: "done" },
  done: {},
  refused: {},
};

function all(state: State): Partial<Record<ByteClass, State>> {
  return Object.fromEntries(Object.keys(CLASSES).map((name) => [name, state]));
}

/** What a text of framing is to one of the readers. */
type Verdict = "more" | "done" | "refused";

/** The automaton with the two numbers that it counts: the size that was said, and the data that is left. */
interface Walk {
  readonly state: State;
  readonly size: number;
  readonly left: number;
}

function step({ state, size, left }: Walk, byte: ByteClass): Walk {
  const next = TABLE[state][byte] ?? "refused";
  if (next === "digits") return { state: next, size: size * 16 + (byte === "one" ? 1 : 0), left };
  if (state === "sizeLf" && next === "data")
    return size === 0 ? { state: "line", size, left } : { state: "data", size: 0, left: size };
  if (state === "data") return { state: left === 1 ? "dataCr" : "data", size, left: left - 1 };
  return { state: next, size: next === "size" ? 0 : size, left };
}

const verdictOf = ({ state }: Walk): Verdict => (state === "done" || state === "refused" ? state : "more");

/** What edge's reader makes of a text, in pieces of some length. */
function decoded(text: string, piece: number): Verdict {
  const bytes = Buffer.from(text, "latin1");
  const decoder = new ChunkedDecoder(isForbiddenTrailer);
  decoder.begin(0);
  for (let from = 0; from < bytes.length; from += piece) {
    const to = Math.min(from + piece, bytes.length);
    for (let at = from; at < to; at = decoder.consumed) {
      const event = decoder.next(bytes, at, to);
      if (event === ChunkEvent.Failed) return "refused";
      if (event === ChunkEvent.Done) return decoder.consumed === bytes.length ? "done" : "refused";
      if (event === ChunkEvent.NeedMore) break;
    }
  }
  return "more";
}

/** What the slow reader makes of it, which looks at whole lines. */
function referenced(text: string): Verdict | "open" {
  const doubt = { isOpen: false, isAnswer: false };
  try {
    const { end } = readReferenceChunks(text, 0, Number.MAX_SAFE_INTEGER, doubt);
    return doubt.isOpen ? "open" : end === text.length ? "done" : "refused";
  } catch (error) {
    if (error instanceof Incomplete) return "more";
    if (error instanceof Refused) return "refused";
    throw error;
  }
}

const IN_TRAILERS: ReadonlySet<State> = new Set(["line", "name", "value", "lineLf", "endLf"]);

/** Walks all texts of some classes up to a length behind a beginning, and no further behind one that is refused or over. */
function walkAll(classes: readonly ByteClass[], length: number, start: readonly ByteClass[] = []): number {
  let count = 0;
  const walk = (text: string, at: Walk): void => {
    for (const name of classes) {
      const next = step(at, name);
      const longer = text + CLASSES[name];
      const wanted = verdictOf(next);
      count++;
      // Lines of trailers are judged at their end, and by the slow reader all lines: then they are refused as well.
      const ended = `${longer}\r\n\r\n`;
      for (const piece of [1, ended.length]) {
        const found = decoded(longer, piece);
        const isLate = wanted === "refused" && found === "more" && IN_TRAILERS.has(at.state);
        if (found !== wanted && !(isLate && decoded(ended, piece) === "refused"))
          expect([longer, piece, found]).toEqual([longer, piece, wanted]);
      }
      const slow = referenced(longer);
      const isLate = wanted === "refused" && slow === "more" && referenced(ended) !== "done";
      if (slow !== "open" && slow !== wanted && !isLate) expect([longer, slow]).toEqual([longer, wanted]);
      if (wanted === "more" && longer.length < start.length + length) walk(longer, next);
    }
  };
  walk(start.map((name) => CLASSES[name]).join(""), start.reduce(step, { state: "size", size: 0, left: 0 }));
  return count;
}

/** A chunk of one byte, and the last one. */
const CHUNK: readonly ByteClass[] = ["one", "cr", "lf", "letter", "cr", "lf"];
const LAST: readonly ByteClass[] = ["zero", "cr", "lf"];

test("every class of bytes in every state: the automaton, edge's reader and a slow one agree", () => {
  const names = Object.keys(CLASSES) as ByteClass[];
  expect(walkAll(names, samples(7, 5))).toBeGreaterThan(1000);
});

test("the same behind a chunk, and within the trailers", () => {
  const names = Object.keys(CLASSES) as ByteClass[];
  for (const start of [CHUNK, LAST, [...CHUNK, ...LAST]])
    expect(walkAll(names, samples(6, 5), start)).toBeGreaterThan(1000);
});

test("what frames alone, further on", () => {
  expect(walkAll(["zero", "one", "colon", "cr", "lf"], samples(10, 8), CHUNK)).toBeGreaterThan(1000);
});
