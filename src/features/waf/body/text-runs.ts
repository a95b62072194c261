import { Byte, table } from "../../../core/ascii.ts";

/** Takes a run of text out of a binary body. */
export type RunTaker = (bytes: Uint8Array, from: number, to: number) => void;

/** Whether a body is no text: it has control characters. */
export function isBinary(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (KIND[bytes[at]!] === Kind.Control) return true;
  return false;
}

/**
 * Hands on the runs of text in a binary body: printable characters and line breaks of ASCII, and characters beyond it that are whole
 * in UTF-8. A run may begin with the byte that says how long it is, as strings of Protocol Buffers, MessagePack and CBOR do: then the
 * string alone comes as well.
 */
export function eachRun(bytes: Uint8Array, from: number, to: number, take: RunTaker): void {
  const least = isMostlyText(bytes, from, to) ? MIN_RUN_BYTES : MIN_RUN_IN_NOISE;
  let runFrom = from;
  for (let at = from; at <= to; ) {
    while (at < to && KIND[bytes[at]!] === Kind.Text) at++;
    const length = at < to ? characterLength(bytes, at, to) : 0;
    if (length > 0) {
      at += length;
      continue;
    }
    if (at - runFrom >= least) takeRun(bytes, runFrom, at, take);
    at++;
    runFrom = at;
  }
}

/** Of compressed or encrypted bytes, less than two in five are characters; of structures with texts in them, most are. */
function isMostlyText(bytes: Uint8Array, from: number, to: number): boolean {
  let count = 0;
  for (let at = from; at < to; at++) if (KIND[bytes[at]!] === Kind.Text) count++;
  return count * 2 > to - from;
}

function takeRun(bytes: Uint8Array, from: number, to: number, take: RunTaker): void {
  take(bytes, from, to);
  // A tag and a length, or the length alone.
  for (let at = from; at < Math.min(to, from + 2); at++) {
    const end = at + 1 + bytes[at]!;
    if (end === to && end - at > MIN_RUN_BYTES) take(bytes, at + 1, end);
  }
}

/** Bytes of the character at `at`; 0 where there is none of a text. RFC 3629 §4, without its finer points. */
function characterLength(bytes: Uint8Array, at: number, to: number): number {
  const byte = bytes[at]!;
  const length = byte < 0xc2 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 0;
  for (let i = 1; i < length; i++) if (at + i >= to || bytes[at + i]! >> 6 !== 2) return 0;
  return length;
}

const enum Kind {
  /** Printable characters and line breaks of ASCII. */
  Text = 0,
  Control,
  BeyondAscii,
}

const VERTICAL_TAB = 0x0b;
const FORM_FEED = 0x0c;
const DELETE = 0x7f;
const KIND: Uint8Array = table((byte) => {
  const isBreak =
    byte === Byte.Tab || byte === Byte.Lf || byte === Byte.Cr || byte === VERTICAL_TAB || byte === FORM_FEED;
  if (byte >= 0x80) return Kind.BeyondAscii;
  return (byte < Byte.Space && !isBreak) || byte === DELETE ? Kind.Control : Kind.Text;
});
/** The shortest attacks have five characters: '||1#. What is shorter in a binary body is chance. */
const MIN_RUN_BYTES = 5;
/** Chance makes longer ones where all bytes are as likely. */
const MIN_RUN_IN_NOISE = 12;
