import { HEX_VALUE } from "../../core/ascii.ts";

/** Rounds of percent-decoding before a text counts as an attack: no honest client encodes more than two or three times. */
export const MAX_DECODING_ROUNDS = 8;

/** A text after percent-decoding until nothing is left to decode. */
export interface FullyDecoded {
  readonly text: string;
  /** Whether escapes are left after MAX_DECODING_ROUNDS; whoever judges the text takes that for an attack. */
  readonly tooDeep: boolean;
}

/**
 * Decodes every valid escape once (RFC 3986 §2.1). Broken escapes stay as they are; nothing is read as UTF-8.
 * @param text one character a byte
 * @returns one character a byte; the same string where there is nothing to decode
 */
export function decodeOnce(text: string): string {
  return decode(text, false);
}

/** Decodes every valid escape once but for the slash, so that the segments of a path stay what they are. */
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

/** The byte that the escape at `at` stands for, or -1 where there is no valid escape. */
export function escapedByte(text: string, at: number): number {
  if (at + 2 >= text.length || text.charCodeAt(at) !== PERCENT) return -1;
  const high = hexValue(text.charCodeAt(at + 1));
  const low = hexValue(text.charCodeAt(at + 2));
  return high === NO_DIGIT || low === NO_DIGIT ? -1 : high * 16 + low;
}

function decode(text: string, keepSlashes: boolean): string {
  let at = text.indexOf("%");
  if (at < 0) return text;
  let out = "";
  let copied = 0;
  while (at >= 0) {
    const byte = escapedByte(text, at);
    if (byte < 0 || (keepSlashes && byte === SLASH)) {
      at = text.indexOf("%", at + 1);
      continue;
    }
    out += text.slice(copied, at) + String.fromCharCode(byte);
    copied = at + 3;
    at = text.indexOf("%", copied);
  }
  return copied === 0 ? text : out + text.slice(copied);
}

function hexValue(code: number): number {
  return code < 256 ? HEX_VALUE[code]! : NO_DIGIT;
}

const PERCENT = 0x25;
const SLASH = 0x2f;
const NO_DIGIT = 255;
