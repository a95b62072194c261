// Classes of bytes that readers of several protocols share, and the scans over them. A class is a predicate with one name and one
// meaning; readers with a narrower idea of a class give theirs a name of its own.
import { Byte, table } from "./bytes.ts";

/** Whether a byte is a decimal digit. */
export function isDigit(byte: number): boolean {
  return byte >= Byte.Zero && byte <= Byte.Nine;
}

/** Whether a byte is a letter from a to z: any letter, in a text that has been lower-cased. */
export function isLowerLetter(byte: number): boolean {
  return byte >= Byte.LowerA && byte <= Byte.LowerZ;
}

/** Whether a byte is optional white space of HTTP: SP or HTAB. RFC 9110 §5.6.3. */
export function isOws(byte: number): boolean {
  return byte === Byte.Space || byte === Byte.Tab;
}

/** Whether a byte is white space of ASCII: HTAB, LF, VT, FF, CR, SP. */
export function isWhitespace(byte: number): boolean {
  return byte === Byte.Space || (byte >= Byte.Tab && byte <= Byte.Cr);
}

/** Offset of the first byte in `bytes[from, to)` that is no SP or HTAB; `to` where there is none. */
export function skipOws(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && isOws(bytes[at]!)) at++;
  return at;
}

/**
 * Builds the table of a class: 1 for each byte of `text`, and for those that `also` names.
 * @param text characters below 0x100; `a-z`, `A-Z` and `0-9` in it are ranges
 */
export function classOf(text: string, also: (byte: number) => boolean = () => false): Uint8Array {
  const chars = text.replace(/a-z|A-Z|0-9/g, (range) => RANGES[range]!);
  return table((byte) => (chars.includes(String.fromCharCode(byte)) || also(byte) ? 1 : 0));
}

const RANGES: Readonly<Record<string, string>> = {
  "a-z": "abcdefghijklmnopqrstuvwxyz",
  "A-Z": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
  "0-9": "0123456789",
};
