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

/**
 * Whether a value that is one expression asks a template for its own settings: {{config}}, {{ request.environ }},
 * {{dump(app)}}.
 */
export function isSelfInspection(bytes: Uint8Array, length: number): boolean {
  if (bytes[length - 1] !== Byte.CloseBrace || bytes[length - 2] !== Byte.CloseBrace) return false;
  let from = 2;
  while (bytes[from] === Byte.Space) from++;
  let to = from;
  while (isWordByte(bytes[to]!)) to++;
  return INSPECTED.valueOf(bytes, from, to) !== 0;
}

/** Whether <%eval request("x")%>, a program of ASP, goes on at `from`. */
export function isServerPage(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (bytes[at] === Byte.Space) at++;
  const first = at;
  while (isWordByte(bytes[at]!)) at++;
  return PAGE_WORDS.valueOf(bytes, first, at) !== 0;
}

/** Whether "…".execute() runs the text before `dot`. */
export function isTextExecuted(bytes: Uint8Array, dot: number, open: number): boolean {
  const isText = bytes[dot] === Byte.Dot && (bytes[dot - 1] === Byte.Quote || bytes[dot - 1] === Byte.Apostrophe);
  return isText && bytes[open] === Byte.OpenParen && bytes[open + 1] === Byte.CloseParen;
}

/** Whether {${sleep(20)}} or ${@print(1)}, calls within a text of PHP, begin at the dollar sign at `at`. */
export function isPhpExpression(bytes: Uint8Array, at: number): boolean {
  const from = bytes[at + 2] === Byte.At ? at + 3 : at + 2;
  if (from === at + 2 && bytes[at - 1] !== Byte.OpenBrace) return false;
  let to = from;
  while (isWordByte(bytes[to]!)) to++;
  const isName = bytes[to + 1]! >= Byte.LowerA && bytes[to + 1]! <= Byte.LowerZ;
  // In JavaScript names stand in the brackets.
  return to > from && bytes[to] === Byte.OpenParen && (from > at + 2 || !isName);
}

function isWordByte(byte: number): boolean {
  const isLetter = byte >= Byte.LowerA && byte <= Byte.LowerZ;
  return isLetter || (byte >= Byte.Zero && byte <= Byte.Nine) || byte === Byte.Underscore;
}

const INTERPOLATIONS: WordSet = new WordSet([[1, "script dns url"]]);
const MAX_NAME = 64;
const INSPECTED: WordSet = new WordSet([[1, "config self request settings dump"]]);
const PAGE_WORDS: WordSet = new WordSet([[1, "eval execute executeglobal"]]);
