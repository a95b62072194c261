import { Byte, classOf, EMPTY_BYTES, isDigit } from "../../../core/bytes.ts";
import { NO_BREAK_SPACE, SQL_NAME, SQL_NAME_START, SQL_SPACE } from "../match/scan.ts";
import { StepBudget } from "../match/step-budget.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";

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

  /** The kind of token `index`; Sql.End after the last, and after MAX_TOKENS. */
  kind(index: number): Sql {
    if (index >= MAX_TOKENS) return Sql.End;
    while (this.count <= index) this.read();
    return this.kinds[index]!;
  }

  /** Offset of token `index`, which has been asked for. */
  from(index: number): number {
    return index < MAX_TOKENS ? this.froms[index]! : this.end;
  }

  /** Offset after token `index`, which has been asked for. */
  to(index: number): number {
    return index < MAX_TOKENS ? this.tos[index]! : this.end;
  }

  /** A byte of the value; 0 after its end. */
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
    this.steps.take(TOKEN_STEPS + Math.min(this.at - from, MAX_TEXT_BYTES));
  }

  private readToken(from: number): Sql {
    const byte = this.source[from]!;
    if (isDigit(byte) || (byte === Byte.Dot && isDigit(this.source[from + 1]!))) return this.readNumber(from);
    if (SQL_NAME_START[byte] === 1) return this.readWord(from);
    switch (byte) {
      case Byte.Quote:
      case Byte.Apostrophe:
        return this.readText(from, byte);
      case Byte.Backtick:
        return this.readText(from, byte) === Sql.Text ? Sql.Name : Sql.Other;
      case Byte.At:
        // @>: contains, to PostgreSQL.
        if (this.source[from + 1] === Byte.Greater) {
          this.at = from + 2;
          return Sql.Compare;
        }
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
    // 1f UNION: a suffix of Oracle's.
    if ((bytes[at] === LOWER_F || bytes[at] === LOWER_D) && this.isWord(at + 1)) at++;
    this.at = Math.min(at, this.end);
    return Sql.Number;
  }

  /** Whether a word of SQL goes on at `from`. */
  private isWord(from: number): boolean {
    const limit = Math.min(this.end, from + SHORT_RUN_BYTES);
    let at = from;
    while (at < limit && SQL_NAME[this.source[at]!] === 1) at++;
    return SQL_WORDS.valueOf(this.source, from, at) !== 0;
  }

  private readWord(from: number): Sql {
    this.at = this.runs.nameEnd(from);
    const word = SQL_WORDS.valueOf(this.source, from, this.at);
    if (word !== 0) return word;
    // SELECT.1 is SELECT .1
    if (this.source[from + SELECT_BYTES] !== Byte.Dot) return Sql.Name;
    if (SQL_WORDS.valueOf(this.source, from, from + SELECT_BYTES) !== Sql.Select) return Sql.Name;
    this.at = from + SELECT_BYTES;
    return Sql.Select;
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
      case Byte.Backslash:
        if (next !== LOWER_N) return Sql.Other;
        // \N: NULL, to MySQL.
        this.at = from + 2;
        return Sql.Constant;
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

/** What SQL makes of a token. Words that mean nothing to it are names. */
export const enum Sql {
  /** The value is over. */
  End = 0,
  Name,
  Number,
  Text,
  /** A text whose closing quote is not there. */
  OpenText,
  /** @x, @@x. */
  Variable,
  /** and, or, xor, &&, || */
  Logic,
  /** =, <, like, in, … */
  Compare,
  /** +, *, div, … */
  Arithmetic,
  /** not, !, ~, binary: before an operand. */
  Prefix,
  Open,
  Close,
  Comma,
  Semicolon,
  /** --, # or an unclosed slash-star: the rest means nothing. */
  Comment,
  Other,
  Union,
  Select,
  /** all, distinct, top */
  Quantity,
  From,
  Where,
  /** order, group */
  Order,
  By,
  Having,
  Limit,
  Into,
  Case,
  When,
  Exists,
  /** null, true, false */
  Constant,
  /** A word that begins a statement. */
  Statement,
  Shutdown,
  /** The name of a function that attacks call. */
  Function,
}

/**
 * Where the long names and the long gaps of a value end. Tokens are read anew from many places of one value, and what
 * lies within a name or a comment may be such a place itself: looked for byte by byte from each of them, the end of one
 * long run would cost the square of its length. So the ends are worked out for all places at once, in one pass from the
 * end, when the first run is met that is longer than SHORT_RUN_BYTES. docs/security.md#the-cost-of-inspection
 */
export class SqlRuns {
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;
  private names: Int32Array = NO_ENDS;
  private gaps: Int32Array = NO_ENDS;
  private hasNames = false;
  private hasGaps = false;
  private steps: StepBudget = new StepBudget();

  /** Makes ready for another value. */
  begin({ bytes, length, steps }: Pick<ValueReading, "bytes" | "length" | "steps">): void {
    this.bytes = bytes;
    this.length = length;
    this.steps = steps;
    this.hasNames = false;
    this.hasGaps = false;
  }

  /** Offset after the name, dots included, that goes on at `from`; `from` if none does. */
  nameEnd(from: number): number {
    const limit = Math.min(this.length, from + SHORT_RUN_BYTES);
    let at = from;
    while (at < limit && this.isNameAt(at)) at++;
    if (at < limit || at === this.length) return at;
    if (!this.hasNames) this.readNames();
    return this.names[from]!;
  }

  /** Whether a name goes on at `at`: a no-break space that stands alone is white space. */
  private isNameAt(at: number): boolean {
    const byte = this.bytes[at]!;
    return SQL_NAME[byte] === 1 && (byte !== NO_BREAK_SPACE || this.bytes[at - 1]! >= 0x80);
  }

  /** Offset after the white space and the comments that go on at `from`; `from` if there are none. */
  gapEnd(from: number): number {
    const { bytes, length } = this;
    const limit = Math.min(length, from + SHORT_RUN_BYTES);
    let at = from;
    while (at < limit) {
      if (SQL_SPACE[bytes[at]!] === 1) at++;
      else if (bytes[at] === Byte.Slash && bytes[at + 1] === Byte.Star) {
        const behind = bytes[at + 2] === Byte.Bang ? this.digitsEnd(at + 3) : this.closeOfComment(at + 2);
        if (behind < 0) return at;
        at = behind;
      } else if (bytes[at] === Byte.Star && bytes[at + 1] === Byte.Slash) at += 2;
      else return at;
    }
    if (at >= length) return at;
    if (!this.hasGaps) this.readGaps();
    return this.gaps[at]!;
  }

  /** Offset after the end of a comment, -1 if it has none within MAX_COMMENT_BYTES. */
  private closeOfComment(from: number): number {
    const limit = Math.min(this.length, from + MAX_COMMENT_BYTES);
    for (let at = from; at < limit; at++) {
      if (this.bytes[at] === Byte.Star && this.bytes[at + 1] === Byte.Slash && at + 1 < this.length) return at + 2;
    }
    return -1;
  }

  private digitsEnd(from: number): number {
    let at = from;
    while (isDigit(this.bytes[at]!)) at++;
    return at;
  }

  private readNames(): void {
    this.steps.take(this.length);
    if (this.names.length < this.length) this.names = new Int32Array(this.bytes.length);
    let end = this.length;
    for (let at = this.length - 1; at >= 0; at--) {
      if (!this.isNameAt(at)) end = at;
      this.names[at] = end;
    }
    this.hasNames = true;
  }

  private readGaps(): void {
    const { bytes, length } = this;
    this.steps.take(length);
    if (this.gaps.length <= length) this.gaps = new Int32Array(bytes.length);
    const { gaps } = this;
    gaps[length] = length;
    // The next two ends of comments: of the first the star may be the one that opens a comment.
    let close = length;
    let closeBehind = length;
    for (let at = length - 1; at >= 0; at--) {
      const byte = bytes[at]!;
      let end = at;
      if (SQL_SPACE[byte] === 1) end = gaps[at + 1]!;
      else if (byte === Byte.Star && bytes[at + 1] === Byte.Slash) {
        closeBehind = close;
        close = at;
        end = gaps[at + 2]!;
      } else if (byte === Byte.Slash && bytes[at + 1] === Byte.Star) {
        const first = close === at + 1 ? closeBehind : close;
        if (bytes[at + 2] === Byte.Bang) end = gaps[this.digitsEnd(at + 3)]!;
        else if (first < Math.min(length, at + 2 + MAX_COMMENT_BYTES)) end = gaps[first + 2]!;
      }
      gaps[at] = end;
    }
    this.hasGaps = true;
  }
}

/** Functions that attacks call, separated by blanks. */
export const SQL_FUNCTIONS: string = [
  "sleep benchmark pg_sleep ascii ord substring substr mid char_length concat concat_ws group_concat char chr",
  "unhex load_file extractvalue updatexml user current_user session_user system_user database schema version",
  "ifnull iif nullif exp row elt make_set cast convert json_keys randomblob sqlite_version row_count gtid_subset",
  "lpad rpad st_latfromgeohash pg_read_file lo_import query_to_xml dbms_pipe.receive_message dbms_lock.sleep",
  "utl_http.request utl_inaddr.get_host_address utl_inaddr.get_host_name dbms_xmlgen.getxml ctxsys.drithsx.sn",
  "openrowset opendatasource",
].join(" ");

/** The words that SQL knows, as far as attacks use them. */
const SQL_WORD_GROUPS: readonly (readonly [kind: Sql, words: string])[] = [
  [Sql.Logic, "or and xor"],
  [Sql.Compare, "like rlike regexp ilike glob is in between sounds similar"],
  [Sql.Arithmetic, "div mod"],
  [Sql.Prefix, "not binary some any interval"],
  [Sql.Union, "union except intersect minus"],
  [Sql.Select, "select"],
  [Sql.Quantity, "all distinct distinctrow top"],
  [Sql.From, "from"],
  [Sql.Where, "where"],
  [Sql.Order, "order group"],
  [Sql.By, "by"],
  [Sql.Having, "having"],
  [Sql.Limit, "limit offset procedure"],
  [Sql.Into, "into"],
  [Sql.Case, "case"],
  [Sql.When, "when"],
  [Sql.Exists, "exists"],
  [Sql.Constant, "null true false"],
  [Sql.Statement, "drop delete insert update create alter truncate exec execute declare waitfor grant revoke merge"],
  [Sql.Statement, "replace rename load copy call handler begin set pragma attach vacuum kill do if"],
  [Sql.Shutdown, "shutdown"],
  [Sql.Function, SQL_FUNCTIONS],
];

/** The words by their kinds. */
export const SQL_WORDS: WordSet = new WordSet(SQL_WORD_GROUPS);

/** The words of some kinds. */
export function sqlWords(kinds: readonly Sql[]): string[] {
  return SQL_WORD_GROUPS.flatMap(([kind, words]) => (kinds.includes(kind) ? words.split(" ") : []));
}

const NO_ENDS: Int32Array = new Int32Array(0);
/** What nearly all names and gaps have room in. */
const SHORT_RUN_BYTES = 32;
/** A longer comment counts as one that is not closed. */
const MAX_COMMENT_BYTES = 128;
/** What a token costs beside its own bytes. */
const TOKEN_STEPS = 8;
/** As many tokens as the longest form of an attack needs. */
const MAX_TOKENS = 24;
/** A longer text counts as one that is not closed. */
const MAX_TEXT_BYTES = 128;
const CARET = 0x5e;
const LOWER_D = 0x64;
const LOWER_E = 0x65;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const SELECT_BYTES = 6;
const TILDE = 0x7e;
/** !, <, =, >: alone or side by side they compare. */
const COMPARISON: Uint8Array = classOf("!<=>");
