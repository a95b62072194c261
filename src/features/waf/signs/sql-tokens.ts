import { Byte, EMPTY_BYTES, table } from "../../../core/ascii.ts";
import { StepBudget } from "../match/step-budget.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { IS_NAME, isDigit, SqlRuns } from "./sql-runs.ts";
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
  private readonly runs: SqlRuns = new SqlRuns();
  private end = 0;
  private at = 0;
  private count = 0;
  private steps: StepBudget = new StepBudget();

  /** Takes another value. */
  open(value: ValueReading): void {
    this.source = value.bytes;
    this.end = value.length;
    this.steps = value.steps;
    this.runs.begin(value);
  }

  /** Makes ready to read the value from `from` on. */
  begin(from: number): void {
    this.at = this.steps.isSpent ? this.end : from;
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
    const from = this.runs.gapEnd(this.at);
    const kind = from < this.end ? this.readToken(from) : Sql.End;
    if (kind === Sql.End) this.at = this.end;
    this.kinds[this.count] = kind;
    this.froms[this.count] = from;
    this.tos[this.count++] = this.at;
    this.steps.take(STEPS + Math.min(this.at - from, MAX_TEXT_BYTES));
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
        this.at = this.runs.nameEnd(from + (this.source[from + 1] === Byte.At ? 2 : 1));
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
    this.at = this.runs.nameEnd(from);
    const word = SQL_WORDS.valueOf(this.source, from, this.at);
    return word === 0 ? Sql.Name : word;
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

/** What a token costs beside its own bytes. */
const STEPS = 8;
/** As many tokens as the longest form of an attack needs. */
const MAX_TOKENS = 24;
/** A longer text counts as one that is not closed. */
const MAX_TEXT_BYTES = 128;
const CARET = 0x5e;
const LOWER_E = 0x65;
const TILDE = 0x7e;
/** !, <, =, >: alone or side by side they compare. */
const COMPARISON: Uint8Array = table((byte) =>
  byte === Byte.Bang || (byte >= Byte.Less && byte <= Byte.Greater) ? 1 : 0,
);
