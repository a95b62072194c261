import { Byte } from "../../../core/ascii.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { Sign } from "../rules/sign.ts";
import type { SignListener } from "./sign-listener.ts";
import { isSelectList, isSelectOfTable, isUnion } from "./sql-select.ts";
import { isStatement } from "./sql-statement.ts";
import { isDigit, SqlTokens } from "./sql-tokens.ts";
import { Sql } from "./sql-words.ts";

/** What kind of thing an operand is. */
const enum Operand {
  None = 0,
  Literal,
  Name,
  /** A call of one of SQL's functions, a query, a CASE. */
  Call,
}

/** Where SQL may go on in a value that an application pastes into a statement. */
const enum Anchor {
  /** Behind a number that the value begins with, or behind nothing. */
  Number = 0,
  /** Behind a word that the value begins with: prose begins so, too. */
  Word,
  /** Behind a quote that closes one that the application opened: the first, third, … of its kind. */
  OddQuote,
  /** Behind a quote that closes one of the value's own. */
  EvenQuote,
}

/**
 * Finds values that leave the literal they are pasted into. What follows a number or a closing quote in SQL is an
 * operator, a clause, a semicolon, a bracket or a comment, never a word: so prose fails at the first token. Each place
 * is tried on its own and costs a bounded number of tokens.
 */
export class SqlBreakout {
  private readonly tokens: SqlTokens = new SqlTokens();
  private listener: SignListener | null = null;
  private anchor: Anchor = Anchor.Number;
  /** The kind of the operand that was read last. */
  private operand: Operand = Operand.None;

  /** Tries the start of a value, and behind every quote in it. */
  analyse(value: ValueReading, listener: SignListener): void {
    this.listener = listener;
    this.tryStart(value);
    this.tryQuotes(value, Byte.Quote);
    this.tryQuotes(value, APOSTROPHE);
  }

  private tryStart(value: ValueReading): void {
    const { tokens } = this;
    tokens.begin(value.bytes, 0, value.length);
    let at = 0;
    while (isSign(tokens.kind(at))) at++;
    const kind = tokens.kind(at);
    if (kind === Sql.Select && at > 0) {
      if (this.isQuery(at)) this.found(Sign.SqlConcatenation, at);
      return;
    }
    this.anchor = kind === Sql.Number || kind === Sql.Constant ? Anchor.Number : Anchor.Word;
    if (kind === Sql.Number || kind === Sql.Constant || kind === Sql.Name || kind === Sql.Variable) at++;
    else if (kind === Sql.Text || kind === Sql.Function) at++;
    this.tryContinuation(at);
  }

  private tryQuotes(value: ValueReading, quote: number): void {
    const { bytes, length } = value;
    let isOdd = false;
    for (let at = bytes.indexOf(quote); at >= 0 && at < length; at = bytes.indexOf(quote, at + 1)) {
      isOdd = !isOdd;
      this.tokens.begin(bytes, at + 1, length);
      this.anchor = isOdd ? Anchor.OddQuote : Anchor.EvenQuote;
      this.tryContinuation(0);
    }
  }

  /** What stands at token `first` must go on from a literal. */
  private tryContinuation(first: number): void {
    const { tokens } = this;
    let at = first;
    while (tokens.kind(at) === Sql.Close) at++;
    switch (tokens.kind(at)) {
      case Sql.Logic:
        if (this.isCondition(at + 1)) this.found(Sign.SqlComparison, at);
        break;
      case Sql.Having:
      case Sql.Where:
        if (this.anchor === Anchor.OddQuote && this.isCondition(at + 1)) this.found(Sign.SqlComparison, at);
        break;
      case Sql.Compare:
        if (this.anchor === Anchor.OddQuote && this.isCutComparison(at)) this.found(Sign.SqlComparison, at);
        else if (this.anchor === Anchor.Number && this.isCallBehind(at)) this.found(Sign.SqlConcatenation, at);
        break;
      case Sql.Arithmetic:
        if (this.isCallBehind(at)) this.found(Sign.SqlConcatenation, at);
        break;
      case Sql.Union:
        if (isUnion(tokens, at, this.anchor !== Anchor.Word)) this.found(Sign.SqlUnion, at);
        break;
      case Sql.Semicolon:
        if (this.anchor !== Anchor.EvenQuote && isStatement(tokens, at + 1)) this.found(Sign.SqlStatement, at);
        else if (this.isCutOff(at + 1)) this.found(Sign.SqlComment, at);
        break;
      case Sql.Comment:
        if (this.isCutOff(at)) this.found(Sign.SqlComment, at);
        break;
      case Sql.Order:
      case Sql.Limit:
        if (this.isClause(at)) this.found(Sign.SqlClause, at);
        break;
    }
  }

  /** Whether a condition that an attacker would write stands at token `at`. */
  private isCondition(at: number): boolean {
    const { tokens } = this;
    const next = this.skipOperand(at);
    const left = this.operand;
    if (left === Operand.None) return false;
    if (left === Operand.Call) return this.anchor !== Anchor.Word && this.anchor !== Anchor.EvenQuote;
    const kind = tokens.kind(next);
    if (kind === Sql.Compare) return this.isComparison(left, next);
    if (left !== Operand.Literal || this.anchor === Anchor.Word || this.anchor === Anchor.EvenQuote) return false;
    if (kind === Sql.Comment) return true;
    if (this.anchor !== Anchor.OddQuote) return false;
    return kind === Sql.Logic ? this.isNumber(next - 1) : kind === Sql.End && this.isTruth(next - 1);
  }

  private isComparison(left: Operand, at: number): boolean {
    const { tokens } = this;
    const isWord = tokens.to(at) - tokens.from(at) > 1 && this.isWordAt(at);
    if (isWord && !this.isWordComparison(at)) return false;
    this.skipOperand(at + 1);
    const right = this.operand;
    if (right === Operand.None) return false;
    if (right === Operand.Call) return this.anchor !== Anchor.EvenQuote;
    if (left === Operand.Literal && right === Operand.Literal) return true;
    // "a" = b is a condition in anybody's filter language, unless a quote has just been broken out of.
    return this.anchor === Anchor.OddQuote || (this.anchor === Anchor.Number && right === Operand.Literal);
  }

  /** Whether the operator at `at`, a word, has the operand behind it that SQL wants and prose does not. */
  private isWordComparison(at: number): boolean {
    const { tokens } = this;
    const first = this.tokens.from(at);
    const kind = tokens.kind(at + 1);
    switch (this.byteAt(first)) {
      case LOWER_I:
        return this.byteAt(first + 1) === LOWER_N ? kind === Sql.Open : this.isConstantAt(at + 1);
      case LOWER_B:
        return kind === Sql.Number && tokens.kind(at + 2) === Sql.Logic && tokens.kind(at + 3) === Sql.Number;
      default:
        return kind === Sql.Text || kind === Sql.OpenText || kind === Sql.Number || kind === Sql.Function;
    }
  }

  private isConstantAt(at: number): boolean {
    return this.tokens.kind(this.tokens.kind(at) === Sql.Prefix ? at + 1 : at) === Sql.Constant;
  }

  /** '=' and the like right behind the quote: the other half of the comparison is cut off or goes on. */
  private isCutComparison(at: number): boolean {
    const { tokens } = this;
    if (this.isWordAt(at) && !this.isWordComparison(at)) return false;
    // "> and "< end and begin tags.
    const isOneMark = tokens.to(at) - tokens.from(at) === 1;
    if (isOneMark && this.byteAt(tokens.from(at)) !== Byte.Equals) return false;
    const next = this.skipOperand(at + 1);
    if (this.operand === Operand.None || this.operand === Operand.Name) return false;
    const kind = tokens.kind(next);
    if (kind === Sql.Comment || kind === Sql.Logic) return true;
    const last = tokens.kind(next - 1);
    if (kind !== Sql.End || last !== Sql.OpenText) return kind === Sql.End && last === Sql.Text;
    // A lone quote: more behind it is a string in a program, as in split('=').
    return this.isWordAt(at) || tokens.to(next - 1) - tokens.from(next - 1) === 1;
  }

  /** Whether an operator has a call or a query behind it. */
  private isCallBehind(at: number): boolean {
    if (this.anchor === Anchor.Word || this.anchor === Anchor.EvenQuote) return false;
    this.skipOperand(at + 1);
    return this.operand === Operand.Call;
  }

  /** Whether the value ends in a comment from `at` on that takes the rest of the statement away. */
  private isCutOff(at: number): boolean {
    const { tokens } = this;
    if (this.anchor !== Anchor.OddQuote) return false;
    let comment = at;
    while (tokens.kind(comment) === Sql.Semicolon || tokens.kind(comment) === Sql.Close) comment++;
    if (tokens.kind(comment) !== Sql.Comment) return false;
    const first = this.byteAt(tokens.from(comment));
    const behind = tokens.to(comment);
    if (first !== Byte.Dash) return this.isBlankFrom(behind, 1);
    const next = this.byteAt(behind);
    return (
      (next === 0 || next === Byte.Space || next === Byte.Dash || next === PLUS) && this.isBlankFrom(behind, MAX_TAIL)
    );
  }

  /** Whether no more than `limit` bytes that are not blank stand from `from` on. */
  private isBlankFrom(from: number, limit: number): boolean {
    let count = 0;
    for (let at = from; this.byteAt(at) !== 0; at++) {
      if (this.byteAt(at) > Byte.Space && ++count > limit) return false;
    }
    return true;
  }

  private isClause(at: number): boolean {
    const { tokens } = this;
    if (this.anchor === Anchor.Word || this.anchor === Anchor.EvenQuote) return false;
    const isOrder = tokens.kind(at) === Sql.Order;
    if (isOrder && tokens.kind(at + 1) !== Sql.By) return false;
    let next = this.skipOperand(at + (isOrder ? 2 : 1));
    if (this.operand === Operand.None) return false;
    while (tokens.kind(next) === Sql.Comma) next = this.skipOperand(next + 1);
    const kind = tokens.kind(next);
    if (kind === Sql.Comment || kind === Sql.Having || kind === Sql.Into) return true;
    if (this.operand === Operand.Call) return true;
    return this.operand === Operand.Literal && isOrder && kind === Sql.End;
  }

  /**
   * Passes over an operand with signs, brackets and arithmetic; its kind stands in `operand` then.
   * @returns the index of the token behind it
   */
  private skipOperand(first: number): number {
    const { tokens } = this;
    let kind = Operand.None;
    let at = first;
    for (;;) {
      while (isSign(tokens.kind(at))) at++;
      const own = this.operandAt(at);
      if (own === Operand.None) break;
      if (own > kind) kind = own;
      at++;
      if (tokens.kind(at) === Sql.Open && kind !== Operand.Literal) at = this.skipBrackets(at);
      while (tokens.kind(at) === Sql.Close) at++;
      if (tokens.kind(at) !== Sql.Arithmetic) break;
      at++;
    }
    this.operand = kind;
    return at;
  }

  private operandAt(at: number): Operand {
    const { tokens } = this;
    switch (tokens.kind(at)) {
      case Sql.Number:
      case Sql.Text:
      case Sql.OpenText:
      case Sql.Constant:
        return Operand.Literal;
      case Sql.Variable:
      case Sql.Name:
        return Operand.Name;
      case Sql.Function:
        // "length (cm)" is prose.
        return tokens.kind(at + 1) === Sql.Open && tokens.from(at + 1) === tokens.to(at) ? Operand.Call : Operand.Name;
      case Sql.Select:
        return this.isQuery(at) ? Operand.Call : Operand.None;
      case Sql.Exists:
        return tokens.kind(at + 1) === Sql.Open ? Operand.Call : Operand.None;
      case Sql.Case:
        return tokens.kind(at + 1) === Sql.When ? Operand.Call : Operand.None;
      case Sql.Statement:
        // if(…): the function of that name.
        return tokens.kind(at + 1) === Sql.Open && tokens.to(at) - tokens.from(at) === 2 ? Operand.Call : Operand.None;
      default:
        return Operand.None;
    }
  }

  /** Whether (SELECT … stands before and behind token `at`, and is none of prose. */
  private isQuery(at: number): boolean {
    const { tokens } = this;
    if (tokens.kind(at - 1) !== Sql.Open) return false;
    return isSelectList(tokens, at + 1) || isSelectOfTable(tokens, at + 1);
  }

  /** @returns the index behind the bracket that closes the one at `at`, or that of the last token that is read */
  private skipBrackets(first: number): number {
    const { tokens } = this;
    let depth = 0;
    for (let at = first; tokens.kind(at) !== Sql.End; at++) {
      const kind = tokens.kind(at);
      const width = tokens.to(at) - tokens.from(at);
      if (kind === Sql.Open) depth += width;
      else if (kind === Sql.Close) depth -= width;
      if (depth <= 0) return at + 1;
    }
    return first;
  }

  /** Whether token `at` is a number, true or a text that begins with a digit. */
  private isNumber(at: number): boolean {
    const { tokens } = this;
    const kind = tokens.kind(at);
    return kind === Sql.Number || kind === Sql.Constant || isDigit(this.byteAt(tokens.from(at) + 1));
  }

  /** Whether token `at` is '1 and no more: the application's own quote comes behind it. */
  private isTruth(at: number): boolean {
    const { tokens } = this;
    const isOneDigit = isDigit(this.byteAt(tokens.from(at) + 1)) && tokens.to(at) - tokens.from(at) === 2;
    return tokens.kind(at) === Sql.OpenText && isOneDigit;
  }

  private isWordAt(at: number): boolean {
    const byte = this.byteAt(this.tokens.from(at));
    return byte >= Byte.LowerA && byte <= LOWER_Z;
  }

  private byteAt(at: number): number {
    return this.tokens.byteAt(at);
  }

  private found(sign: Sign, token: number): void {
    this.listener!.found(sign, this.tokens.from(token));
  }
}

/** What may stand before an operand. */
function isSign(kind: Sql): boolean {
  return kind === Sql.Prefix || kind === Sql.Open || kind === Sql.Arithmetic;
}

/** Bytes that sqlmap and its kind put behind a comment, so that two dashes are one in every database. */
const MAX_TAIL = 12;
const APOSTROPHE = 0x27;
const PLUS = 0x2b;
const LOWER_B = 0x62;
const LOWER_I = 0x69;
const LOWER_N = 0x6e;
const LOWER_Z = 0x7a;
