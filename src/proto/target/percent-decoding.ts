import { HEX_VALUE } from "../../core/bytes.ts";

/** Rounds of percent-decoding before a text counts as an attack: no honest client encodes more than two or three times. */
export const MAX_DECODING_ROUNDS = 8;

/** A text after percent-decoding until nothing is left to decode. */
export interface FullyDecoded {
  readonly text: string;
  /** Whether escapes are left after MAX_DECODING_ROUNDS; callers take that for an attack. */
  readonly tooDeep: boolean;
}

/**
 * Decodes every valid escape once (RFC 3986 §2.1). Broken escapes stay as they are; nothing is read as UTF-8.
 * @param text one character a byte
 * @returns one character a byte; the same string if there is nothing to decode
 */
export function decodeOnce(text: string): string {
  return decode(text, false);
}

/** Decodes every valid escape once but for the slash, so that a path keeps its segments. */
export function decodeAllButSlashes(text: string): string {
  return decode(text, true);
}

/** Decodes again and again until nothing changes, at most MAX_DECODING_ROUNDS times. */
export function decodeFully(text: string): FullyDecoded {
  let current = text;
  for (let round = 0; round < MAX_DECODING_ROUNDS; round++) {
    const next = decodeOnce(current);
    if (next === current) return { text: current, tooDeep: false };
    current = next;
  }
  return { text: current, tooDeep: decodeOnce(current) !== current };
}

/** The byte that the escape at `at` stands for, or -1 if there is no valid escape. */
export function escapedByte(text: string, at: number): number {
  if (at + 2 >= text.length || text.charCodeAt(at) !== PERCENT) return -1;
  return percentByte(text.charCodeAt(at + 1), text.charCodeAt(at + 2));
}

function decode(text: string, keepSlashes: boolean): string {
  const first = text.indexOf("%");
  if (first < 0) return text;
  if (text.length > scratch.length) scratch = Buffer.allocUnsafe(text.length * 2);
  const bytes = scratch;
  const length = bytes.latin1Write(text, 0, text.length);
  let write = first;
  for (let read = first; read < length; ) {
    const byte = bytes[read] === PERCENT && read + 2 < length ? percentByte(bytes[read + 1]!, bytes[read + 2]!) : -1;
    if (byte < 0 || (keepSlashes && byte === SLASH)) {
      bytes[write++] = bytes[read++]!;
    } else {
      bytes[write++] = byte;
      read += 3;
    }
  }
  return write === length ? text : bytes.latin1Slice(0, write);
}

/** The byte that `%` and these two characters stand for, or -1 if they are not hexadecimal digits. RFC 3986 §2.1. */
export function percentByte(high: number, low: number): number {
  const highValue = HEX_VALUE[high] ?? NO_DIGIT;
  const lowValue = HEX_VALUE[low] ?? NO_DIGIT;
  return highValue === NO_DIGIT || lowValue === NO_DIGIT ? -1 : highValue * 16 + lowValue;
}

/** Takes a text while it is decoded, since hostile ones have thousands of escapes. */
let scratch: Buffer = Buffer.allocUnsafe(1024);
const PERCENT = 0x25;
const SLASH = 0x2f;
const NO_DIGIT = 255;
