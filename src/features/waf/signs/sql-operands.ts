import { isSelectList, isSelectOfTable } from "./sql-select.ts";
import type { SqlTokens } from "./sql-tokens.ts";
import { Sql } from "./sql-words.ts";

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
   * Passes over an operand with signs, brackets and arithmetic; its kind stands in `last` then.
   * @returns the index of the token behind it
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
      while (tokens.kind(at) === Sql.Close) at++;
      if (tokens.kind(at) !== Sql.Arithmetic) break;
      at++;
    }
    this.last = kind;
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
        return this.isCallOf(at) ? Operand.Call : Operand.Name;
      case Sql.Select:
        return this.isQuery(at) ? Operand.Call : Operand.None;
      case Sql.Exists:
        return tokens.kind(at + 1) === Sql.Open ? Operand.Call : Operand.None;
      case Sql.Case:
        return tokens.kind(at + 1) === Sql.When ? Operand.Call : Operand.None;
      case Sql.Statement:
        // if(…): the function of that name; programs put a blank behind it.
        return this.isCallOf(at) && tokens.to(at) - tokens.from(at) === 2 ? Operand.Call : Operand.None;
      default:
        return Operand.None;
    }
  }

  /** Whether a bracket stands right behind the name at `at`: "length (cm)" is prose. */
  private isCallOf(at: number): boolean {
    return this.tokens.kind(at + 1) === Sql.Open && this.tokens.from(at + 1) === this.tokens.to(at);
  }

  /** Whether (SELECT … stands before and behind token `at`, and is none of prose. */
  isQuery(at: number): boolean {
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
}

/** Whether a token may stand before an operand. */
export function isSign(kind: Sql): boolean {
  return kind === Sql.Prefix || kind === Sql.Open || kind === Sql.Arithmetic;
}
