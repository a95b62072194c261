import { Byte } from "../../../core/ascii.ts";
import { WordSet } from "../match/word-set.ts";

/** Whether ${#a=… or %{(#a=…, an assignment within an expression of Java, goes on at `from`. */
export function isAssignment(bytes: Uint8Array, from: number): boolean {
  let at = bytes[from] === Byte.OpenParen ? from + 1 : from;
  if (bytes[at++] !== Byte.Hash) return false;
  const first = at;
  while (isWordByte(bytes[at]!)) at++;
  return at > first && bytes[at] === Byte.Equals && bytes[at + 1] !== Byte.Equals;
}

/** Whether ${script:…}, ${dns:…} or ${url:…}, which a library of strings carries out, goes on at `from`. */
export function isInterpolation(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (isWordByte(bytes[at]!)) at++;
  // A shell's ${dns:-8.8.8.8} has a default.
  return bytes[at] === Byte.Colon && isWordByte(bytes[at + 1]!) && INTERPOLATIONS.valueOf(bytes, from, at) !== 0;
}

/** Whether a path of names from `from` on ends in an at sign, as in @java.lang.Runtime@getRuntime(). */
export function isStaticReference(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at < from + MAX_NAME && (isWordByte(bytes[at]!) || bytes[at] === Byte.Dot)) at++;
  return bytes[at] === Byte.At && isWordByte(bytes[at + 1]!);
}

function isWordByte(byte: number): boolean {
  const isLetter = byte >= Byte.LowerA && byte <= Byte.LowerZ;
  return isLetter || (byte >= Byte.Zero && byte <= Byte.Nine) || byte === Byte.Underscore;
}

const INTERPOLATIONS: WordSet = new WordSet([[1, "script dns url"]]);
const MAX_NAME = 64;
