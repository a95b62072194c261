import { Byte, indexOfByte, isDigit, isLowerLetter } from "../../../core/bytes.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordGate } from "../match/word-gate.ts";
import { CRITICAL_SCORE, type DetectionListener, type Detector, each, type WafRule, words } from "../rule.ts";
import { MONGO_OPERATOR } from "./mongo-operators.ts";
import { isScriptStatement, isSign, isStatement, isUnion, Operand, SqlOperands } from "./sql-grammar.ts";
import { SQL_FUNCTIONS, Sql, SqlTokens, sqlWords } from "./sql-tokens.ts";

export const SQL_UNION: WafRule = {
  id: "SQLI-001",
  crs: [942270, 942190, 942360, 942361, 942480, 942100],
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "UNION SELECT after a literal, or with a column list",
  keywords: [
    ...["union se", "union al", "union di", "union /", "union/", "union  ", "union-", "union -", "union#", "union #"],
    ...["union va", "union(", "union (", "union'", "union{", "union`"],
  ],
};
export const SQL_COMPARISON: WafRule = {
  id: "SQLI-002",
  crs: [942130, 942180, 942390, 942520, 942521, 942100],
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "boolean condition after a literal that is broken out of",
  keywords: [
    // Comparisons of literals, wherever they are.
    ...each("0= 0< 0> 0! )= )< )> )!", (mark) => [mark, `${mark[0]} ${mark[1]}`]),
    ...each("true null false", (word) => [`${word}=`, `${word} =`, `^${word} `]),
    ...each("like glob rlike regexp", (word) => [`${word} '`, `${word} 0`, `${word}(`, `${word} (`]),
    ...[
      "0 between 0",
      "0 is n",
      "0 is t",
      "0 is f",
      "0 in (",
      "0 in(",
      "case w",
      "case  ",
      "case/",
      "exists(",
      "exists (",
    ],
  ],
};
const SQL_COMMENT: WafRule = {
  id: "SQLI-003",
  crs: [942440, 942100, 942180, 942300, 942520],
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "comment after a quote, which truncates the statement",
};
const SQL_STATEMENT: WafRule = {
  id: "SQLI-004",
  crs: [942350, 942100, 942210, 942540],
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "stacked query after a semicolon",
  keywords: [
    ...each(
      "drop delete insert update create alter truncate exec declare set waitfor select shutdown merge replace handler load begin if",
      (word) => [`;${word}`, `; ${word}`],
    ),
    ...[";  ", ";/*", "; /*", "copy (", "copy(", "^0 update", "^00 update", "^000 update"],
  ],
};
const SQL_CLAUSE: WafRule = {
  id: "SQLI-008",
  crs: [942380, 942100],
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "ORDER BY, GROUP BY or LIMIT after a literal, which probes the column count",
  keywords: ["order by 0", "group by 0", "order/", "group/", "order by (", "group by (", "limit 0,", "analyse("],
};
const SQL_CONCATENATION: WafRule = {
  id: "SQLI-009",
  crs: [942362, 942360, 942100],
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "subquery or function call joined to a literal by an operator",
  keywords: ["exp(~", ...each(SQL_FUNCTIONS, (name) => `${name}(`)],
};

/** The rules that are reported here, some of them by the phrases too. */
export const BREAKOUT_RULES: readonly WafRule[] = [
  SQL_UNION,
  SQL_COMPARISON,
  SQL_COMMENT,
  SQL_STATEMENT,
  SQL_CLAUSE,
  SQL_CONCATENATION,
];

/** What calls the detectors of all of them: what goes on from a literal that the value leaves. */
export function breakoutKeywords(): string[] {
  const logic = "or and xor || &&";
  const clauses = "having where order group limit union except intersect minus procedure offset";
  const comparisons = "like rlike regexp ilike glob sounds similar between div mod in is";
  const operators = "= + - * / % ^ | & <> != >= <=";
  const cuts = "-- # /* ;";
  const numbers = words("^0 ^00 ^000 ^0000 ^00000 ^-0 ^-00 ^-000 ^0.0 ^0.");
  return [
    // After a quote, and after a bracket that a quote closes.
    ...each(`${logic} ${clauses} ${comparisons} ${operators} ${cuts}`, (word) => [`'${word}`, `' ${word}`]),
    ...each(`${logic} ${clauses} ${cuts} =`, (word) => [`')${word}`, `') ${word}`, `'))${word}`, `')) ${word}`]),
    ...each("return while", (word) => [`';${word}`, `'; ${word}`]),
    ...["'  ", "' )", "')  "],
    // After a number that begins the value, and after a bracket.
    ...numbers.flatMap((number) => each(`${logic} having /*`, (word) => [`${number}${word}`, `${number} ${word}`])),
    ...each(`${logic} /*`, (word) => [`0)${word}`, `0) ${word}`, `^)${word}`, `^) ${word}`]),
  ];
}

/** Words with which SQL goes on from a literal: those that `tryContinuation` knows. */
const CONTINUATION: WordGate = new WordGate(
  sqlWords([Sql.Logic, Sql.Having, Sql.Where, Sql.Compare, Sql.Arithmetic, Sql.Union, Sql.Order, Sql.Limit]),
);

/** Where SQL may go on in a value that an application pastes into a statement. */
const enum Anchor {
  /** After a number that the value begins with, or after nothing. */
  Number = 0,
  /** After nothing: the value goes on from one that the application has. */
  Nothing,
  /** After a word that the value begins with: prose begins so, too. */
  Word,
  /** After a quote that closes one that the application opened: the first, third, … of its kind. */
  OddQuote,
  /** After a quote that closes one of the value's own. */
  EvenQuote,
}

/**
 * Finds values that leave the literal they are pasted into. What follows a number or a closing quote in SQL is an
 * operator, a clause, a semicolon, a bracket or a comment, never a word: so prose fails at the first token. Each place
 * is tried on its own and costs a bounded number of tokens.
 */
export class SqlBreakout implements Detector {
  private readonly tokens: SqlTokens = new SqlTokens();
  private readonly operands: SqlOperands = new SqlOperands(this.tokens);
  private listener: DetectionListener | null = null;
  private anchor: Anchor = Anchor.Number;
  /** Whether the quote before the tokens is the first of its kind. */
  private isFirst = false;

  /** Tries the start of a value, and after every quote in it. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    this.listener = listener;
    this.tokens.open(value);
    this.tryStart();
    this.tryQuotes(value, Byte.Quote);
    this.tryQuotes(value, Byte.Apostrophe);
  }

  private tryStart(): void {
    const { tokens } = this;
    tokens.begin(0);
    let at = 0;
    while (isSign(tokens.kind(at))) at++;
    const kind = tokens.kind(at);
    if (kind === Sql.Select && at > 0) {
      if (this.operands.isQuery(at)) this.found(SQL_CONCATENATION, at);
      return;
    }
    // A formula of a spreadsheet begins with an equals sign.
    const isCompared = kind === Sql.Compare && this.isWordAt(at);
    const isLogic = kind === Sql.Logic && this.isWordAt(at);
    const isNothing = at === 0 && (isLogic || kind === Sql.Order || isCompared);
    this.anchor = kind === Sql.Number || kind === Sql.Constant ? Anchor.Number : Anchor.Word;
    if (isNothing) this.anchor = Anchor.Nothing;
    if (!isNothing && STARTS.includes(kind)) at++;
    this.tryContinuation(at);
    // (a)+0 AND 8=3
    while (tokens.kind(at) === Sql.Close) at++;
    const next = tokens.kind(at);
    if (!isNothing && (next === Sql.Arithmetic || next === Sql.Open)) this.tryContinuation(this.operands.skip(0));
  }

  private tryQuotes(value: ValueReading, quote: number): void {
    const { bytes, length } = value;
    let isOdd = false;
    const first = indexOfByte(bytes, quote, 0, length);
    for (let at = first; at < length; at = indexOfByte(bytes, quote, at + 1, length)) {
      this.isFirst = at === first;
      isOdd = !isOdd;
      if (value.steps.isSpent) return;
      if (CONTINUATION.isShut(bytes, at + 1)) continue;
      this.tokens.begin(at + 1);
      // A quote after a blank or a bracket begins a text of the value's own.
      const isBehindData = at === 0 || !BEFORE_TEXT.includes(bytes[at - 1]!);
      // \'': where a quote is escaped, the next one ends the text.
      const isBehindEscape = bytes[at - 1] === quote && bytes[at - 2] === Byte.Backslash;
      this.anchor = (isOdd && isBehindData) || isBehindEscape ? Anchor.OddQuote : Anchor.EvenQuote;
      this.tryContinuation(0);
    }
  }

  /** What is at token `first` must go on from a literal. */
  private tryContinuation(first: number): void {
    const { tokens } = this;
    let at = first;
    while (tokens.kind(at) === Sql.Close) at++;
    switch (tokens.kind(at)) {
      case Sql.Logic:
        if (this.isCondition(at + 1)) this.found(SQL_COMPARISON, at);
        break;
      case Sql.Having:
      case Sql.Where:
        if (this.isLeft(at + 1) && this.isCondition(at + 1)) this.found(SQL_COMPARISON, at);
        break;
      case Sql.Compare:
        if (this.anchor === Anchor.OddQuote && this.isCutComparison(at)) this.found(SQL_COMPARISON, at);
        else if (this.isQueryBehind(at)) this.found(SQL_CONCATENATION, at);
        break;
      case Sql.Arithmetic:
        if (this.isCallBehind(at) || this.isSum(at) || this.isCutSum(at) || this.isGluedSum(at))
          this.found(SQL_CONCATENATION, at);
        break;
      case Sql.Union:
        if (isUnion(tokens, at, this.anchor !== Anchor.Word)) this.found(SQL_UNION, at);
        break;
      case Sql.Semicolon:
        if (this.isSecond(first, at) && isStatement(tokens, this.behindSemicolons(at))) this.found(SQL_STATEMENT, at);
        else if (this.isCutOff(at + 1)) this.found(SQL_COMMENT, at);
        else if (this.anchor === Anchor.OddQuote && isScriptStatement(tokens, at + 1)) this.found(MONGO_OPERATOR, at);
        break;
      case Sql.Comment:
        if (this.isCutOff(at)) this.found(SQL_COMMENT, at);
        break;
      case Sql.Statement:
        // 21 UPDATE t SET a=1: SQL Server needs no semicolon.
        if (this.anchor === Anchor.Number && this.isUpdate(at)) this.found(SQL_STATEMENT, at);
        break;
      case Sql.Order:
      case Sql.Limit:
        if (this.isClause(at)) this.found(SQL_CLAUSE, at);
        break;
    }
  }

  private behindSemicolons(at: number): number {
    let next = at;
    while (this.tokens.kind(next) === Sql.Semicolon) next++;
    return next;
  }

  /** UPDATE t SET a = */
  private isUpdate(at: number): boolean {
    const { tokens } = this;
    return isStatement(tokens, at) && tokens.kind(at + 3) === Sql.Name && tokens.kind(at + 4) === Sql.Compare;
  }

  /** Whether a statement may follow the semicolon at `at`: not where a text begins with the end of one and goes on below. */
  private isSecond(first: number, at: number): boolean {
    if (this.anchor !== Anchor.Word || first > 0) return this.anchor !== Anchor.EvenQuote;
    return this.byteAt(this.tokens.to(at)) !== Byte.Lf && this.byteAt(this.tokens.to(at)) !== Byte.Cr;
  }

  /** Whether a condition that an attacker would write is at token `at`. */
  private isCondition(at: number): boolean {
    const { tokens } = this;
    const next = this.operands.skip(at);
    const left = this.operands.last;
    if (left === Operand.None) return false;
    if (left === Operand.Call) return this.anchor !== Anchor.Word && this.anchor !== Anchor.EvenQuote;
    const kind = tokens.kind(next);
    if (kind === Sql.Compare) return this.isComparison(left, next);
    if (left !== Operand.Literal || this.anchor === Anchor.Word || this.anchor === Anchor.EvenQuote) return false;
    if (kind === Sql.Comment) return true;
    if (kind === Sql.Semicolon) return isStatement(tokens, next + 1);
    if (this.anchor === Anchor.Number && kind === Sql.End) return this.isNegation(at);
    if (this.anchor !== Anchor.OddQuote) return false;
    if (kind === Sql.Logic) return this.isNumber(next - 1) || this.isJoined(at - 1, next);
    return kind === Sql.End && this.isTruth(next - 1);
  }

  /** 1 or not false, 1 or !0 */
  private isNegation(at: number): boolean {
    const { tokens } = this;
    if (tokens.kind(at) !== Sql.Prefix) return false;
    return tokens.kind(at + 1) === Sql.Constant || this.byteAt(tokens.from(at)) === Byte.Bang;
  }

  /** '||'x'||': a text put together with the application's own. */
  private isJoined(first: number, second: number): boolean {
    const { tokens } = this;
    const isBars = this.byteAt(tokens.from(first)) === Byte.Bar && this.byteAt(tokens.from(second)) === Byte.Bar;
    const isOpen = tokens.kind(second + 1) === Sql.OpenText && tokens.to(second + 1) - tokens.from(second + 1) === 1;
    return isBars && tokens.kind(second - 1) === Sql.Text && isOpen;
  }

  /** 2'-'1, 1'&'1'='1: a sum that is a number, where a text was due. */
  private isSum(at: number): boolean {
    const { tokens } = this;
    if (this.anchor !== Anchor.OddQuote) return false;
    let next = at + 1;
    while (tokens.kind(next) === Sql.Open) next++;
    const isText = tokens.kind(next) === Sql.Text || tokens.kind(next) === Sql.OpenText;
    if (!isText || !this.isNumberText(next)) return false;
    return tokens.kind(next + 1) === Sql.End || tokens.kind(next + 1) === Sql.Compare;
  }

  /** '*1--, '|1#: a sum that a comment ends. */
  private isCutSum(at: number): boolean {
    const { tokens } = this;
    const isSum = this.anchor === Anchor.OddQuote && tokens.kind(at + 1) === Sql.Number;
    return isSum && tokens.from(at) <= 1 && this.isCutOff(at + 2);
  }

  /** '-0-': a number between the halves of the application's own text. */
  private isGluedSum(at: number): boolean {
    const { tokens } = this;
    const isSum = this.anchor === Anchor.OddQuote && tokens.from(at) === 1 && tokens.kind(at + 1) === Sql.Number;
    if (!isSum || tokens.kind(at + 2) !== Sql.Arithmetic || tokens.kind(at + 3) !== Sql.OpenText) return false;
    return tokens.to(at + 3) - tokens.from(at + 3) === 1;
  }

  /** Whether a literal has been left: by a quote, or a number is, as the comparison at `next` shows. */
  private isLeft(next: number): boolean {
    const { tokens } = this;
    if (this.anchor !== Anchor.Number) return this.anchor === Anchor.OddQuote;
    return tokens.kind(next) === Sql.Number && tokens.kind(next + 1) === Sql.Compare;
  }

  private isComparison(left: Operand, at: number): boolean {
    const { tokens } = this;
    const isWord = tokens.to(at) - tokens.from(at) > 1 && this.isWordAt(at);
    if (isWord && !this.isWordComparison(at)) return false;
    this.operands.skip(at + 1);
    const right = this.operands.last;
    if (right === Operand.None) return false;
    if (right === Operand.Call) return this.anchor !== Anchor.EvenQuote;
    if (left === Operand.Literal && right === Operand.Literal) return true;
    // "a" = b is a condition in many a filter language, unless a quote has just been broken out of.
    return this.anchor === Anchor.OddQuote || (this.anchor === Anchor.Number && right === Operand.Literal);
  }

  /** Whether the operator at `at`, a word, has the operand after it that SQL wants and prose does not. */
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

  /** '=' and the like right after the quote: the other half of the comparison is cut off or goes on. */
  private isCutComparison(at: number): boolean {
    const { tokens } = this;
    const isGlued = tokens.from(at + 1) === tokens.to(at);
    if (this.isWordAt(at) && (isGlued || !this.isWordComparison(at))) return false;
    // "> and "< end and begin tags.
    const isOneMark = tokens.to(at) - tokens.from(at) === 1;
    if (isOneMark && this.byteAt(tokens.from(at)) !== Byte.Equals && !this.isNumber(at + 1)) return false;
    const next = this.operands.skip(at + 1);
    if (this.operands.last === Operand.None || this.operands.last === Operand.Name) return false;
    const kind = tokens.kind(next);
    // A' = 30 and B' = 60 is geometry.
    const isPrime = kind === Sql.Logic && !this.isWordAt(at) && this.byteAt(tokens.from(at) - 1) === Byte.Space;
    if (isPrime && tokens.kind(at + 1) === Sql.Number) return this.isCondition(next + 1);
    if (kind === Sql.Comment || kind === Sql.Logic) return true;
    const last = tokens.kind(next - 1);
    if (kind !== Sql.End || last !== Sql.OpenText) return kind === Sql.End && last === Sql.Text;
    // A lone quote: more after it is a string in a program, as in split('=').
    return this.isWordAt(at) || tokens.to(next - 1) - tokens.from(next - 1) === 1;
  }

  /** Whether a comparison has a query after it, or one in words a call. */
  private isQueryBehind(at: number): boolean {
    let next = at + 1;
    while (this.tokens.kind(next) === Sql.Open) next++;
    return (this.isWordAt(at) || this.tokens.kind(next) === Sql.Select) && this.isCallBehind(at);
  }

  /** Whether an operator has a call or a query after it. */
  private isCallBehind(at: number): boolean {
    if (this.anchor === Anchor.Word || this.anchor === Anchor.EvenQuote) return false;
    this.operands.skip(at + 1);
    return this.operands.last === Operand.Call;
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
    // A text such as `"ten" or so" -- fine`: a dash in prose.
    const isDash = !this.isFirst && this.byteAt(tokens.from(at) - 1) === Byte.Space;
    if ((isDash || this.isMeasure(at)) && !this.isBlankFrom(behind, 1)) return false;
    return (
      (next === 0 || next === Byte.Space || next === Byte.Dash || next === Byte.Plus) &&
      this.isBlankFrom(behind, MAX_TAIL)
    );
  }

  /** 5'10" -- a bit more: inches and feet after a number, and a dash. */
  private isMeasure(at: number): boolean {
    const quote = this.tokens.from(at) - 1;
    const isSpaced = this.byteAt(quote) === Byte.Space;
    const before = isSpaced ? quote - 2 : quote - 1;
    return isSpaced && before >= 0 && isDigit(this.byteAt(before));
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
    let next = this.operands.skip(at + (isOrder ? 2 : 1));
    if (this.operands.last === Operand.None) return false;
    while (tokens.kind(next) === Sql.Comma) next = this.operands.skip(next + 1);
    const kind = tokens.kind(next);
    if (kind === Sql.Comment || kind === Sql.Having || kind === Sql.Into) return true;
    if (this.anchor === Anchor.Nothing) return false;
    if (this.operands.last === Operand.Call) return true;
    return this.operands.last === Operand.Literal && isOrder && kind === Sql.End;
  }

  /** Whether token `at` is a number, true or a text that begins with a digit. */
  private isNumber(at: number): boolean {
    const { tokens } = this;
    const kind = tokens.kind(at);
    return kind === Sql.Number || kind === Sql.Constant || isDigit(this.byteAt(tokens.from(at) + 1));
  }

  /** Whether token `at` is a text of digits: "8 TRACK" is a name. */
  private isNumberText(at: number): boolean {
    const { tokens } = this;
    const to = tokens.to(at) - (tokens.kind(at) === Sql.Text ? 1 : 0);
    let end = tokens.from(at) + 1;
    while (end < to && (isDigit(this.byteAt(end)) || this.byteAt(end) === Byte.Dot)) end++;
    return end === to && end > tokens.from(at) + 1;
  }

  /** Whether token `at` is '1 and no more: the application's own quote comes after it. */
  private isTruth(at: number): boolean {
    const { tokens } = this;
    const isOneDigit = isDigit(this.byteAt(tokens.from(at) + 1)) && tokens.to(at) - tokens.from(at) === 2;
    return tokens.kind(at) === Sql.OpenText && isOneDigit;
  }

  private isWordAt(at: number): boolean {
    return isLowerLetter(this.byteAt(this.tokens.from(at)));
  }

  private byteAt(at: number): number {
    return this.tokens.byteAt(at);
  }

  private found(rule: WafRule, token: number): void {
    this.listener!.found(rule, this.tokens.from(token));
  }
}

/** Bytes that sqlmap and its kind put after a comment, so that two dashes are one in every database. */
const MAX_TAIL = 12;
/** What precedes a text in a program: blanks, ( [ { = , : + | & < > */
export const BEFORE_TEXT: readonly number[] = [
  0x20, 0x09, 0x0a, 0x0d, 0x28, 0x5b, 0x7b, 0x3d, 0x2c, 0x3a, 0x2b, 0x7c, 0x26, 0x3c, 0x3e,
];
/** Tokens that begin a value, and from which SQL goes on. */
const STARTS: readonly Sql[] = [Sql.Number, Sql.Constant, Sql.Name, Sql.Variable, Sql.Text, Sql.Function];
const LOWER_B = 0x62;
const LOWER_I = 0x69;
const LOWER_N = 0x6e;
