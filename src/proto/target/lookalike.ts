import { Byte } from "../../core/bytes.ts";

/** What a lenient decoder makes of U+2025: two dots at once. */
export const TWO_DOTS = 0x2e2e;

/**
 * The dot, slash or backslash that lenient decoders make of a code point: by Unicode compatibility (NFKC), or by the
 * best-fit tables of Windows code pages.
 * @returns the ASCII byte, TWO_DOTS, or 0 for every other code point
 */
export function lookalikeOf(codePoint: number): number {
  switch (codePoint) {
    case Byte.Dot:
    case Byte.Slash:
    case Byte.Backslash:
      return codePoint;
    case 0x2024: // one dot leader
    case 0xfe52: // small full stop
    case 0xff0e: // fullwidth full stop
      return Byte.Dot;
    case 0x2025: // two dot leader
      return TWO_DOTS;
    case 0x2044: // fraction slash
    case 0x2215: // division slash
    case 0xf025: // private use, a best-fit slash
    case 0xff0f: // fullwidth solidus
      return Byte.Slash;
    case 0x2216: // set minus
    case 0x29f5: // reverse solidus operator
    case 0xefc8: // private use, a best-fit backslash
    case 0xfe68: // small reverse solidus
    case 0xff3c: // fullwidth reverse solidus
      return Byte.Backslash;
    default:
      return 0;
  }
}
