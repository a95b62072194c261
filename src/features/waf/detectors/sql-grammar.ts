import { Byte } from "../../../core/bytes.ts";
import { WordSet } from "../match/word-set.ts";
import { Sql, type SqlTokens } from "./sql-tokens.ts";

/** What kind of thing an operand is. */
export const enum Operand {
  None = 0,
  Literal,
  Name,
  /** A call of one of SQL's functions, a query, a CASE. */
  Call,
}

/** Reads the operands of conditions. */
export class SqlOperands {
  /** The kind of the operand that was read last. */
  last: Operand = Operand.None;
  private readonly tokens: SqlTokens;

  constructor(tokens: SqlTokens) {
    this.tokens = tokens;
  }

  /**
   * Passes over an operand with signs, brackets and arithmetic; its kind is in `last` then.
   * @returns the index of the token after it
   */
  skip(first: number): number {
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
      if (this.isCast(at)) at += 2;
      while (tokens.kind(at) === Sql.Close) at++;
      if (tokens.kind(at) !== Sql.Arithmetic) break;
      at++;
    }
    this.last = kind;
    return at;
  }

  /** '{}'::jsonb */
  private isCast(at: number): boolean {
    const { tokens } = this;
    const isMark = tokens.kind(at) === Sql.Other && tokens.to(at) - tokens.from(at) === 2;
    return isMark && tokens.byteAt(tokens.from(at)) === Byte.Colon && tokens.kind(at + 1) === Sql.Name;
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
        // @@version: the server's own.
        return tokens.byteAt(tokens.from(at) + 1) === Byte.At ? Operand.Call : Operand.Name;
      case Sql.Name:
        return Operand.Name;
      case Sql.Function:
        return this.isCallOf(at) ? Operand.Call : Operand.Name;
      case Sql.Select:
        return this.isQuery(at) ? Operand.Call : Operand.None;
      case Sql.Exists:
        return tokens.kind(at + 1) === Sql.Open ? Operand.Call : Operand.None;
      case Sql.Case:
        return tokens.kind(at + 1) === Sql.When ? Operand.Call : Operand.None;
      case Sql.Statement:
        // if(…): the function of that name; programs put a blank after it.
        return this.isCallOf(at) && tokens.to(at) - tokens.from(at) === 2 ? Operand.Call : Operand.None;
      default:
        return Operand.None;
    }
  }

  /** Whether a bracket is right after the name at `at`: "length (cm)" is prose. */
  private isCallOf(at: number): boolean {
    return this.tokens.kind(at + 1) === Sql.Open && this.tokens.from(at + 1) === this.tokens.to(at);
  }

  /** Whether a bracket precedes the SELECT at token `at`, and what follows it is none of prose. */
  isQuery(at: number): boolean {
    const { tokens } = this;
    if (tokens.kind(at - 1) !== Sql.Open) return false;
    return isSelectList(tokens, at + 1) || isSelectOfTable(tokens, at + 1);
  }

  /** @returns the index after the bracket that closes the one at `at`, or that of the last token that is read */
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
}

/** Whether a token may stand before an operand. */
export function isSign(kind: Sql): boolean {
  return kind === Sql.Prefix || kind === Sql.Open || kind === Sql.Arithmetic;
}

/**
 * Whether a list of columns is at token `at`, after SELECT, that is none of prose: it begins with a literal, a
 * star, a variable or a call, or with a name that a comma follows or a table.
 */
function isSelectList(tokens: SqlTokens, at: number): boolean {
  let first = at;
  while (tokens.kind(first) === Sql.Quantity || tokens.kind(first) === Sql.Open) first++;
  const second = tokens.kind(first + 1);
  switch (tokens.kind(first)) {
    case Sql.Number:
    case Sql.Text:
    case Sql.OpenText:
    case Sql.Constant:
      return isBehindLiteral(second);
    case Sql.Variable:
    case Sql.Arithmetic:
      return true;
    case Sql.Function:
      return second === Sql.Open || isNameInList(tokens, first);
    case Sql.Name:
      return isNameInList(tokens, first) || isCallOfCall(tokens, first);
    case Sql.Select:
      return true;
    case Sql.Case:
      return second === Sql.When;
    default:
      return false;
  }
}

function isBehindLiteral(kind: Sql): boolean {
  const goesOn = kind === Sql.Comma || kind === Sql.From || kind === Sql.Logic || kind === Sql.Arithmetic;
  return goesOn || isEnd(kind) || kind === Sql.Close;
}

/** Whether SELECT list FROM table is at token `at`, after SELECT; the list may be one name, but not two in a row. */
export function isSelectOfTable(tokens: SqlTokens, at: number): boolean {
  for (let next = at; tokens.kind(next) !== Sql.End; next++) {
    const kind = tokens.kind(next);
    if (kind === Sql.From) return next > at && isTable(tokens, next + 1);
    // Not in a list of columns; a query within is found on its own.
    if (kind === Sql.Select || kind === Sql.Union || kind === Sql.Where || kind === Sql.Semicolon) return false;
    const isWord = kind === Sql.Name || kind === Sql.Other || kind === Sql.Statement;
    if (isWord && next > at && tokens.kind(next - 1) === Sql.Name) return false;
  }
  return false;
}

/** Whether CASE WHEN 1=1, or one with a query for its question, is at token `at`, after SELECT: none that a program asks. */
export function isConstantCase(tokens: SqlTokens, at: number): boolean {
  const kase = behindOpen(tokens, at);
  if (tokens.kind(kase) !== Sql.Case || tokens.kind(kase + 1) !== Sql.When) return false;
  const left = behindOpen(tokens, kase + 2);
  if (tokens.kind(left) === Sql.Select && left > kase + 2) return isSelectList(tokens, left + 1);
  const isCompared = tokens.kind(left + 1) === Sql.Compare && tokens.kind(left + 2) === Sql.Number;
  return isCompared && tokens.kind(left) === Sql.Number;
}

function behindOpen(tokens: SqlTokens, at: number): number {
  let next = at;
  while (tokens.kind(next) === Sql.Open) next++;
  return next;
}

/**
 * Whether UNION [ALL] SELECT is at token `at`, with a list after it.
 * @param isAnchored whether prose is out of the question already
 */
export function isUnion(tokens: SqlTokens, at: number, isAnchored: boolean): boolean {
  let next = at + 1;
  while (tokens.kind(next) === Sql.Quantity || tokens.kind(next) === Sql.Open) next++;
  if (isAnchored && tokens.kind(next) === Sql.Comment) return isSelectInNextLine(tokens, tokens.to(next));
  // UNION VALUES(1,2), UNION VALUES ROW(1,2)
  const open = tokens.kind(next + 1) === Sql.Open ? next + 1 : next + 2;
  if (isAnchored && tokens.kind(open) === Sql.Open && isRowList(tokens, next)) return true;
  if (tokens.kind(next) !== Sql.Select) return false;
  return isAnchored ? tokens.kind(next + 1) !== Sql.End : isSelectList(tokens, next + 1);
}

/** length(user()): the call of a function that prose has none of. */
function isCallOfCall(tokens: SqlTokens, at: number): boolean {
  const inner = tokens.kind(at + 2);
  const isName = inner === Sql.Function || inner === Sql.Name;
  return tokens.kind(at + 1) === Sql.Open && isName && tokens.kind(at + 3) === Sql.Open;
}

/** UNION -- ⟨line break⟩ SELECT: a comment where a blank would do. */
function isSelectInNextLine(tokens: SqlTokens, from: number): boolean {
  const { source } = tokens;
  let at = from;
  while (at < from + MAX_COMMENT_BYTES && source[at] !== Byte.Lf && source[at] !== Byte.Nul) at++;
  while (source[at] !== Byte.Nul && source[at]! <= Byte.Space) at++;
  return SELECT.valueOf(source, at, at + 6) !== 0;
}

/** UNION VALUES(1,2) */
function isRowList(tokens: SqlTokens, at: number): boolean {
  return SELECT.valueOf(tokens.source, tokens.from(at), tokens.to(at)) !== 0;
}

function isNameInList(tokens: SqlTokens, at: number): boolean {
  const second = tokens.kind(at + 1);
  if (second === Sql.From) return isTable(tokens, at + 2);
  if (second !== Sql.Comma) return false;
  const third = tokens.kind(at + 2);
  const isColumn = third === Sql.Name || third === Sql.Number || third === Sql.Function || third === Sql.Constant;
  // "select a, b or c" is prose, "select a,b from" is not.
  const fourth = tokens.kind(at + 3);
  return isColumn && (fourth === Sql.Comma || fourth === Sql.Open || (fourth === Sql.From && isTable(tokens, at + 4)));
}

/** Whether a table's name, and nothing that prose would say next, is at token `at`. */
function isTable(tokens: SqlTokens, at: number): boolean {
  const kind = tokens.kind(at);
  if (kind === Sql.Open) return tokens.kind(at + 1) === Sql.Select;
  if (kind !== Sql.Name && kind !== Sql.Text && kind !== Sql.Function) return false;
  const next = tokens.kind(behindAlias(tokens, at + 1));
  switch (next) {
    case Sql.Where:
    case Sql.Close:
    case Sql.Comma:
    case Sql.Order:
    case Sql.Limit:
    case Sql.Union:
    case Sql.Semicolon:
    case Sql.Having:
    case Sql.Into:
      return true;
    default:
      return isEnd(next);
  }
}

/** The index after AS and a new name, in a list of tables: prose has no commas behind two names in a row. */
function behindAlias(tokens: SqlTokens, at: number): number {
  if (tokens.kind(at) !== Sql.Name) return at;
  const isAs = ALIAS.valueOf(tokens.source, tokens.from(at), tokens.to(at)) !== 0;
  const behind = isAs && tokens.kind(at + 1) === Sql.Name ? at + 2 : at + 1;
  return tokens.kind(behind) === Sql.Comma ? behind : at;
}

function isEnd(kind: Sql): boolean {
  return kind === Sql.End || kind === Sql.Comment || kind === Sql.OpenText;
}

/** Whether a whole statement begins at token `at`, and not just a word that could begin one. */
export function isStatement(tokens: SqlTokens, at: number): boolean {
  const kind = tokens.kind(at);
  if (kind === Sql.Select) return isSelectList(tokens, at + 1);
  if (kind === Sql.Shutdown)
    return isOver(tokens.kind(at + 1)) || ENDS.valueOf(tokens.source, tokens.from(at + 1), tokens.to(at + 1)) !== 0;
  if (kind !== Sql.Statement) return false;
  const next = tokens.kind(at + 1);
  switch (STATEMENTS.valueOf(tokens.source, tokens.from(at), tokens.to(at))) {
    case Form.Object:
      return OBJECTS.valueOf(tokens.source, tokens.from(at + 1), tokens.to(at + 1)) !== 0;
    case Form.From:
      return next === Sql.From || next === Sql.Into;
    case Form.Update:
      return next === Sql.Name && tokens.kind(at + 2) === Sql.Statement;
    case Form.Execute:
      return next === Sql.Text || next === Sql.Open || next === Sql.Variable || isProcedure(tokens, at + 1);
    case Form.Variable:
      return next === Sql.Variable;
    case Form.Delay:
      return tokens.kind(at + 2) === Sql.Text || tokens.kind(at + 2) === Sql.OpenText;
    case Form.Block:
      return isStatement(tokens, at + 1);
    case Form.Handler:
      return next === Sql.Name && isOver(tokens.kind(at + 3)) && isOpen(tokens, at + 2);
    case Form.Load:
      return LOADED.valueOf(tokens.source, tokens.from(at + 1), tokens.to(at + 1)) !== 0 && next === Sql.Name;
    case Form.Condition:
      return isComparedNumber(tokens, at + 1) && isStatement(tokens, at + 4);
    case Form.Copy:
      return next === Sql.Open && tokens.kind(at + 2) === Sql.Select;
    default:
      return false;
  }
}

function isComparedNumber(tokens: SqlTokens, at: number): boolean {
  return tokens.kind(at) === Sql.Number && tokens.kind(at + 1) === Sql.Compare && tokens.kind(at + 2) === Sql.Number;
}

/** Whether "return true" or "while(1)" is at token `at`: a program for a document database. */
export function isScriptStatement(tokens: SqlTokens, at: number): boolean {
  const word = SCRIPT_WORDS.valueOf(tokens.source, tokens.from(at), tokens.to(at));
  if (tokens.kind(at) === Sql.End || word === 0) return false;
  const isOpen = tokens.kind(at + 1) === Sql.Open;
  if (word === LOOP && !isOpen) return false;
  const value = tokens.kind(isOpen ? at + 2 : at + 1);
  if (value !== Sql.Constant && value !== Sql.Number) return false;
  const next = tokens.kind(isOpen ? at + 3 : at + 2);
  return isOver(next) || next === Sql.Close || next === Sql.Other || next === Sql.Arithmetic;
}

/** What must follow the word that begins a statement. */
const enum Form {
  Object = 1,
  From,
  Update,
  Execute,
  Variable,
  Delay,
  Copy,
  /** A table, and "open", and no more. */
  Handler,
  /** Another statement. */
  Block,
  /** DATA or XML, from a file. */
  Load,
  /** A comparison of numbers, and a statement. */
  Condition,
}

/** exec sp_who, exec master..xp_cmdshell: a procedure of the server's own. */
export function isProcedure(tokens: SqlTokens, at: number): boolean {
  if (tokens.kind(at) !== Sql.Name) return false;
  const { source } = tokens;
  const from = tokens.from(at);
  for (let i = from; i + 2 < tokens.to(at); i++) {
    const isFirst = i === from || source[i - 1] === Byte.Dot;
    if (
      isFirst &&
      (source[i] === Byte.LowerX || source[i] === LOWER_S) &&
      source[i + 1] === LOWER_P &&
      source[i + 2] === Byte.Underscore
    )
      return true;
  }
  return false;
}

function isOpen(tokens: SqlTokens, at: number): boolean {
  return HANDLED.valueOf(tokens.source, tokens.from(at), tokens.to(at)) !== 0;
}

function isOver(kind: Sql): boolean {
  return kind === Sql.End || kind === Sql.Comment || kind === Sql.Semicolon;
}

const SELECT: WordSet = new WordSet([[1, "select values"]]);
const MAX_COMMENT_BYTES = 64;
const STATEMENTS: WordSet = new WordSet([
  [Form.Object, "drop create alter truncate"],
  [Form.From, "delete insert replace merge"],
  [Form.Update, "update"],
  [Form.Execute, "exec execute"],
  [Form.Variable, "declare set"],
  [Form.Delay, "waitfor"],
  [Form.Copy, "copy"],
  [Form.Handler, "handler"],
  [Form.Block, "begin"],
  [Form.Load, "load"],
  [Form.Condition, "if"],
]);
const OBJECTS: WordSet = new WordSet([
  [1, "table database schema view user users index procedure function trigger login role sequence temporary temp or"],
]);
const ALIAS: WordSet = new WordSet([[1, "as"]]);
const LOADED: WordSet = new WordSet([[1, "data xml"]]);
const ENDS: WordSet = new WordSet([[1, "end"]]);
const HANDLED: WordSet = new WordSet([[1, "open"]]);
const LOOP = 2;
const SCRIPT_WORDS: WordSet = new WordSet([
  [1, "return"],
  [LOOP, "while"],
]);
const LOWER_P = 0x70;
const LOWER_S = 0x73;
