import { Byte, isDigit, isLowerLetter, latin1 } from "../../../core/bytes.ts";
import { hasTextAt, isQuote, isWordByte, wordEnd } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, each, type WafRule, words } from "../rule.ts";
import { CODE_NAMES, CODE_WORDS, CodeWord, GADGETS, TYPE_NAMES } from "./code-words.ts";

const SHELLSHOCK: WafRule = {
  id: "RCE-009",
  crs: [932170, 932171],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "Shellshock (CVE-2014-6271)",
  keywords: ["^()"],
};
export const SERIALIZED_OBJECT: WafRule = {
  id: "RCE-010",
  crs: [933170, 944200, 944210],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "serialized object of Java, .NET, PHP, Python, Ruby or Node.js",
  keywords: [
    ...words("!!python/ !ruby/ o:0: o:00: o:000: o:+0"),
    ...each(CODE_NAMES[CodeWord.Magic], (name) => `^${name}`),
  ],
};

/** The rules that `findPackedObjects` reports. */
export const PACKED_RULES: readonly WafRule[] = [SHELLSHOCK, SERIALIZED_OBJECT];

/** Whether ${#a=… or %{(#a=…, an assignment within an expression of Java, goes on at `from`. */
export function isAssignment(bytes: Uint8Array, from: number): boolean {
  let at = bytes[from] === Byte.OpenParen ? from + 1 : from;
  if (bytes[at++] !== Byte.Hash) return false;
  const first = at;
  at = wordEnd(bytes, at);
  return at > first && bytes[at] === Byte.Equals && bytes[at + 1] !== Byte.Equals;
}

/** Whether ${script:…}, ${dns:…} or ${url:…}, which a library of strings carries out, goes on at `from`. */
export function isInterpolation(bytes: Uint8Array, from: number): boolean {
  const at = wordEnd(bytes, from);
  // A shell's ${dns:-8.8.8.8} has a default.
  return bytes[at] === Byte.Colon && isWordByte(bytes[at + 1]!) && INTERPOLATIONS.valueOf(bytes, from, at) !== 0;
}

/** Whether a path of names from `from` on ends in an at sign, as in @java.lang.Runtime@getRuntime(). */
export function isStaticReference(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at < from + MAX_GADGET && (isWordByte(bytes[at]!) || bytes[at] === Byte.Dot)) at++;
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
  return INSPECTED.valueOf(bytes, from, wordEnd(bytes, from)) !== 0;
}

/** Whether <%eval request("x")%>, a program of ASP, goes on at `from`. */
export function isServerPage(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (bytes[at] === Byte.Space) at++;
  return PAGE_WORDS.valueOf(bytes, at, wordEnd(bytes, at)) !== 0;
}

/** Whether echo file_get_contents('x') or File.open('x'), a call that is given a text or a variable, goes on at `from`. */
export function isServerCall(bytes: Uint8Array, from: number): boolean {
  let at = from;
  for (let count = 0; count < MAX_CALL_WORDS; count++) {
    while (bytes[at] === Byte.Space && at < from + MAX_GADGET) at++;
    const first = at;
    while (at < from + MAX_GADGET && (isWordByte(bytes[at]!) || bytes[at] === Byte.Dot)) at++;
    if (at === first) return false;
    if (bytes[at] === Byte.OpenParen) return isQuote(bytes[at + 1]!) || bytes[at + 1] === Byte.Dollar;
  }
  return false;
}

/** Whether "…".execute() runs the text before `dot`. */
export function isTextExecuted(bytes: Uint8Array, dot: number, open: number): boolean {
  const isText = bytes[dot] === Byte.Dot && isQuote(bytes[dot - 1]!);
  return isText && bytes[open] === Byte.OpenParen && bytes[open + 1] === Byte.CloseParen;
}

/** Whether {${sleep(20)}} or ${@print(1)}, calls within a text of PHP, begin at the dollar sign at `at`. */
export function isPhpExpression(bytes: Uint8Array, at: number): boolean {
  const from = bytes[at + 2] === Byte.At ? at + 3 : at + 2;
  if (from === at + 2 && bytes[at - 1] !== Byte.OpenBrace) return false;
  const to = wordEnd(bytes, from);
  const isName = isLowerLetter(bytes[to + 1]!);
  // In JavaScript names stand in the brackets.
  return to > from && bytes[to] === Byte.OpenParen && (from > at + 2 || !isName);
}

/** Finds what a value begins with when it is () { of a shell, or an object of Java, .NET or Node, and objects of PHP. */
export function findPackedObjects(value: ValueReading, listener: DetectionListener): void {
  const { bytes } = value;
  if (isShellFunction(bytes)) listener.found(SHELLSHOCK, 0);
  let to = 0;
  while (to < MAX_MAGIC && (isWordByte(bytes[to]!) || bytes[to] === Byte.Slash || bytes[to] === Byte.Dollar)) to++;
  for (let length = MIN_MAGIC; length <= to; length++) {
    if (CODE_WORDS.valueOf(bytes, 0, length) === CodeWord.Magic) listener.found(SERIALIZED_OBJECT, 0);
  }
  findPhpObjects(value, listener);
}

/** "@type": "com.sun.…": whether a class that unpacks into an attack is named at `from`, where a class is due. */
export function namesGadget(value: ValueReading, from: number): boolean {
  const { bytes } = value;
  if (!isTyped(value, from)) return false;
  for (let to = from; to < from + MAX_GADGET && (isWordByte(bytes[to]!) || bytes[to] === Byte.Dot); to++) {
    const isEnd = !isWordByte(bytes[to + 1]!);
    if (isEnd && GADGETS.valueOf(bytes, from, to + 1) !== 0) return true;
  }
  return false;
}

/** Whether what is around it says that a class is named there: !!javax.…, "@type":"com.…, a member called @type. */
function isTyped(value: ValueReading, from: number): boolean {
  const { bytes } = value;
  // A list that begins with a class is how some write an object of it.
  if (from === 0 && value.nameLength === 0) return value.location === InputLocation.Body;
  if (from === 0)
    return (
      value.location === InputLocation.Body &&
      TYPE_NAMES.valueOf(value.name, value.lastNameFrom, value.nameLength) !== 0
    );
  if (bytes[from - 1] === Byte.Bang) return true;
  let at = from - 1;
  while (
    at > 0 &&
    at > from - MAX_BLANKS &&
    (isQuote(bytes[at]!) || bytes[at] === Byte.Colon || bytes[at] === Byte.Space)
  )
    at--;
  return at >= 4 && TYPE_NAMES.valueOf(bytes, at - 4, at + 1) !== 0;
}

function isShellFunction(bytes: Uint8Array): boolean {
  if (bytes[0] !== Byte.OpenParen || bytes[1] !== Byte.CloseParen) return false;
  let at = 2;
  while (at < MAX_BLANKS && bytes[at] === Byte.Space) at++;
  return bytes[at] === Byte.OpenBrace;
}

/** O:8:"Name":1:{ */
function findPhpObjects({ bytes, length }: ValueReading, listener: DetectionListener): void {
  for (let at = 0; at < length; at++) {
    if (bytes[at] !== LOWER_O || bytes[at + 1] !== Byte.Colon || (at > 0 && isWordByte(bytes[at - 1]!))) continue;
    let end = at + 2;
    if (bytes[end] === Byte.Plus) end++;
    const first = end;
    while (isDigit(bytes[end]!)) end++;
    if (end > first && bytes[end] === Byte.Colon && bytes[end + 1] === Byte.Quote) {
      listener.found(SERIALIZED_OBJECT, at);
    }
    at = end - 1;
  }
}

/** Whether the word in `[from, to)`, __proto__ or prototype, is a name that reaches the prototype of all objects. */
export function isPollution(value: ValueReading, from: number, to: number): boolean {
  const { bytes } = value;
  const isProto = bytes[from] === Byte.Underscore;
  if (value.isName && from === 0 && !isProto) return isConstructor(value);
  if (value.isName) return isProto || bytes[from - 1] === Byte.LeftBracket || bytes[from - 1] === Byte.Dot;
  let next = to + 1;
  while (bytes[next] === Byte.Space) next++;
  return isProto && isQuote(bytes[from - 1]!) && isQuote(bytes[to]!) && bytes[next] === Byte.Colon;
}

/** Whether a member is in one that is called constructor. */
function isConstructor({ name, nameLength }: ValueReading): boolean {
  const from = nameLength - CONSTRUCTOR.length;
  return hasTextAt(name, from, CONSTRUCTOR);
}

const INTERPOLATIONS: WordSet = new WordSet([[1, "script dns url"]]);
const INSPECTED: WordSet = new WordSet([[1, "config self request settings dump"]]);
const PAGE_WORDS: WordSet = new WordSet([[1, "eval execute executeglobal"]]);
/** A statement, and the function whose result it takes. */
const MAX_CALL_WORDS = 2;
const MAX_BLANKS = 10;
const MIN_MAGIC = 5;
const MAX_MAGIC = 16;
const MAX_GADGET = 64;
const LOWER_O = 0x6f;
const CONSTRUCTOR: Uint8Array = latin1("constructor");
