import { Byte } from "../../../core/ascii.ts";
import { WordSet } from "../match/word-set.ts";
import type { SqlTokens } from "./sql-tokens.ts";
import { Sql } from "./sql-words.ts";

/**
 * Whether a list of columns stands at token `at`, behind SELECT, that is none of prose: it begins with a literal, a
 * star, a variable or a call, or with a name that a comma follows or a table.
 */
export function isSelectList(tokens: SqlTokens, at: number): boolean {
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

/** Whether SELECT list FROM table stands at token `at`, behind SELECT; the list may be one name, but not two in a row. */
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

/** Whether CASE WHEN 1=1 stands at token `at`, behind SELECT: a question that no program asks. */
export function isConstantCase(tokens: SqlTokens, at: number): boolean {
  const kase = behindOpen(tokens, at);
  if (tokens.kind(kase) !== Sql.Case || tokens.kind(kase + 1) !== Sql.When) return false;
  const left = behindOpen(tokens, kase + 2);
  const isCompared = tokens.kind(left + 1) === Sql.Compare && tokens.kind(left + 2) === Sql.Number;
  return isCompared && tokens.kind(left) === Sql.Number;
}

function behindOpen(tokens: SqlTokens, at: number): number {
  let next = at;
  while (tokens.kind(next) === Sql.Open) next++;
  return next;
}

/**
 * Whether UNION [ALL] SELECT stands at token `at`, with a list behind it.
 * @param isAnchored whether prose is out of the question already
 */
export function isUnion(tokens: SqlTokens, at: number, isAnchored: boolean): boolean {
  let next = at + 1;
  while (tokens.kind(next) === Sql.Quantity || tokens.kind(next) === Sql.Open) next++;
  if (isAnchored && tokens.kind(next) === Sql.Comment) return isSelectInNextLine(tokens, tokens.to(next));
  if (isAnchored && tokens.kind(next + 1) === Sql.Open && isRowList(tokens, next)) return true;
  if (tokens.kind(next) !== Sql.Select) return false;
  return isAnchored ? tokens.kind(next + 1) !== Sql.End : isSelectList(tokens, next + 1);
}

/** length(user()): the call of a function that prose has none of. */
function isCallOfCall(tokens: SqlTokens, at: number): boolean {
  return tokens.kind(at + 1) === Sql.Open && tokens.kind(at + 2) === Sql.Function && tokens.kind(at + 3) === Sql.Open;
}

/** UNION -- ⟨line break⟩ SELECT: a comment where a blank would do. */
function isSelectInNextLine(tokens: SqlTokens, from: number): boolean {
  const { source } = tokens;
  let at = from;
  while (at < from + MAX_COMMENT && source[at] !== Byte.Lf && source[at] !== Byte.Nul) at++;
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

/** Whether a table's name, and nothing that prose would say next, stands at token `at`. */
function isTable(tokens: SqlTokens, at: number): boolean {
  const kind = tokens.kind(at);
  if (kind === Sql.Open) return tokens.kind(at + 1) === Sql.Select;
  if (kind !== Sql.Name && kind !== Sql.Text && kind !== Sql.Function) return false;
  const next = tokens.kind(at + 1);
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

function isEnd(kind: Sql): boolean {
  return kind === Sql.End || kind === Sql.Comment || kind === Sql.OpenText;
}

const SELECT: WordSet = new WordSet([[1, "select values"]]);
const MAX_COMMENT = 64;
