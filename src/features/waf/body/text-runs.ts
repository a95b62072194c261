import { Byte, byteTable, EMPTY_BYTES, isWhitespace } from "../../../core/bytes.ts";
import { BEYOND_ASCII } from "../match/scan.ts";

/** Takes a run of text out of a binary body. */
export type RunTaker = (bytes: Uint8Array, from: number, to: number) => void;

/** Whether a body is no text: it has control characters. */
export function isBinary(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (KIND[bytes[at]!] === Kind.Control) return true;
  return false;
}

/**
 * Whether a body is no text whatever its NULs mean: it has other control characters, or bytes that are no characters of UTF-8. A character that
 * is cut off at the end is one.
 */
export function isNoise(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; ) {
    const kind = KIND[bytes[at]!];
    const length = kind === Kind.BeyondAscii ? characterLength(bytes, at, to) : 1;
    if (kind === Kind.Control && bytes[at] !== Byte.Nul) return true;
    if (length === 0) return to - at >= MAX_CHARACTER_BYTES;
    at += length;
  }
  return false;
}

/**
 * Hands on the runs of text in a binary body: printable characters and line breaks of ASCII, and characters beyond it that are whole
 * in UTF-8. A run may begin with the byte that says how long it is, as strings of Protocol Buffers, MessagePack and CBOR do: then the
 * string alone comes as well.
 */
export function eachRun(bytes: Uint8Array, from: number, to: number, take: RunTaker): void {
  runsFrom(bytes, from, to, take, bitsOfRuns(bytes, from, to), BITS_AT_FIRST);
}

/** Runs of a part of a body, see `eachRun`. @param leastBits `bitsOfRuns` of the body: the part may be too short to tell */
export function eachRunOfPart(bytes: Uint8Array, from: number, to: number, take: RunTaker, leastBits: number): void {
  runsFrom(bytes, from, to, take, leastBits, leastBits);
}

function runsFrom(
  bytes: Uint8Array,
  from: number,
  to: number,
  take: RunTaker,
  leastBits: number,
  leastAtFirst: number,
): void {
  let runFrom = from;
  for (let at = from; at <= to; ) {
    while (at < to && KIND[bytes[at]!] === Kind.Text) at++;
    const length = at < to ? characterLength(bytes, at, to) : 0;
    if (length > 0) {
      at += length;
      continue;
    }
    const least = runFrom === from ? Math.min(leastAtFirst, leastBits) : leastBits;
    if (at - runFrom >= MIN_RUN_BYTES && isWritten(bytes, runFrom, at, least)) takeRun(bytes, runFrom, at, take);
    at++;
    runFrom = at;
  }
}

/**
 * How many bits a run of text in a body has at least that chance did not make: none in a body that is mostly text; in noise, chance makes hundreds
 * of runs of five characters in 64 KiB, and now and then one of fifteen.
 */
export function bitsOfRuns(bytes: Uint8Array, from: number, to: number): number {
  return isMostlyText(bytes, from, to) ? 0 : MIN_BITS_IN_NOISE + 31 - Math.clz32(to - from);
}

/** Whether each character of a run is so much more likely in a text than among all bytes that a client wrote it, rather than chance. */
function isWritten(bytes: Uint8Array, from: number, to: number, leastBits: number): boolean {
  let bits = 0;
  for (let at = from; at < to && bits < leastBits; at++) bits += BITS[bytes[at]!]!;
  return bits >= leastBits;
}

/** Of compressed or encrypted bytes, less than two in five are characters; of structures with texts in them, most are. */
export function isMostlyText(bytes: Uint8Array, from: number, to: number): boolean {
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

/** Bytes of the character at `at`; 0 if there is none of a text. RFC 3629 §4, without its finer points. */
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

/**
 * The text of a body in UTF-16 or UTF-32, one byte a character; those beyond ASCII become a byte that means nothing. RFC 4627 §3 tells
 * them by where the zeros are in the first four bytes, and some readers of JSON still do, as readers of XML must.
 * @returns no bytes if it is neither
 */
export function narrowed(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const layout = to - from < 4 ? null : layoutOf(bytes[from]!, bytes[from + 1]!, bytes[from + 2]!, bytes[from + 3]!);
  if (layout === null) return EMPTY_BYTES;
  const { width, place, skip } = layout;
  const count = Math.floor((to - from - skip) / width);
  const out = Buffer.allocUnsafe(count);
  for (let i = 0; i < count; i++) {
    const at = from + skip + i * width;
    let rest = 0;
    for (let k = 0; k < width; k++) if (k !== place) rest |= bytes[at + k]!;
    out[i] = rest === 0 ? bytes[at + place]! : BEYOND_ASCII;
  }
  return out;
}

/** Bytes a character, which of them has ASCII's characters, and the length of the mark in front. */
interface Layout {
  readonly width: number;
  readonly place: number;
  readonly skip: number;
}

function layoutOf(a: number, b: number, c: number, d: number): Layout | null {
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? layout(4, 0, 4) : layout(2, 0, 2);
  if (a === 0xfe && b === 0xff) return layout(2, 1, 2);
  if (a === 0 && b === 0)
    return c === 0xfe && d === 0xff ? layout(4, 3, 4) : c === 0 && d !== 0 ? layout(4, 3, 0) : null;
  if (b === 0 && c === 0 && d === 0) return isText(a) ? layout(4, 0, 0) : null;
  // What begins a string of JSON or an element may be followed by any character.
  if (b === 0 && (isOpening(a) || (d === 0 && isText(a) && isText(c)))) return layout(2, 0, 0);
  return a === 0 && (isOpening(b) || (c === 0 && isText(b) && isText(d))) ? layout(2, 1, 0) : null;
}

function isText(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || isWhitespace(byte);
}

function isOpening(byte: number): boolean {
  return byte === Byte.Quote || byte === Byte.Less;
}

function layout(width: number, place: number, skip: number): Layout {
  return { width, place, skip };
}

const KIND: Uint8Array = byteTable((byte) => {
  if (byte >= 0x80) return Kind.BeyondAscii;
  return (byte < Byte.Space && !isWhitespace(byte)) || byte === Byte.Del ? Kind.Control : Kind.Text;
});
/** The shortest attacks have five characters: '||1#. What is shorter in a binary body is chance. */
const MIN_RUN_BYTES = 5;
/** Beyond the logarithm of the number of places in a body: chance makes such a run in one of a hundred bodies. */
const MIN_BITS_IN_NOISE = 12;
/** A body has but one beginning. */
const BITS_AT_FIRST = 16;
/** The logarithm of how much more often than every 256th a byte is in texts and in attacks, to the base of two. */
const BITS: Uint8Array = byteTable((byte) => {
  if (byte >= 0x80) return 0;
  const sign = String.fromCharCode(byte);
  if (sign === " ") return 5;
  if ("'-=/".includes(sign)) return 3;
  return /[a-z"().;,|&%+]/.test(sign) ? 2 : 1;
});
const MAX_CHARACTER_BYTES = 4;
