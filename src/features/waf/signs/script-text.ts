import { Byte } from "../../../core/ascii.ts";
import { endsEntity } from "./shell-text.ts";

/**
 * Whether the text behind a script's tag, in `bytes[from, to)`, looks like a program. Those who write about the tag go on
 * with words and blanks, with a bracket behind a blank, or with the backtick that ends their code.
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
        if (next > Byte.Space && !endsEntity(bytes, at)) return true;
        break;
      case Byte.Less:
        // The end of the script, right behind what is in it.
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

function isWordByte(byte: number): boolean {
  const isLetter = byte >= Byte.LowerA && byte <= Byte.LowerZ;
  return isLetter || (byte >= Byte.Zero && byte <= Byte.Nine) || byte === Byte.Underscore;
}

/** alert (1): a blank before the bracket of a call, and its argument's. */
const MAX_CALLED_WORDS = 2;
const MAX_EXPRESSION = 64;
