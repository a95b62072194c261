import { Byte } from "../../../core/ascii.ts";
import { WordSet } from "../match/word-set.ts";
import { isSelectList } from "./sql-select.ts";
import type { SqlTokens } from "./sql-tokens.ts";
import { Sql } from "./sql-words.ts";

/** Whether a whole statement begins at token `at`, and not just a word that could begin one. */
export function isStatement(tokens: SqlTokens, at: number): boolean {
  const kind = tokens.kind(at);
  if (kind === Sql.Select) return isSelectList(tokens, at + 1);
  if (kind === Sql.Shutdown) return isOver(tokens.kind(at + 1));
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
    case Form.Copy:
      return next === Sql.Open && tokens.kind(at + 2) === Sql.Select;
    default:
      return false;
  }
}

/** Whether "return true" or "while(1)" stands at token `at`: a program for a document database. */
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

/** What must stand behind the word that begins a statement. */
const enum Form {
  Object = 1,
  From,
  Update,
  Execute,
  Variable,
  Delay,
  Copy,
  /** Another statement. */
  Block,
}

/** exec sp_who, exec master..xp_cmdshell: a procedure of the server's own. */
function isProcedure(tokens: SqlTokens, at: number): boolean {
  if (tokens.kind(at) !== Sql.Name) return false;
  const { source } = tokens;
  const from = tokens.from(at);
  for (let i = from; i + 2 < tokens.to(at); i++) {
    const isFirst = i === from || source[i - 1] === DOT;
    if (
      isFirst &&
      (source[i] === Byte.LowerX || source[i] === LOWER_S) &&
      source[i + 1] === LOWER_P &&
      source[i + 2] === LOW
    )
      return true;
  }
  return false;
}

function isOver(kind: Sql): boolean {
  return kind === Sql.End || kind === Sql.Comment || kind === Sql.Semicolon;
}

const STATEMENTS: WordSet = new WordSet([
  [Form.Object, "drop create alter truncate"],
  [Form.From, "delete insert replace merge"],
  [Form.Update, "update"],
  [Form.Execute, "exec execute"],
  [Form.Variable, "declare set"],
  [Form.Delay, "waitfor"],
  [Form.Copy, "copy"],
  [Form.Block, "begin"],
]);
const OBJECTS: WordSet = new WordSet([
  [1, "table database schema view user users index procedure function trigger login role sequence temporary temp or"],
]);
const LOOP = 2;
const SCRIPT_WORDS: WordSet = new WordSet([
  [1, "return"],
  [LOOP, "while"],
]);
const DOT = 0x2e;
const LOW = 0x5f;
const LOWER_P = 0x70;
const LOWER_S = 0x73;
