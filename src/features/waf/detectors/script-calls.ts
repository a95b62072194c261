import { Byte } from "../../../core/bytes.ts";
import { isQuote, isScriptNameByte, SCRIPT_NAME } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, each, VALUES, type WafRule } from "../rule.ts";

const INDIRECT_CALL: WafRule = {
  id: "XSS-009",
  category: "xss",
  score: CRITICAL_SCORE,
  description: "script that runs by an indirect call: a dialogue by call or apply, a function made of text",
  keywords: [
    ...each("alert confirm prompt eval", (name) => [`${name}.call`, `${name}.apply`, `${name}.bind`, `${name}?.(`]),
    ...["constructor(", "constructor`", "^__proto__[", "^constructor["],
  ],
  crs: [941390],
};

/** Calls that name no function that another detector looks for. */
export const CALL_GROUP: DetectorGroup = {
  rules: [INDIRECT_CALL],
  locations: VALUES,
  keywords: () => [],
  detectors: () => [{ analyse: findCalls }],
};

/** Finds `alert.call(…)`, `x.constructor("…")()`, and in a value alone `__proto__[…]=`. Programs call these too, in texts of many lines. */
function findCalls(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  if (length > MAX_VALUE || bytes.subarray(0, length).includes(Byte.Lf)) return;
  if (isPollution(bytes)) return listener.found(INDIRECT_CALL, 0);
  for (let at = 0; at < length; at++) {
    if (SCRIPT_NAME[bytes[at]!] !== 1) continue;
    let end = at;
    while (isScriptNameByte(bytes[end]!)) end++;
    const word = WORDS.valueOf(bytes, at, end);
    if (word === DIALOGUE ? isForwarded(bytes, end) : word === MAKER && isMade(bytes, end, length)) {
      return listener.found(INDIRECT_CALL, at);
    }
    at = end;
  }
}

/** `__proto__[x]=`, `constructor[prototype][x]=` where a value begins. */
function isPollution(bytes: Uint8Array): boolean {
  let end = 0;
  while (isScriptNameByte(bytes[end]!)) end++;
  const word = WORDS.valueOf(bytes, 0, end);
  if (word !== PROTOTYPE && word !== MAKER) return false;
  const from = end;
  while (bytes[end] === Byte.LeftBracket && end - from < MAX_KEY) {
    end++;
    while (bytes[end]! > Byte.Space && bytes[end] !== Byte.RightBracket && end - from < MAX_KEY) end++;
    if (bytes[end] === Byte.RightBracket) end++;
  }
  return end > from && bytes[end] === Byte.Equals;
}

/** `.call(`, `.apply(`, `.bind(`, `?.(` */
function isForwarded(bytes: Uint8Array, from: number): boolean {
  const at = bytes[from] === Byte.Question ? from + 1 : from;
  if (bytes[at] !== Byte.Dot) return false;
  let end = at + 1;
  while (isScriptNameByte(bytes[end]!)) end++;
  const isNamed = WORDS.valueOf(bytes, at + 1, end) === FORWARD;
  return (isNamed || (end === at + 1 && at > from)) && (bytes[end] === Byte.OpenParen || bytes[end] === Byte.Backtick);
}

/** `("…")(`: a function is made of a text, and called at once. */
function isMade(bytes: Uint8Array, from: number, length: number): boolean {
  const isTemplate = bytes[from] === Byte.Backtick;
  if (
    !isTemplate &&
    !(bytes[from] === Byte.OpenParen && (isQuote(bytes[from + 1]!) || bytes[from + 1] === Byte.Backtick))
  )
    return false;
  const quote = isTemplate ? Byte.Backtick : bytes[from + 1]!;
  let at = from + (isTemplate ? 1 : 2);
  while (at < length && at - from < MAX_TEXT && bytes[at] !== quote) at++;
  if (bytes[at] !== quote) {
    return false;
  }
  // The text may hold quotes of its own.
  while (at < length && at - from < MAX_TEXT && !(bytes[at] === quote && isCalled(bytes, at + 1, isTemplate))) at++;
  return bytes[at] === quote;
}

function isCalled(bytes: Uint8Array, from: number, isTemplate: boolean): boolean {
  const at = isTemplate ? from : from + 1;
  const closes = isTemplate || bytes[from] === Byte.CloseParen;
  return closes && (bytes[at] === Byte.OpenParen || bytes[at] === Byte.Backtick);
}

const DIALOGUE = 1;
const FORWARD = 2;
const MAKER = 3;
const PROTOTYPE = 4;
const WORDS: WordSet = new WordSet([
  [DIALOGUE, "alert confirm prompt eval"],
  [FORWARD, "call apply bind"],
  [MAKER, "constructor"],
  [PROTOTYPE, "__proto__"],
]);
/** What is longer is a program or an article. */
const MAX_VALUE = 1024;
const MAX_TEXT = 256;
const MAX_KEY = 128;
