import { Byte, indexOfByte, isLowerLetter } from "../../../core/bytes.ts";
import { SQL_SPACE, wordEnd } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordGate } from "../match/word-gate.ts";
import { WordSet } from "../match/word-set.ts";
import { words } from "../rule.ts";
import { SQL_WORDS, Sql, SqlTokens, sqlWords } from "./sql-tokens.ts";

/** What an expression has in it, a bit each. */
export const enum Seen {
  Logic = 1,
  Compare = 2,
  Arithmetic = 4,
  /** A name that is no call. */
  Name = 8,
  Bracket = 0x10,
  Comma = 0x20,
  /** A comparison of two constants. */
  Constants = 0x40,
  /** A call that asks who or what the database is: version(), @@version. */
  Server = 0x80,
  /** Such a call within another one of SQL's. */
  NestedServer = 0x100,
  Select = 0x200,
  From = 0x400,
  Case = 0x800,
  Variable = 0x1000,
  /** It ends where UNION or WHERE is to go on. */
  Dangling = 0x2000,
  /** It ends in a comment. */
  Cut = 0x4000,
  /** It ends in a text that is not closed. */
  OpenText = 0x8000,
  /** A comment within. */
  Comment = 0x10000,
  /** A number, a text, NULL. */
  Constant = 0x80000,
  /** A call of a name that SQL's functions do not have. */
  OwnCall = 0x20000,
  Union = 0x40000,
  /** It begins with AND, OR or HAVING. */
  Goes = 0x100000,
  /** AND or OR in letters. */
  Word = 0x200000,
  /** A call of one of SQL's functions. */
  Call = 0x400000,
  /** A query in brackets where an operator is due. */
  Query = 0x800000,
}

/**
 * Reads a value from some place to its end as one expression of SQL, a token after the other, and gives up at the first that SQL has not
 * there: two names side by side, as all prose has them, or an operator without its operand.
 */
export class SqlShape {
  /** What was seen: bits of Seen. */
  seen = 0;
  /** Operators between operands. */
  operators = 0;
  /** Where the open text or the comment at the end begins. */
  endFrom = 0;
  /** The offset after that mark. */
  endTo = 0;
  readonly tokens: SqlTokens = new SqlTokens();
  private length = 0;
  private at = 0;
  private wantsOperand = true;
  private last: Sql = Sql.End;
  private depth = 0;
  private constants = Sides.None;

  open(value: ValueReading): void {
    this.length = value.length;
    this.tokens.open(value);
  }

  /**
   * @param wantsOperand whether an operand comes first, or something after one
   * @returns whether all is SQL
   */
  read(from: number, wantsOperand: boolean): boolean {
    if (wantsOperand && beginsAsProse(this.tokens.source, from)) return false;
    this.seen = 0;
    this.operators = 0;
    this.wantsOperand = wantsOperand;
    this.last = Sql.End;
    this.depth = 0;
    this.constants = wantsOperand ? Sides.None : Sides.Left;
    this.begin(from);
    for (let count = 0; count < MAX_TOKENS; count++) {
      const kind = this.tokens.kind(this.at);
      if (kind === Sql.End) return count > 0 && this.isWhole();
      if (kind === Sql.Comment) {
        if (!this.skipComment()) return this.isWhole();
      } else if (!(this.wantsOperand ? this.takeOperand(kind) : this.takeOperator(kind))) return false;
      else this.step(kind);
    }
    return false;
  }

  private begin(from: number): void {
    this.tokens.begin(from);
    this.at = 0;
  }

  private step(kind: Sql): void {
    this.last = kind;
    if (++this.at > WINDOW) this.begin(this.tokens.to(this.at - 1));
  }

  /** Whether it may end here. */
  private isWhole(): boolean {
    if (!this.wantsOperand) return true;
    if (this.last !== Sql.Where && this.last !== Sql.Union && this.last !== Sql.Select) return false;
    this.seen |= Seen.Dangling;
    return true;
  }

  /** @returns whether there is more behind the comment */
  private skipComment(): boolean {
    const { tokens } = this;
    this.endFrom = tokens.from(this.at);
    const isLine = tokens.byteAt(this.endFrom) !== Byte.Slash;
    this.endTo = tokens.to(this.at) + (isLine ? 0 : 1);
    const end = isLine ? indexOfByte(tokens.source, Byte.Lf, this.endTo, this.length) : this.length;
    this.seen |= end < this.length ? Seen.Comment : Seen.Cut;
    if (end >= this.length) return false;
    this.begin(end + 1);
    return true;
  }

  private takeOperand(kind: Sql): boolean {
    const { tokens, at } = this;
    switch (kind) {
      case Sql.Number:
      case Sql.Constant:
        return this.operand(true);
      case Sql.Text:
        return !this.isBetweenQuotes(at) && this.operand(true);
      case Sql.OpenText:
        this.seen |= Seen.OpenText;
        this.endFrom = tokens.from(at);
        this.endTo = tokens.to(at);
        return tokens.to(at) === this.length && this.operand(true);
      case Sql.Variable:
        this.seen |= tokens.byteAt(tokens.from(at) + 1) === Byte.At ? Seen.Server | Seen.Variable : Seen.Variable;
        return this.operand(false);
      case Sql.Name:
      case Sql.Function:
        return this.takeName(kind);
      case Sql.Prefix:
      case Sql.Exists:
        return true;
      case Sql.Arithmetic:
        // A sign, or the star of count(*) and SELECT *.
        if (tokens.byteAt(tokens.from(at)) === Byte.Star) return this.isStarDue() && this.operand(false);
        return isSignByte(tokens.byteAt(tokens.from(at)));
      case Sql.Open:
        this.depth += tokens.to(at) - tokens.from(at);
        this.seen |= Seen.Bracket;
        return true;
      case Sql.Close:
        return false;
      case Sql.Select:
        this.seen |= Seen.Select;
        return this.last === Sql.End || this.last === Sql.Open || this.last === Sql.Union || this.last === Sql.Quantity;
      case Sql.Quantity:
        return this.last === Sql.Select || this.last === Sql.Union;
      case Sql.Case:
        return true;
      case Sql.When:
        this.seen |= Seen.Case;
        return this.last === Sql.Case;
      case Sql.Logic:
        this.seen |= Seen.Logic | Seen.Goes;
        return this.last === Sql.End;
      case Sql.Having:
        this.seen |= Seen.Goes;
        return this.last === Sql.End;
      case Sql.Compare:
        // SOUNDS LIKE
        return this.last === Sql.Compare && tokens.byteAt(tokens.from(at)) === LOWER_L;
      default:
        return false;
    }
  }

  /** Whether a text is what stands between two others that are quoted: "+" or "-". */
  private isBetweenQuotes(at: number): boolean {
    const { tokens } = this;
    const from = tokens.from(at) + 1;
    const to = tokens.to(at) - 1;
    return to - from > 2 && tokens.byteAt(from) === Byte.Space && tokens.byteAt(to - 1) === Byte.Space;
  }

  private isStarDue(): boolean {
    return this.last === Sql.Open || this.last === Sql.Select || this.last === Sql.Comma;
  }

  /** A name, or a call: the shape reads its brackets as they come. */
  private takeName(kind: Sql): boolean {
    const { tokens, at } = this;
    const open = at + 1;
    const isCall = tokens.kind(open) === Sql.Open && tokens.from(open) <= tokens.to(at) + 1;
    const word =
      tokens.byteAt(tokens.from(at)) === 0 ? 0 : NAMES.valueOf(tokens.source, tokens.from(at), tokens.to(at));
    if (!isCall) {
      if (word === Known.Unknown) return this.operand(true);
      this.seen |= Seen.Name;
      return this.operand(false);
    }
    const isKnown = kind === Sql.Function || word === Known.Call;
    if (isKnown) this.seen |= Seen.Call;
    if (!isKnown && word !== Known.Server) {
      this.seen |= Seen.OwnCall;
      this.constants = Sides.Name;
    }
    const width = tokens.to(open) - tokens.from(open);
    // version(), of which nothing is asked.
    if (width === 1 && tokens.kind(open + 1) === Sql.Close) {
      if (word === Known.Server) this.seen |= this.depth > 0 ? Seen.Server | Seen.NestedServer : Seen.Server;
      this.at = open + 1;
      this.depth -= tokens.to(this.at) - tokens.from(this.at) - 1;
      return this.operand(isKnown);
    }
    return true;
  }

  private operand(isConstant: boolean): boolean {
    this.wantsOperand = false;
    if (isConstant) this.seen |= Seen.Constant;
    if (!isConstant) this.constants = Sides.Name;
    else if (this.constants === Sides.None) this.constants = Sides.Left;
    else if (this.constants === Sides.Compared) this.constants = Sides.Both;
    if (this.constants === Sides.Both) this.seen |= Seen.Constants;
    return true;
  }

  private takeOperator(kind: Sql): boolean {
    const { tokens, at } = this;
    switch (kind) {
      case Sql.Arithmetic:
        this.seen |= Seen.Arithmetic;
        return this.operator();
      case Sql.Compare:
        this.seen |= Seen.Compare;
        // 5 > 3 is what people write.
        this.constants = this.constants === Sides.Left && this.isEquality(at) ? Sides.Compared : Sides.Name;
        return this.operator();
      case Sql.Logic:
        this.seen |= isLowerLetter(tokens.byteAt(tokens.from(at))) ? Seen.Logic | Seen.Word : Seen.Logic;
        this.constants = Sides.None;
        return this.operator();
      case Sql.Prefix:
        // NOT LIKE, NOT IN; a text that is not closed has its operator.
        return tokens.kind(at + 1) === Sql.Compare;
      case Sql.Close:
        this.depth -= tokens.to(at) - tokens.from(at);
        return true;
      case Sql.Open:
        if (tokens.kind(at + 1) !== Sql.Select) return false;
        this.depth += tokens.to(at) - tokens.from(at);
        return this.clause(Seen.Query);
      case Sql.OpenText:
        return this.last === Sql.Close && this.takeOperand(kind);
      case Sql.Comma:
        return tokens.to(at) - tokens.from(at) === 1 && this.clause(Seen.Comma, Sides.Name);
      case Sql.Union:
        return this.clause(Seen.Union);
      case Sql.From:
        return this.clause(Seen.From);
      case Sql.When:
        return this.clause(Seen.Case);
      case Sql.Where:
      case Sql.Having:
      case Sql.Limit:
      case Sql.Into:
        return this.clause(0);
      case Sql.Order:
        return tokens.kind(at + 1) === Sql.By;
      case Sql.By:
        return this.clause(0);
      case Sql.Name:
        return this.takeGlue();
      default:
        return false;
    }
  }

  private isEquality(at: number): boolean {
    const { tokens } = this;
    const first = tokens.byteAt(tokens.from(at));
    if (first !== Byte.Less) return first !== Byte.Greater;
    return tokens.byteAt(tokens.to(at) - 1) === Byte.Greater;
  }

  private operator(): boolean {
    this.operators++;
    this.wantsOperand = true;
    return true;
  }

  private clause(seen: number, constants: Sides = Sides.None): boolean {
    this.seen |= seen;
    this.constants = constants;
    this.wantsOperand = true;
    return true;
  }

  /** AS, THEN, ASC; the new name of a table. */
  private takeGlue(): boolean {
    const { tokens, at } = this;
    switch (NAMES.valueOf(tokens.source, tokens.from(at), tokens.to(at))) {
      case Known.Glue:
        return this.clause(0);
      case Known.End:
        return true;
      default:
        return (this.seen & Seen.From) !== 0 && (this.last === Sql.Name || this.last === Sql.Close);
    }
  }
}

/** Whether a name is at `from` and another word than SQL has behind one: nearly all prose, told before a token is read. */
function beginsAsProse(bytes: Uint8Array, from: number): boolean {
  if (!isLowerLetter(bytes[from]!)) return false;
  const end = wordEnd(bytes, from);
  return SQL_SPACE[bytes[end]!] === 1 && BEHIND_NAME.isShut(bytes, end) && SQL_WORDS.valueOf(bytes, from, end) === 0;
}

function isSignByte(byte: number): boolean {
  return byte === Byte.Plus || byte === Byte.Dash;
}

/** The known facts of the operands around a comparison. */
const enum Sides {
  None = 0,
  /** The one on the left is a constant. */
  Left,
  Compared,
  Both,
  /** One of them is none. */
  Name,
}

const enum Known {
  /** Between two operands, as operators are. */
  Glue = 1,
  /** After an operand. */
  End,
  Unknown,
  /** Asks who or what the database is. */
  Server,
  Call,
}

const GLUE = "as then else for join using outfile dumpfile";
const ENDS = "end asc desc";
const NAMES: WordSet = new WordSet([
  [Known.Glue, GLUE],
  [Known.End, ENDS],
  [Known.Unknown, "unknown"],
  [Known.Server, "version user current_user session_user system_user database schema connection_id"],
  [Known.Call, "count sum min max avg pi sin cos tan abs md5 sha1 sha lower upper length conv hex compress uncompress"],
  [Known.Call, "isnull lpad rpad left right trim reverse coercibility collation charset round floor ceiling sqrt"],
]);
/** The words that `takeOperator` takes. */
const BEHIND_NAME: WordGate = new WordGate([
  ...sqlWords([Sql.Logic, Sql.Compare, Sql.Arithmetic, Sql.Prefix, Sql.Union, Sql.From, Sql.When, Sql.Where]),
  ...sqlWords([Sql.Having, Sql.Limit, Sql.Into, Sql.Order, Sql.By]),
  ...words(`${GLUE} ${ENDS}`),
]);
/** Tokens that are read before those that have been examined are let go. */
const WINDOW = 16;
/** Longer expressions are programs. */
const MAX_TOKENS = 160;
const LOWER_L = 0x6c;
