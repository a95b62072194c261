// Text in base64, as clients send it so that marks survive, and attacks so that filters see none. RFC 4648 §4, §5.
import { Byte, byteTable, HEX_VALUE } from "../../../core/bytes.ts";

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
    if (sextet === NO_SEXTET) break;
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

const LOWER_U = 0x75;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** Characters of the shortest text that is examined: ten bytes. */
export const MIN_PACKED_CHARS = 14;
export const NO_SEXTET = 255;
/** By character, what it stands for; NO_SEXTET for none. */
export const SEXTETS: Uint8Array = byteTable((byte) => {
  const char = String.fromCharCode(byte);
  const place = ALPHABET.indexOf(char === "-" ? "+" : char === "_" ? "/" : char);
  return place < 0 ? NO_SEXTET : place;
});
/** Printable ASCII and white space. */
const IS_TEXT: Uint8Array = byteTable((byte) => {
  if (byte === Byte.Tab || byte === Byte.Lf || byte === Byte.Cr) return 1;
  return byte >= Byte.Space && byte < Byte.Del ? 1 : 0;
});
