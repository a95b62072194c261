import type { ParserHabits } from "./parser-habits.ts";

/** A request as a lenient parser took it. */
export interface LenientRequest {
  readonly method: string;
  readonly target: string;
  readonly head: string;
  /** Lower-case names, in the order of the wire. */
  readonly fields: readonly (readonly [string, string])[];
  readonly body: Buffer;
  /** Where the next one begins. */
  readonly end: number;
}

/** A request, or that more bytes are needed, or that these are none. */
type Reading = LenientRequest | "more" | "refused";

/** Reads one request from the start of `bytes`, with the habits of a parser. Every line may end with a bare LF. */
export function readRequest(bytes: Buffer, habits: ParserHabits): Reading {
  const start = skipEmptyLines(bytes);
  const lines = linesOf(bytes, start, habits);
  if (lines === null) return "more";
  const [first = "", ...rest] = lines.texts;
  const parts = /^(\S+) (\S+) HTTP\/1\.[01]$/.exec(first);
  if (parts === null) return "refused";
  const fields = fieldsOf(rest, habits);
  const framing = framingOf(fields, habits);
  if (framing === "refused") return "refused";
  const body = framing === "chunks" ? readChunks(bytes, lines.end) : readLength(bytes, lines.end, framing);
  if (typeof body === "string") return body;
  const head = bytes.toString("latin1", start, lines.end);
  return { method: parts[1]!, target: parts[2]!, head, fields, body: body.content, end: body.end };
}

/** The value of a field; "" when it is absent. */
export function fieldValue(fields: LenientRequest["fields"], name: string): string {
  return fields.find(([each]) => each === name)?.[1] ?? "";
}

interface Lines {
  readonly texts: readonly string[];
  readonly end: number;
}

function skipEmptyLines(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === CR || bytes[at] === LF) at++;
  return at;
}

/** The lines of the head without its empty line; null while it is not whole. */
function linesOf(bytes: Buffer, start: number, habits: ParserHabits): Lines | null {
  const texts: string[] = [];
  for (let at = start; ; ) {
    const lf = bytes.indexOf(LF, at);
    if (lf < 0) return null;
    const text = bytes.toString("latin1", at, lf).replace(/\r$/, "");
    if (text === "") return { texts, end: lf + 1 };
    // What is no field begins the body.
    if (habits.spaceBeforeColon === "ends-head" && texts.length > 0 && /^[^\s:]+[ \t]+:/.test(text)) {
      return { texts, end: at };
    }
    texts.push(text);
    at = lf + 1;
  }
}

function fieldsOf(lines: readonly string[], habits: ParserHabits): (readonly [string, string])[] {
  const fields: (readonly [string, string])[] = [];
  for (const line of lines) {
    const last = fields.at(-1);
    if (/^[ \t]/.test(line) && habits.foldedLines === "join" && last !== undefined) {
      fields[fields.length - 1] = [last[0], `${last[1]} ${line.trim()}`];
      continue;
    }
    const colon = line.indexOf(":", 1);
    if (colon > 0) fields.push([line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]);
  }
  return fields;
}

/** The length of the body, or that it comes in chunks. */
function framingOf(fields: LenientRequest["fields"], habits: ParserHabits): number | "chunks" | "refused" {
  const lengths = fields.filter(([name]) => name === "content-length").map(([, value]) => Number.parseInt(value, 10));
  const isChunked = fields.some(([name, value]) => name === "transfer-encoding" && /chunked/i.test(value));
  if (isChunked && (lengths.length === 0 || habits.bothLengths === "chunks")) return "chunks";
  if (lengths.some((length) => !(length >= 0))) return "refused";
  if (habits.severalLengths === "refuse" && new Set(lengths).size > 1) return "refused";
  return (habits.severalLengths === "last" ? lengths.at(-1) : lengths[0]) ?? 0;
}

interface LenientBody {
  readonly content: Buffer;
  readonly end: number;
}

function readLength(bytes: Buffer, at: number, length: number): LenientBody | "more" {
  const end = at + length;
  return end <= bytes.length ? { content: bytes.subarray(at, end), end } : "more";
}

function readChunks(bytes: Buffer, start: number): LenientBody | "more" | "refused" {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lf = bytes.indexOf(LF, at);
    if (lf < 0) return "more";
    const line = bytes.toString("latin1", at, lf);
    const size = Number.parseInt(line, 16);
    if (!(size >= 0)) return "refused";
    at = lf + 1;
    if (size === 0) {
      const end = endOfTrailers(bytes, at);
      return end < 0 ? "more" : { content: Buffer.concat(parts), end };
    }
    if (at + size + 2 > bytes.length) return "more";
    parts.push(bytes.subarray(at, at + size));
    at += size;
    at += bytes[at] === CR ? 2 : 1;
  }
}

function endOfTrailers(bytes: Buffer, start: number): number {
  for (let at = start; ; ) {
    const lf = bytes.indexOf(LF, at);
    if (lf < 0) return -1;
    if (bytes.toString("latin1", at, lf).replace(/\r$/, "") === "") return lf + 1;
    at = lf + 1;
  }
}

const CR = 0x0d;
const LF = 0x0a;
