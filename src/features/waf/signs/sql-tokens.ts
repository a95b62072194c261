import { Byte, EMPTY_BYTES, table } from "../../../core/ascii.ts";
import { SQL_WORDS, Sql } from "./sql-words.ts";

/**
 * The tokens of SQL from some place of a value on, read when they are asked for, MAX_TOKENS at most. Comments between
 * tokens are white space, as every database has it; the inside of a MySQL version comment is code.
 */
export class SqlTokens {
  readonly kinds: Uint8Array = new Uint8Array(MAX_TOKENS);
  readonly froms: Int32Array = new Int32Array(MAX_TOKENS);
  readonly tos: Int32Array = new Int32Array(MAX_TOKENS);
  /** The value that is read. */
  source: Uint8Array = EMPTY_BYTES;
  private end = 0;
  private at = 0;
  private count = 0;

  /** Makes ready to read from `from` on. */
  begin(bytes: Uint8Array, from: number, to: number): void {
    this.source = bytes;
    this.at = from;
    this.end = to;
    this.count = 0;
  }

  /** The kind of token `index`; Sql.End behind the last, and behind MAX_TOKENS. */
  kind(index: number): Sql {
    if (index >= MAX_TOKENS) return Sql.End;
    while (this.count <= index) this.read();
    return this.kinds[index]!;
  }

  /** Offset of token `index`, which has been asked for. */
  from(index: number): number {
    return index < MAX_TOKENS ? this.froms[index]! : this.end;
  }

  /** Offset behind token `index`, which has been asked for. */
  to(index: number): number {
    return index < MAX_TOKENS ? this.tos[index]! : this.end;
  }

  /** A byte of the value; 0 behind its end. */
  byteAt(at: number): number {
    return at < this.end ? this.source[at]! : 0;
  }

  private read(): void {
    const from = this.skipBlanks(this.at);
    const kind = from < this.end ? this.readToken(from) : Sql.End;
    if (kind === Sql.End) this.at = this.end;
    this.kinds[this.count] = kind;
    this.froms[this.count] = from;
    this.tos[this.count++] = this.at;
  }

  private skipBlanks(from: number): number {
    const bytes = this.source;
    let at = from;
    while (at < this.end) {
      const byte = bytes[at]!;
      if (IS_BLANK[byte] === 1) at++;
      else if (byte === Byte.Slash && bytes[at + 1] === Byte.Star) {
        if (bytes[at + 2] === Byte.Bang) {
          at += 3;
          while (isDigit(bytes[at]!)) at++;
        } else {
          const close = this.closeOfComment(at + 2);
          if (close < 0) return at;
          at = close;
        }
      } else if (byte === Byte.Star && bytes[at + 1] === Byte.Slash) at += 2;
      else return at;
    }
    return at;
  }

  /** Offset behind the end of a comment, -1 where it has none within MAX_TEXT_BYTES. */
  private closeOfComment(from: number): number {
    const limit = Math.min(this.end, from + MAX_TEXT_BYTES);
    for (let at = from; at < limit; at++) {
      if (this.source[at] === Byte.Star && this.source[at + 1] === Byte.Slash && at + 1 < this.end) return at + 2;
    }
    return -1;
  }

  private readToken(from: number): Sql {
    const byte = this.source[from]!;
    if (isDigit(byte) || (byte === Byte.Dot && isDigit(this.source[from + 1]!))) return this.readNumber(from);
    if (IS_NAME[byte] === 1) return this.readWord(from);
    switch (byte) {
      case Byte.Quote:
      case Byte.Apostrophe:
        return this.readText(from, byte);
      case Byte.Backtick:
        return this.readText(from, byte) === Sql.Text ? Sql.Name : Sql.Other;
      case Byte.At:
        this.at = this.nameEnd(from + (this.source[from + 1] === Byte.At ? 2 : 1));
        return Sql.Variable;
      default:
        return this.readMark(from, byte);
    }
  }

  private readNumber(from: number): Sql {
    const bytes = this.source;
    let at = from;
    if (bytes[at] === Byte.Zero && bytes[at + 1] === Byte.LowerX) {
      at += 2;
      while (isDigit(bytes[at]!) || (bytes[at]! >= Byte.LowerA && bytes[at]! <= Byte.LowerF)) at++;
    } else {
      while (isDigit(bytes[at]!)) at++;
      // 1.2.3 is none.
      if (bytes[at] === Byte.Dot) at++;
      while (isDigit(bytes[at]!)) at++;
      if (bytes[at] === LOWER_E && isDigit(bytes[at + 1]!)) {
        at += 2;
        while (isDigit(bytes[at]!)) at++;
      }
    }
    this.at = Math.min(at, this.end);
    return Sql.Number;
  }

  private readWord(from: number): Sql {
    this.at = this.nameEnd(from);
    const word = SQL_WORDS.valueOf(this.source, from, this.at);
    return word === 0 ? Sql.Name : word;
  }

  private nameEnd(from: number): number {
    let at = from;
    while (
      at < this.end &&
      (IS_NAME[this.source[at]!] === 1 || isDigit(this.source[at]!) || this.source[at] === Byte.Dot)
    )
      at++;
    return at;
  }

  private readText(from: number, quote: number): Sql {
    const limit = Math.min(this.end, from + MAX_TEXT_BYTES);
    for (let at = from + 1; at < limit; at++) {
      if (this.source[at] === Byte.Backslash) at++;
      else if (this.source[at] === quote) {
        this.at = at + 1;
        return Sql.Text;
      }
    }
    this.at = limit;
    return Sql.OpenText;
  }

  private readMark(from: number, byte: number): Sql {
    const next = this.source[from + 1]!;
    const isPair = next === byte || (COMPARISON[byte] === 1 && COMPARISON[next] === 1);
    this.at = from + (isPair ? 2 : 1);
    // Three of them: <=>, !==, ===.
    if (isPair && COMPARISON[byte] === 1 && COMPARISON[this.source[this.at]!] === 1) this.at++;
    switch (byte) {
      case Byte.Dash:
        return isPair ? Sql.Comment : Sql.Arithmetic;
      case Byte.Hash:
        return Sql.Comment;
      case Byte.Slash:
        return next === Byte.Star ? Sql.Comment : Sql.Arithmetic;
      case Byte.Ampersand:
      case Byte.Bar:
        return isPair ? Sql.Logic : Sql.Arithmetic;
      case Byte.Bang:
        return next === Byte.Equals ? Sql.Compare : Sql.Prefix;
      default:
        return this.readSingle(byte, next);
    }
  }

  private readSingle(byte: number, next: number): Sql {
    switch (byte) {
      case Byte.Equals:
        // An arrow is a thing of programs.
        return next === Byte.Greater ? Sql.Other : Sql.Compare;
      case Byte.Less:
      case Byte.Greater:
        return Sql.Compare;
      case TILDE:
        return Sql.Prefix;
      case Byte.OpenParen:
        return Sql.Open;
      case Byte.CloseParen:
        return Sql.Close;
      case Byte.Comma:
        return Sql.Comma;
      case Byte.Semicolon:
        return Sql.Semicolon;
      case Byte.Plus:
      case Byte.Star:
      case Byte.Percent:
      case CARET:
        return Sql.Arithmetic;
      default:
        return Sql.Other;
    }
  }
}

/** Whether a byte is a decimal digit. */
export function isDigit(byte: number): boolean {
  return byte >= Byte.Zero && byte <= Byte.Nine;
}

/** As many tokens as the longest form of an attack needs. */
const MAX_TOKENS = 24;
/** A longer text or comment counts as one that is not closed. */
const MAX_TEXT_BYTES = 128;
const CARET = 0x5e;
const LOWER_E = 0x65;
const TILDE = 0x7e;
/** White space of MySQL, the no-break space of Latin-1 included. */
const IS_BLANK: Uint8Array = table((byte) =>
  (byte >= 0x09 && byte <= 0x0d) || byte === 0x20 || byte === 0xa0 ? 1 : 0,
);
/** Letters, underscore, dollar, and all beyond ASCII. */
const IS_NAME: Uint8Array = table((byte) => {
  const isLetter = byte >= 0x61 && byte <= 0x7a;
  return isLetter || byte === 0x5f || byte === 0x24 || byte >= 0x80 ? 1 : 0;
});
/** !, <, =, >: alone or side by side they compare. */
const COMPARISON: Uint8Array = table((byte) =>
  byte === Byte.Bang || (byte >= Byte.Less && byte <= Byte.Greater) ? 1 : 0,
);
