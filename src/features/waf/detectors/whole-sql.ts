import { Byte, EMPTY_BYTES, indexOfByte, isDigit } from "../../../core/bytes.ts";
import { isWordByte } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordGate } from "../match/word-gate.ts";
import { CRITICAL_SCORE, type DetectionListener, type Detector, each, type WafRule } from "../rule.ts";
import { BEFORE_TEXT } from "./sql-breakout.ts";
import { Seen, SqlShape } from "./sql-shape.ts";
import { Sql, sqlWords } from "./sql-tokens.ts";

export const WHOLE_SQL: WafRule = {
  id: "SQLI-014",
  crs: [942100],
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "value that is SQL to its end, and goes on from a literal, cuts a statement off or compares constants",
  keywords: [
    ...each("< > << >> <> <= >=", (mark) => [`'${mark}'`, `' ${mark} '`, `'${mark}0`, `' ${mark} 0`]),
    ...each("not regexp xor", (word) => [`'${word}`, `' ${word}`]),
    ...["0--", "0 --", "0 /*", "0/*", "0  /*", "0  --", ")--", ") --", ")  --", " )  --"],
    ...each("version user database schema", (name) => `${name}()`),
    ...["\nunion", "isnull(", "@version", "union\n", "union\r", "case 0", "case '", "having 0"],
  ],
};

/** Finds values that are SQL as a whole, and say what people do not write into a field. */
export class WholeSql implements Detector {
  private readonly shape: SqlShape = new SqlShape();
  private value: ValueReading | null = null;
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;

  /** Tries the value as it is, and what is behind the first quote of either kind. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    const { bytes, length } = value;
    if (value.isName || length > MAX_VALUE) return;
    this.bytes = bytes;
    this.length = length;
    this.value = value;
    this.shape.open(value);
    if (this.shape.read(0, true) && this.isAttack()) listener.found(WHOLE_SQL, 0);
    else if (!this.tryQuote(Byte.Apostrophe, listener)) this.tryQuote(Byte.Quote, listener);
  }

  private tryQuote(quote: number, listener: DetectionListener): boolean {
    const limit = Math.min(this.length, MAX_LITERAL);
    const at = indexOfByte(this.bytes, quote, 0, limit);
    // A word that is none of SQL's: O'Brien.
    if (at >= limit || OPERATORS.isShut(this.bytes, at + 1)) return false;
    if (!this.shape.read(at + 1, false) || !this.isBrokenOut(at)) return false;
    listener.found(WHOLE_SQL, at);
    return true;
  }

  private isAttack(): boolean {
    const { shape } = this;
    const { seen } = shape;
    const has = (bits: number): boolean => (seen & bits) === bits;
    if ((seen & (Seen.OwnCall | Seen.OpenText)) !== 0) return false;
    // SELECT 1,2 FROM t WHERE
    if (has(Seen.Dangling | Seen.Select | Seen.From))
      return this.value!.isQueryLine() && (seen & (Seen.Constant | Seen.Variable | Seen.Bracket)) !== 0;
    if (has(Seen.Dangling | Seen.Union))
      return (seen & (Seen.Comment | Seen.Arithmetic | Seen.Variable)) !== 0 && (seen & Seen.Name) === 0;
    if ((seen & Seen.Dangling) !== 0) return false;
    // 1 -- ⟨line break⟩ (SELECT a FROM b)
    if (has(Seen.Query | Seen.From)) return true;
    // (1) --, 1 * 1 /*: nothing but constants, and the rest of a statement cut off.
    if (has(Seen.Cut) && (seen & (Seen.Name | Seen.Comma)) === 0)
      return (shape.operators > 0 || this.value!.isQueryLine()) && this.isCutOff(shape.operators > 0);
    // 1 -- ⟨line break⟩ AND -- ⟨line break⟩ 2=2
    if (has(Seen.Constants | Seen.Comment | Seen.Logic)) return true;
    // HAVING 1=1, PI() AND COS(PI())=-1; but not 1+1=2 and 2+2=4.
    if (has(Seen.Constants) && ((seen & Seen.Goes) !== 0 || has(Seen.Word | Seen.Call))) return true;
    // AND ISNULL(1/0)
    if (has(Seen.Goes | Seen.Call) && (seen & Seen.Name) === 0) return true;
    // DATABASE() LIKE SCHEMA(), length(version())
    if (has(Seen.Server) && shape.operators > 0 && (seen & Seen.Comma) === 0) return true;
    if (has(Seen.NestedServer)) return this.value!.isQueryLine();
    return has(Seen.Case) && (seen & Seen.Name) === 0;
  }

  /** Whether no more is behind the comment at the end than tools put there. */
  private isCutOff(isSum: boolean): boolean {
    const { endFrom, endTo } = this.shape;
    const isHash = this.bytes[endFrom] === Byte.Hash;
    return (isSum || !isHash) && this.tailOf(endTo) <= (isSum && !isHash ? MAX_TAIL : 0);
  }

  /** Whether what goes on behind the quote at `quote` is more than people write between quotes. */
  private isBrokenOut(quote: number): boolean {
    const { shape, bytes } = this;
    const { seen, operators } = shape;
    if ((seen & Seen.OwnCall) !== 0) return false;
    const isFirst = this.isFirst(quote);
    if ((seen & Seen.Query) !== 0 && (seen & Seen.From) !== 0) return true;
    if ((seen & Seen.Dangling) !== 0) return (seen & Seen.Union) !== 0 && (isFirst || operators > 0);
    if (operators === 0 || (seen & Seen.Comma) !== 0) return false;
    if ((seen & Seen.Cut) !== 0) return this.tailOf(shape.endTo) <= MAX_TAIL;
    if ((seen & Seen.OpenText) === 0)
      return isFirst && (seen & Seen.Logic) !== 0 && (seen & Seen.Compare) !== 0 && this.value!.isQueryLine();
    if (bytes[shape.endFrom] !== bytes[quote] || shape.endTo - shape.endFrom > MAX_OPEN) return false;
    // split('-', tag): a text of a program's own, and the rest of the program.
    if (!this.isWordTail() || (!isFirst && bytes[quote - 1]! > Byte.Space && BEFORE_TEXT.includes(bytes[quote - 1]!)))
      return false;
    if (operators === 1) return this.isJoined(quote);
    if (!isFirst && bytes[quote - 1]! <= Byte.Space) return false;
    // '%foo%', r'/a/b/': patterns and paths.
    if ((seen & (Seen.Logic | Seen.Compare)) !== 0) return true;
    if (isFirst) return false;
    return isDigit(bytes[quote - 1]!) || ((seen & Seen.Name) === 0 && shape.endTo - shape.endFrom > 1);
  }

  /** Whether one operator between two quotes is none that prose quotes: '*' operator, a' or 'b. */
  private isJoined(quote: number): boolean {
    const { bytes, shape } = this;
    const isLine = this.value!.isQueryLine();
    const tail = shape.endTo - shape.endFrom - 1;
    if ((shape.seen & Seen.Word) !== 0 && !isLine) return false;
    const isFirst = this.isFirst(quote);
    if (!isFirst && bytes[quote - 1]! > Byte.Space) return true;
    // "||": a search for it.
    if (bytes[quote] === Byte.Quote || !isLine) return false;
    // A '*' B: what prose quotes has words around it.
    return isFirst ? tail === 0 && shape.endFrom > quote + 2 : quote <= MAX_ASIDE && tail > 0 && tail <= MAX_ASIDE;
  }

  /** Whether the text that is left open at the end has words and blanks alone. */
  private isWordTail(): boolean {
    for (let at = this.shape.endFrom + 1; at < this.length; at++) {
      const byte = this.bytes[at]!;
      if (!isWordByte(byte) && byte > Byte.Space && byte < 0x80) return false;
    }
    return true;
  }

  /** Whether the value begins with the quote. */
  private isFirst(quote: number): boolean {
    let at = 0;
    while (at < quote && this.bytes[at]! <= Byte.Space) at++;
    return at === quote;
  }

  /** Bytes from `at` on that are not blank. */
  private tailOf(at: number): number {
    let count = 0;
    for (let i = at; i < this.length; i++) if (this.bytes[i]! > Byte.Space) count++;
    return count;
  }
}

const OPERATORS: WordGate = new WordGate(
  sqlWords([
    Sql.Logic,
    Sql.Compare,
    Sql.Arithmetic,
    Sql.Prefix,
    Sql.Union,
    Sql.Order,
    Sql.Limit,
    Sql.Having,
    Sql.Where,
    Sql.Into,
  ]),
);
/** What is longer is a text. */
const MAX_VALUE = 2048;
/** What a literal of an application is in front of the quote that ends it. */
const MAX_LITERAL = 25;
/** Bytes behind a comment that sqlmap and its kind put there. */
const MAX_TAIL = 12;
/** The rest of a text that the application's quote closes. */
const MAX_OPEN = 16;
const MAX_ASIDE = 2;
