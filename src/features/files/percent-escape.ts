import { Byte, byteTable, latin1 } from "../../core/bytes.ts";
import { escapedByte } from "../../proto/target/percent-decoding.ts";

const UPPER_HEX = "0123456789ABCDEF";

/** 1 for a byte that may stand as it is in a path (RFC 3986 §3.3: pchar and the slash), else 0. */
const IN_PATH: Uint8Array = alnumAnd("-._~!$&'()*+,;=:@/");
/** 1 for a byte that a received query may keep: every visible ASCII character. */
const IN_QUERY: Uint8Array = byteTable((b) => (b > Byte.Space && b < Byte.Del ? 1 : 0));

/** Whether two hexadecimal digits follow every `%` of `text`. RFC 3986 §2.1. */
export function isWellEscaped(text: string): boolean {
  for (let at = text.indexOf("%"); at >= 0; at = text.indexOf("%", at + 3)) {
    if (escapedByte(text, at) < 0) return false;
  }
  return true;
}

/** Encodes a decoded path, one character a byte, so that it can stand in a URI reference. */
export function encodedPath(path: string): string {
  return encoded(path, IN_PATH);
}

/** Encodes what may not stand in a header value or a URI and leaves all else, also `%`, as it came. */
export function encodedQuery(query: string): string {
  return encoded(query, IN_QUERY);
}

function encoded(text: string, allowed: Uint8Array): string {
  let out = "";
  for (let i = 0; i < text.length; i++) {
    const byte = text.charCodeAt(i) & 0xff;
    out += allowed[byte] === 1 ? text[i] : `%${UPPER_HEX[byte >> 4]}${UPPER_HEX[byte & 15]}`;
  }
  return out;
}

function alnumAnd(others: string): Uint8Array {
  const extra = latin1(others);
  return byteTable((b) => {
    const lower = b | 0x20;
    const isAlnum = (b >= Byte.Zero && b <= Byte.Nine) || (b < 0x80 && lower >= Byte.LowerA && lower <= 0x7a);
    return isAlnum || extra.includes(b) ? 1 : 0;
  });
}
