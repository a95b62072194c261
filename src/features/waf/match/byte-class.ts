import { Byte, LOWER, table } from "../../../core/ascii.ts";

/**
 * Bytes as keywords see them: letters without case, all digits alike, both quotes alike, white space alike. 64 classes,
 * so that two of them make an index of twelve bits.
 */
export const enum ByteClass {
  /** Not a byte: where a value begins. */
  Boundary = 0,
  /** Control bytes, and nearly all beyond ASCII. */
  Other,
  Space,
  NewLine,
  Digit,
  Quote,
  Nul,
  /** The first byte of what some readers take for a character of ASCII: an overlong sequence, a full-width character. */
  Fold,
  /** The 26 letters and then 30 punctuation marks. */
  LetterA,
}

export const CLASS_BITS = 6;
export const CLASS_COUNT = 64;

const LOWER_A = 0x61;
const PUNCTUATION = "!#$%&()*+,-./:;<=>?@[\\]^_`{|}~";

/** The class of each byte. */
export const CLASS_OF: Uint8Array = table((byte) => {
  const lower = LOWER[byte]!;
  if (lower >= LOWER_A && lower <= Byte.LowerZ) return ByteClass.LetterA + lower - LOWER_A;
  const char = String.fromCharCode(byte);
  if (char >= "0" && char <= "9") return ByteClass.Digit;
  if (char === "'" || char === '"') return ByteClass.Quote;
  if (char === "\n" || char === "\r") return ByteClass.NewLine;
  if (char === " " || char === "\t" || char === "\v" || char === "\f") return ByteClass.Space;
  if (byte === 0) return ByteClass.Nul;
  if (byte === 0xc0 || byte === 0xc1 || byte === 0xef) return ByteClass.Fold;
  const mark = PUNCTUATION.indexOf(char);
  return mark < 0 ? ByteClass.Other : ByteClass.LetterA + 26 + mark;
});

/**
 * A keyword as classes, every spelling of it: `^` in front is the start of a value, a space is any white space, a digit
 * any digit, a quote either quote; all else is itself.
 */
export function spellingsOf(keyword: string): number[][] {
  const classes = Array.from(keyword, (char) => CLASS_OF[char.charCodeAt(0)]!);
  if (keyword.startsWith("^") && keyword.length > 1) classes[0] = ByteClass.Boundary;
  let spellings = [classes];
  for (let at = classes.indexOf(ByteClass.Space); at >= 0; at = classes.indexOf(ByteClass.Space, at + 1)) {
    spellings = spellings.flatMap((one) => [one, one.with(at, ByteClass.NewLine)]);
  }
  return spellings;
}
