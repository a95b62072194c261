import { Byte } from "../../../core/ascii.ts";
import { indexOfByte, sliceText } from "../../../core/bytes.ts";
import { isPlainCharset } from "./declared-types.ts";

/**
 * Whether the bytes of an XML document are not those of its characters: UTF-16 and UTF-32, EBCDIC, or a declared
 * encoding in which ASCII means something else. XML 1.0, appendix F. A declaration of UTF-16 in plain ASCII is a
 * well-known slip of generators, and hides nothing.
 * @param isDeclared whether the body is called XML; of another one, only the declaration tells
 */
export function hidesItsText(bytes: Uint8Array, from: number, to: number, isDeclared: boolean): boolean {
  if (to - from < 4) return false;
  if (isEbcdic(bytes, from, to)) return true;
  if (isDeclared) {
    if (bytes[from]! >= 0xfe) return true;
    for (let at = from; at < from + 4; at++) if (bytes[at] === Byte.Nul) return true;
  }
  const open = indexOfByte(bytes, Byte.Question, from, Math.min(to, from + MAX_BEFORE));
  if (bytes[open - 1] !== Byte.Less) return false;
  const declaration = sliceText(bytes, open, indexOfByte(bytes, Byte.Question, open + 1, to)).toLowerCase();
  const encoding = /^\?xml\s.*?encoding\s*=\s*["']([^"']+)/s.exec(declaration)?.[1] ?? "";
  return encoding !== "" && !WIDE.test(encoding) && !isPlainCharset(encoding);
}

/** Whether an XML document begins in EBCDIC: its first characters, "<?xm", are in all its kinds the same. */
export function isEbcdic(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from >= EBCDIC.length && EBCDIC.every((byte, i) => bytes[from + i] === byte);
}

const EBCDIC: readonly number[] = [0x4c, 0x6f, 0xa7, 0x94];
/** White space and marks that may stand in front of a declaration. */
const MAX_BEFORE = 64;
const WIDE = /^(?:utf-?16|ucs-?2|iso-10646-ucs-2)/;
