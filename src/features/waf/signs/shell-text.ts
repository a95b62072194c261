import { Byte } from "../../../core/ascii.ts";
import { WordSet } from "../match/word-set.ts";

/** Whether a semicolon at `end` ends a character reference: &quot; &#39; */
export function endsEntity(bytes: Uint8Array, end: number): boolean {
  let at = end - 1;
  while (at > end - MAX_ENTITY && (isNameByte(bytes[at]!) || bytes[at] === Byte.Hash)) at--;
  return at < end - 1 && bytes[at] === Byte.Ampersand;
}

/** Whether one of PowerShell's commands stands at `from`: Invoke-WebRequest. */
export function isCmdlet(bytes: Uint8Array, from: number): boolean {
  let to = from;
  while (isNameByte(bytes[to]!)) to++;
  const isNoun = bytes[to] === Byte.Dash && bytes[to + 1]! >= Byte.LowerA && bytes[to + 1]! <= Byte.LowerZ;
  return isNoun && VERBS.valueOf(bytes, from, to) !== 0;
}

/** Whether the options of ps that need no dash stand at `from`. */
export function isProcessOption(bytes: Uint8Array, from: number): boolean {
  let to = from;
  while (isNameByte(bytes[to]!)) to++;
  return PROCESS_OPTIONS.valueOf(bytes, from, to) !== 0;
}

/** Whether $IFS, ${x}, $(x), $@ or $x/ stands right behind a command. A column of R, df$x, is followed by none of that. */
export function isExpansion(bytes: Uint8Array, from: number): boolean {
  if (bytes[from] !== Byte.Dollar) return false;
  let to = from + 1;
  while (isNameByte(bytes[to]!)) to++;
  return to === from + 1 || bytes[to] === Byte.Slash || bytes[to] === Byte.Dollar || isNamed(bytes, from + 1, to);
}

function isNamed(bytes: Uint8Array, from: number, to: number): boolean {
  const isDigit = bytes[from]! >= Byte.Zero && bytes[from]! <= Byte.Nine;
  return isDigit || EXPANSIONS.valueOf(bytes, from, Math.min(to, from + 3)) !== 0;
}

/** Whether nothing but the end of a command comes behind the number at `from`: sleep 5; and not "top 10 songs". */
export function isLastNumber(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (isNameByte(bytes[at]!)) at++;
  while (bytes[at] === Byte.Space) at++;
  const isLetter = bytes[at]! >= Byte.LowerA && bytes[at]! <= Byte.LowerZ;
  return !isLetter && bytes[at] !== Byte.CloseParen && bytes[at] !== Byte.Comma;
}

function isNameByte(byte: number): boolean {
  const isLetter = byte >= Byte.LowerA && byte <= Byte.LowerZ;
  return isLetter || (byte >= Byte.Zero && byte <= Byte.Nine) || byte === Byte.Underscore || byte === Byte.Dot;
}

const VERBS: WordSet = new WordSet([
  [1, "invoke get set new start stop add remove import export out write test clear"],
]);
const PROCESS_OPTIONS: WordSet = new WordSet([[1, "aux auxw auxww axu ef"]]);
const EXPANSIONS: WordSet = new WordSet([[1, "ifs"]]);
const MAX_ENTITY = 10;
