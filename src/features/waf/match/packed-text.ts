// Text in base64, as clients send it so that marks survive, and attacks so that filters see none. RFC 4648 §4, §5.
import { Byte, classOf, EMPTY_BYTES, HEX_VALUE, table } from "../../../core/bytes.ts";
import type { KeywordAutomaton } from "./keyword-automaton.ts";

/**
 * The groups of all keywords in the texts that are packed in `bytes[from, to)`: in each run of base64 that begins after some other
 * character, and whose first bytes are text. Of other text, every few bytes are looked at, as such a run is long; what is no text, such
 * as a token or a hash, is given up after a few characters.
 */
export function findPackedGroups(automaton: KeywordAutomaton, bytes: Uint8Array, from: number, to: number): number {
  let found = 0;
  for (let at = from; at + MIN_PACKED_CHARS <= to; ) {
    let last = at + MIN_PACKED_CHARS - 1;
    // In packed ASCII, the two characters that are neither letter nor digit are the last of four.
    while (last >= at && (IN_RUN[bytes[last]!] === 1 || (((last - at) & 3) === 3 && SEXTETS[bytes[last]!] !== NONE))) {
      last--;
    }
    if (last >= at && !isEscapedStart(bytes, last)) {
      at = last + 1;
      continue;
    }
    const isEscaped = last >= at;
    if (isEscaped) at = last;
    if ((isEscaped || mayBeginText(bytes, at)) && unpack(head, bytes, at, to) === head.length)
      found |= unpackedGroups(automaton, bytes, at, to);
    at += MIN_PACKED_CHARS;
    while (at < to && IN_RUN[bytes[at]!] === 1) at++;
  }
  return found;
}

/** Whether the first of each four characters may be that of ASCII: of five tokens, four fail here. */
function mayBeginText(bytes: Uint8Array, at: number): boolean {
  return (OF_ASCII[bytes[at]!]! & OF_ASCII[bytes[at + 4]!]! & OF_ASCII[bytes[at + 8]!]!) === 1;
}

function unpackedGroups(automaton: KeywordAutomaton, bytes: Uint8Array, from: number, to: number): number {
  let end = from;
  while (end < to && ON_WIRE[bytes[end]!] === 1) end++;
  if (scratch.length < end - from) scratch = new Uint8Array(2 * (end - from));
  return automaton.find(scratch, 0, unpack(scratch, bytes, from, end));
}

/** Whether a string of JSON begins with an escaped letter. */
function isEscapedStart(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === Byte.Backslash && bytes[at + 1] === LOWER_U && bytes[at - 1] === Byte.Quote;
}

/**
 * Undoes base64, of the usual alphabet and of that for URLs, whose characters may be escaped as in queries and in JSON.
 * @param out takes the text; may be `bytes` itself where `from` is 0
 * @returns the length of the text, which ends with `out`, with the run, or with the first byte that no text has
 */
export function unpack(out: Uint8Array, bytes: Uint8Array, from: number, to: number): number {
  const { length } = out;
  let write = 0;
  let bits = 0;
  let width = 0;
  for (let at = from; at < to && write < length; at++) {
    let byte = bytes[at]!;
    if (byte === Byte.Percent || byte === Byte.Backslash) {
      const isWide = byte === Byte.Backslash && bytes[at + 1] === LOWER_U;
      const digits = at + (byte === Byte.Percent ? 1 : isWide ? 4 : -1);
      if (digits > at && digits + 1 < to) {
        byte = ((HEX_VALUE[bytes[digits]!]! & 15) << 4) | (HEX_VALUE[bytes[digits + 1]!]! & 15);
        at = digits + 1;
      } else if (byte === Byte.Backslash && at + 1 < to) byte = bytes[++at]!;
    }
    const sextet = SEXTETS[byte]!;
    if (sextet === NONE) break;
    bits = ((bits << 6) | sextet) & 0xffff;
    width += 6;
    if (width < 8) continue;
    width -= 8;
    const text = (bits >> width) & 0xff;
    if (IS_TEXT[text] === 0) break;
    out[write++] = text;
  }
  return write;
}

/** Characters of the shortest text that is looked at: ten bytes. */
export const MIN_PACKED_CHARS = 14;
/** Bytes that must be text before the rest is unpacked. One token in thousands has so many by chance. */
const HEAD_BYTES = 9;
const NONE = 255;
const LOWER_U = 0x75;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const SEXTETS: Uint8Array = table((byte) => {
  const char = String.fromCharCode(byte);
  const place = ALPHABET.indexOf(char === "-" ? "+" : char === "_" ? "/" : char);
  return place < 0 ? NONE : place;
});
/** The upper six bits of an ASCII character that is not NUL or the like. */
const OF_ASCII: Uint8Array = table((byte) => (SEXTETS[byte]! >= 2 && SEXTETS[byte]! < 32 ? 1 : 0));
/** What both alphabets have at all places. */
const IN_RUN: Uint8Array = classOf("a-zA-Z0-9");
/** The alphabet, and what begins an escape of it. */
const ON_WIRE: Uint8Array = table((byte) => {
  return SEXTETS[byte] !== NONE || byte === Byte.Percent || byte === Byte.Backslash ? 1 : 0;
});
/** Printable ASCII and white space. */
const IS_TEXT: Uint8Array = table((byte) => {
  if (byte === Byte.Tab || byte === Byte.Lf || byte === Byte.Cr) return 1;
  return byte >= Byte.Space && byte < Byte.Del ? 1 : 0;
});
const head: Uint8Array = new Uint8Array(HEAD_BYTES);
let scratch: Uint8Array = EMPTY_BYTES;
