import { Byte } from "../../../core/bytes.ts";
import { SQL_SPACE } from "./scan.ts";

/**
 * Fast negative check: no listed word can start here. Nearly all words of a text fail by their first two letters. A value is lower case and ends
 * in zeros, so that what is behind its end may be examined.
 */
export class WordGate {
  private readonly pairs: Uint8Array = new Uint8Array(LETTERS * LETTERS);

  /** @param words of two letters and more, the first two of a to z */
  constructor(words: readonly string[]) {
    for (const word of words)
      this.pairs[(word.charCodeAt(0) - Byte.LowerA) * LETTERS + word.charCodeAt(1) - Byte.LowerA] = 1;
  }

  /** Whether one of the words may begin at `at`. */
  isOpen(bytes: Uint8Array, at: number): boolean {
    const first = bytes[at]! - Byte.LowerA;
    const second = bytes[at + 1]! - Byte.LowerA;
    if (first < 0 || first >= LETTERS || second < 0 || second >= LETTERS) return false;
    return this.pairs[first * LETTERS + second] === 1;
  }

  /** Whether another word than these is at `from`, or after a few blanks; false for what is no word. */
  isShut(bytes: Uint8Array, from: number): boolean {
    let at = from;
    while (at < from + MAX_BLANKS && SQL_SPACE[bytes[at]!] === 1) at++;
    const first = bytes[at]! - Byte.LowerA;
    return first >= 0 && first < LETTERS && !this.isOpen(bytes, at);
  }
}

const LETTERS = 26;
const MAX_BLANKS = 4;
