import { Byte } from "../../../core/ascii.ts";

/** Whether top["al"+"ert"](1) goes on at `open`: a member that is named by a text, and called. */
export function isComputedCall(bytes: Uint8Array, open: number): boolean {
  const first = bytes[open + 1]!;
  if (bytes[open] !== Byte.LeftBracket || (!isQuote(first) && first !== Byte.Slash && first !== Byte.Backtick))
    return false;
  for (let at = open + 2; at < open + MAX_NAME && bytes[at] !== Byte.Nul; at++) {
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

function isQuote(byte: number): boolean {
  return byte === Byte.Quote || byte === Byte.Apostrophe;
}

const MAX_NAME = 64;
