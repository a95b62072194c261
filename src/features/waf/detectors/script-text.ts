import { Byte, HEX_VALUE, latin1 } from "../../../core/bytes.ts";
import { endsReference, hasTextAt, isQuote, isWordByte } from "../match/scan.ts";

/**
 * Whether the text after a script's tag, in `bytes[from, to)`, looks like a program. Those who write about the tag go on
 * with words and blanks, with a bracket after a blank, or with the backtick that ends their code.
 */
export function isProgramText(bytes: Uint8Array, from: number, to: number): boolean {
  let words = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    const before = at > from ? bytes[at - 1]! : Byte.Space;
    const next = bytes[at + 1]!;
    if (byte > Byte.Space && before <= Byte.Space) words++;
    switch (byte) {
      case Byte.Equals:
      case Byte.OpenBrace:
      case Byte.LeftBracket:
        return true;
      case Byte.OpenParen:
        if (before > Byte.Space || words <= MAX_CALLED_WORDS) return true;
        break;
      case Byte.Backtick:
        if (isWordByte(before)) return true;
        break;
      case Byte.Semicolon:
        if (next > Byte.Space && !endsReference(bytes, at)) return true;
        break;
      case Byte.Less:
        // The end of the script, right after its content.
        if (next === Byte.Slash && before > Byte.Space) return true;
        break;
      case Byte.Slash:
        if ((next === Byte.Slash && before !== Byte.Colon) || next === Byte.Star) return true;
    }
  }
  return false;
}

/** Whether the value of an attribute at `from` is an expression of a component: {() => …}, {this.close}. */
export function isComponentCode(bytes: Uint8Array, from: number): boolean {
  if (bytes[from] !== Byte.OpenBrace) return false;
  let isName = true;
  for (let at = from + 1; at < from + MAX_EXPRESSION && bytes[at] !== Byte.Nul; at++) {
    const byte = bytes[at]!;
    if (byte === Byte.CloseBrace) return isName && at > from + 1;
    if (byte === Byte.Equals && bytes[at + 1] === Byte.Greater) return true;
    if (!isWordByte(byte) && byte !== Byte.Dot) isName = false;
    if (!isName && byte !== Byte.OpenParen && byte !== Byte.CloseParen && byte !== Byte.Comma && byte > Byte.Space) {
      if (!isWordByte(byte)) return false;
    }
  }
  return false;
}

/** Whether a quoted address of another server is at `from`: "http://x", '//x'. */
export function isAddress(bytes: Uint8Array, from: number): boolean {
  const at = bytes[from] === Byte.Space ? from + 1 : from;
  if (!isQuote(bytes[at]!)) return false;
  if (bytes[at + 1] === Byte.Slash) return bytes[at + 2] === Byte.Slash;
  return hasTextAt(bytes, at + 1, HTTP);
}

/** Whether a+b+c) goes on at `from`, to the end of the value: a program that is put together of pieces. */
export function isSumOfNames(bytes: Uint8Array, from: number, length: number): boolean {
  let names = 0;
  let at = from;
  for (;;) {
    const start = at;
    while (at < length && isWordByte(bytes[at]!)) at++;
    if (at === start) return false;
    names++;
    if (bytes[at] !== Byte.Plus) break;
    at++;
  }
  const end = bytes[at + 1] === Byte.Semicolon ? at + 2 : at + 1;
  return names > 1 && bytes[at] === Byte.CloseParen && end === length;
}

/** Whether top["al"+"ert"](1) goes on at `open`: a member that is named by a text, and called. */
export function isComputedCall(bytes: Uint8Array, open: number): boolean {
  const first = bytes[open + 1]!;
  if (bytes[open] !== Byte.LeftBracket || (!isQuote(first) && first !== Byte.Slash && first !== Byte.Backtick))
    return false;
  for (let at = open + 2; at < open + MAX_NAME_BYTES && bytes[at] !== Byte.Nul; at++) {
    const next = bytes[at + 1];
    if (bytes[at] === Byte.RightBracket) return next === Byte.OpenParen || next === Byte.Backtick;
  }
  return false;
}

/** Whether x['constructor']('…') holds the name in `[from, to)`: a member that is called with a text. */
export function isQuotedCall(bytes: Uint8Array, from: number, to: number): boolean {
  const isNamed = isQuote(bytes[from - 1]!) && bytes[from - 2] === Byte.LeftBracket && isQuote(bytes[to]!);
  const isCalled = bytes[to + 1] === Byte.RightBracket && bytes[to + 2] === Byte.OpenParen;
  return isNamed && isCalled && (isQuote(bytes[to + 3]!) || bytes[to + 3] === Byte.Backtick);
}

/** Whether (alert)(1) holds the name in `[from, to)`. */
export function isWrappedCall(bytes: Uint8Array, from: number, to: number): boolean {
  return bytes[from - 1] === Byte.OpenParen && bytes[to] === Byte.CloseParen && bytes[to + 1] === Byte.OpenParen;
}

/** Whether a value that begins with Function("…") ends in the call of what that gives. */
export function isCalledTwice(bytes: Uint8Array, open: number, length: number): boolean {
  const isText = bytes[open] === Byte.Backtick || (bytes[open] === Byte.OpenParen && isQuote(bytes[open + 1]!));
  const isCall = bytes[length - 1] === Byte.CloseParen && bytes[length - 2] === Byte.OpenParen;
  const isTag = bytes[length - 1] === Byte.Backtick && bytes[open] === Byte.Backtick;
  return isText && (isTag || (isCall && bytes[length - 3] === Byte.CloseParen));
}

/**
 * Whether an attribute's value in `bytes[from, to)` is a URL that runs a script or holds a document: javascript:,
 * vbscript:, data:text/html and the like. As in a browser, blanks and control bytes in it do not matter, and
 * character references are undone. The harmless javascript:void(0) and javascript:; do not count.
 */
export function isScriptUrl(bytes: Uint8Array, from: number, to: number): boolean {
  let length = 0;
  for (let at = from; at < to && length < folded.length; ) {
    const byte = bytes[at]!;
    const value = byte === Byte.Ampersand ? reference(bytes, at, to) : byte;
    at = byte === Byte.Ampersand ? referenceEnd : at + 1;
    if (value > Byte.Space) folded[length++] = value | (value >= 0x41 && value <= 0x5a ? 0x20 : 0);
  }
  if (startsWith(DATA, 0, length))
    return DOCUMENTS.some((type) => startsWith(type, DATA.length, length)) || isDrawing(length);
  const scheme = SCHEMES.find((one) => startsWith(one, 0, length));
  if (scheme === undefined) return hasRefresh(length);
  return !HARMLESS.some((one) => length === scheme.length + one.length && startsWith(one, scheme.length, length));
}

/** data:image/svg+xml,… with a script in it. */
function isDrawing(length: number): boolean {
  if (!startsWith(SVG, DATA.length, length)) return false;
  for (let at = DATA.length + SVG.length; at < length; at++) if (startsWith(SCRIPT, at, length)) return true;
  return false;
}

/** 0;url=javascript:… as in the content of a meta element. */
function hasRefresh(length: number): boolean {
  for (let at = 0; at + URL_IS.length < length; at++) {
    if (startsWith(URL_IS, at, length)) {
      return SCHEMES.some((scheme) => startsWith(scheme, at + URL_IS.length, length));
    }
  }
  return false;
}

function startsWith(text: Uint8Array, at: number, length: number): boolean {
  if (at + text.length > length) return false;
  for (let i = 0; i < text.length; i++) {
    if (folded[at + i] !== text[i]) return false;
  }
  return true;
}

/** The character that a reference at `at` stands for, or the ampersand; `referenceEnd` is after it. */
function reference(bytes: Uint8Array, at: number, to: number): number {
  referenceEnd = at + 1;
  const limit = Math.min(to, at + MAX_REFERENCE_BYTES);
  let value = 0;
  let end = at + 1;
  if (bytes[end] === Byte.Hash) {
    const isHex = bytes[++end] === Byte.LowerX;
    if (isHex) end++;
    const base = isHex ? 16 : 10;
    for (; end < limit && HEX_VALUE[bytes[end]!]! < base; end++)
      value = Math.min(value * base + HEX_VALUE[bytes[end]!]!, 256);
  } else {
    for (const [name, byte] of REFERENCES) {
      if (name.every((one, i) => bytes[end + i] === one)) {
        value = byte;
        end += name.length;
        break;
      }
    }
  }
  if (value === 0) return Byte.Ampersand;
  referenceEnd = bytes[end] === Byte.Semicolon ? end + 1 : end;
  return value;
}

/** alert (1): a blank before the bracket of a call, and its argument's. */
const MAX_CALLED_WORDS = 2;
const MAX_EXPRESSION = 64;
const MAX_NAME_BYTES = 64;
const MAX_REFERENCE_BYTES = 16;
const SCHEMES: readonly Uint8Array[] = ["javascript:", "vbscript:", "livescript:", "mocha:", "jscript:"].map(latin1);
const DATA: Uint8Array = latin1("data:");
const DOCUMENTS: readonly Uint8Array[] = ["text/html", "application/xhtml", "text/xml", "text/javascript"].map(latin1);
const HARMLESS: readonly Uint8Array[] = ["", ";", "void(0)", "void(0);", "void0"].map(latin1);
const SVG: Uint8Array = latin1("image/svg+xml");
const SCRIPT: Uint8Array = latin1("<script");
const URL_IS: Uint8Array = latin1("url=");
const REFERENCES: readonly (readonly [Uint8Array, number])[] = [
  [latin1("colon"), 0x3a],
  [latin1("tab"), 0x09],
  [latin1("newline"), 0x0a],
  [latin1("lpar"), 0x28],
  [latin1("amp"), 0x26],
];
/** The value as a browser reads it, as far as a scheme can reach. */
const folded: Uint8Array = new Uint8Array(256);
let referenceEnd = 0;
const HTTP: Uint8Array = latin1("http");
