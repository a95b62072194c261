import { Byte } from "../../../core/ascii.ts";
import { sliceText } from "../../../core/bytes.ts";

/**
 * Whether the bytes of an XML document are not those of its characters: UTF-16 and UTF-32, EBCDIC, or a declared
 * encoding in which ASCII means something else. XML 1.0, appendix F. A declaration of UTF-16 in plain ASCII is a
 * well-known slip of generators, and hides nothing.
 * @param isDeclared whether the body is called XML; of another one, only the declaration tells
 */
export function hidesItsText(bytes: Uint8Array, from: number, to: number, isDeclared: boolean): boolean {
  if (to - from < 4) return false;
  const first = bytes[from]!;
  if (isDeclared) {
    if (first >= 0xfe || (first === 0x4c && bytes[from + 1] === 0x6f)) return true;
    for (let at = from; at < from + 4; at++) if (bytes[at] === Byte.Nul) return true;
  }
  const declaration = sliceText(bytes, from, Math.min(to, from + MAX_DECLARATION)).toLowerCase();
  const encoding = /^\W{0,4}<\?xml[^>]{0,80}encoding\s{0,4}=\s{0,4}["']([a-z0-9._-]+)/.exec(declaration)?.[1] ?? "";
  return HIDING.some((one) => encoding.startsWith(one));
}

const MAX_DECLARATION = 160;
const HIDING: readonly string[] = ["utf-7", "utf7", "ibm", "cp037", "cp500", "cp1026", "ebcdic", "iso-2022", "hz-gb"];
