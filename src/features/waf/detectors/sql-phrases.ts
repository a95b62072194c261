import { Byte, EMPTY_BYTES, isDigit, isWhitespace } from "../../../core/bytes.ts";
import { isQuote, isWordByte, wordEnd } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordGate } from "../match/word-gate.ts";
import { WordSet } from "../match/word-set.ts";
import {
  CRITICAL_SCORE,
  type DetectionListener,
  type Detector,
  ERROR_SCORE,
  each,
  NOTICE_SCORE,
  type WafRule,
  words,
} from "../rule.ts";
import { SQL_COMPARISON, SQL_UNION } from "./sql-breakout.ts";
import { isConstantCase, isProcedure, isSelectOfTable, isUnion } from "./sql-grammar.ts";
import { SQL_WORDS, Sql, SqlTokens } from "./sql-tokens.ts";

/** Names of catalogs and of functions that no prose has, separated by blanks. */
const SQL_NAMES: string = [
  "information_schema pg_catalog pg_tables pg_shadow pg_user sqlite_master sqlite_schema sysobjects syscolumns",
  "sysdatabases all_tables user_tables all_tab_columns msysobjects pg_sleep extractvalue updatexml gtid_subset",
  "pg_read_file lo_import openrowset opendatasource query_to_xml st_latfromgeohash pg_ls_dir sys_eval sys_exec",
  "dbms_pipe dbms_lock utl_http utl_inaddr utl_smtp dbms_xmlgen dbms_ldap dbms_xmlquery drithsx outfile",
  "dumpfile load_file xp_cmdshell xp_dirtree xp_regread xp_fileexist sp_oacreate sp_executesql sp_configure",
  "sp_password randomblob generate_series load_extension syscat sysibm",
].join(" ");

const SQL_FUNCTION: WafRule = {
  id: "SQLI-005",
  crs: [942160, 942100, 942150, 942151, 942170, 942190, 942280],
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "time-based or error-based extraction, file access or command execution by a SQL function",
  keywords: [
    ...words(SQL_NAMES),
    ...["sleep(", "sleep (", "sleep/", "benchmark(", "benchmark (", "benchmark/", "waitfor d", "waitfor t", "waitfor/"],
    ...["current_setting(", "exec(@", "exec (@", "exec sp_", "exec xp_", "execute sp_", "execute xp_"],
  ],
};
const SQL_CATALOG: WafRule = {
  id: "SQLI-006",
  crs: [942140, 942100],
  category: "sqli",
  score: ERROR_SCORE,
  description: "system catalog or server variable, or a string built from character codes",
  keywords: ["@@", "chr(0", "char(0", "nchar(0", "concat(0", "_ws(0"],
};
const SQL_SELECT: WafRule = {
  id: "SQLI-007",
  crs: [942480, 942100],
  category: "sqli",
  score: NOTICE_SCORE,
  description: "SELECT … FROM a table",
  keywords: [...each("( * / + - @ ' ! ~ ` . % \\", (mark) => `select${mark}`), ...["select ", "(select"]],
};

/** The rules that are reported here alone. */
export const PHRASE_RULES: readonly WafRule[] = [SQL_FUNCTION, SQL_CATALOG, SQL_SELECT];

/** Finds what gives SQL away wherever it is in a value: functions, catalogs, UNION SELECT, SELECT … FROM. */
export class SqlPhrases implements Detector {
  private readonly tokens: SqlTokens = new SqlTokens();
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;
  private value: ValueReading | null = null;
  /** Where the name ends in which the last SELECT is: what follows is the same for all that are in it. */
  private selectTo = 0;
  private listener: DetectionListener | null = null;

  /** Looks at every word of the value once. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    const { bytes, length } = value;
    this.bytes = bytes;
    this.length = length;
    this.value = value;
    this.listener = listener;
    this.tokens.open(value);
    this.selectTo = 0;
    let at = 0;
    while (at < length) {
      if (!isWordByte(bytes[at]!)) {
        if (bytes[at] === Byte.At && bytes[at + 1] === Byte.At) this.judgeVariable(at);
        at++;
        continue;
      }
      const from = at;
      while (at < length && isWordByte(bytes[at]!)) at++;
      const phrase = PHRASE_GATE.isOpen(bytes, from) ? PHRASES.valueOf(bytes, from, at) : 0;
      if (phrase === 0) continue;
      if (!value.steps.take(STEPS)) return;
      this.judge(phrase, from, at);
    }
  }

  private judge(phrase: Phrase, from: number, to: number): void {
    switch (phrase) {
      case Phrase.Union:
        this.tokens.begin(from);
        if (isUnion(this.tokens, 0, this.isUnionAlone(from))) this.report(SQL_UNION, from);
        break;
      case Phrase.Select:
        if (from < this.selectTo) break;
        this.tokens.begin(from);
        if (isSelectOfTable(this.tokens, 1)) this.report(SQL_SELECT, from);
        this.selectTo = this.tokens.to(0);
        if (isConstantCase(this.tokens, 1)) this.report(SQL_COMPARISON, from);
        break;
      case Phrase.Case:
        this.tokens.begin(from);
        if (isConstantCase(this.tokens, 0)) this.report(SQL_COMPARISON, from);
        break;
      case Phrase.If:
        if ((from === 0 || this.isBehindMark(from)) && this.isConstantIf(to)) this.report(SQL_COMPARISON, from);
        break;
      case Phrase.Catalog:
        if (this.bytes[to] === Byte.Dot || this.isBehind(from, Sql.From) || this.isBehind(from, Sql.Into)) {
          this.report(SQL_CATALOG, from);
        }
        break;
      case Phrase.Builder:
        if (this.isBuilder(to)) this.report(SQL_CATALOG, from);
        break;
      default:
        if (this.isAttackCall(phrase, from, to)) this.report(SQL_FUNCTION, from);
    }
  }

  /** Whether a UNION is none of prose: UNION ALL that begins the value, one that a comment precedes. */
  private isUnionAlone(from: number): boolean {
    if (from === 0) return this.tokens.kind(1) === Sql.Quantity;
    return this.bytes[from - 1] === Byte.Slash && this.bytes[from - 2] === Byte.Star;
  }

  /** Whether a comma or a semicolon precedes. */
  private isBehindMark(from: number): boolean {
    const at = this.bytes[from - 1] === Byte.Space ? from - 2 : from - 1;
    return this.bytes[at] === Byte.Comma || this.bytes[at] === Byte.Semicolon;
  }

  /** if(1=1,id,price): a choice by literals, where a column is due. */
  private isConstantIf(open: number): boolean {
    this.tokens.begin(open);
    const { tokens } = this;
    if (tokens.kind(0) === Sql.Open && tokens.kind(1) === Sql.Select) return tokens.kind(2) !== Sql.End;
    if (tokens.kind(0) !== Sql.Open || tokens.kind(1) !== Sql.Number || tokens.kind(2) !== Sql.Compare) return false;
    const next = tokens.kind(4) === Sql.Close ? 5 : 4;
    return tokens.kind(3) === Sql.Number && tokens.kind(next) === Sql.Comma;
  }

  private isAttackCall(phrase: Phrase, from: number, to: number): boolean {
    const { bytes } = this;
    const open = this.skipGap(to);
    const inside = this.skipGap(open + 1);
    switch (phrase) {
      case Phrase.Call:
        return bytes[open] === Byte.OpenParen;
      case Phrase.Setting:
        return bytes[open] === Byte.OpenParen && isQuote(bytes[inside]!) && this.value!.isQueryLine();
      case Phrase.Run:
        return (
          (bytes[open] === Byte.OpenParen && bytes[inside] === Byte.At && this.value!.isQueryLine()) ||
          this.isProcedure(from)
        );
      case Phrase.Package:
        return bytes[to] === Byte.Dot && bytes[this.skipName(to)] === Byte.OpenParen;
      case Phrase.Sleep:
        return (
          bytes[open] === Byte.OpenParen &&
          (isDigit(bytes[inside]!) || bytes[inside] === Byte.OpenParen) &&
          this.isInSql(from, inside)
        );
      case Phrase.Repeat:
        return bytes[open] === Byte.OpenParen && this.isRepetition(inside);
      case Phrase.Delay:
        return this.isDelay(open);
      case Phrase.File:
        return this.isBehind(from, Sql.Into) && (isQuote(bytes[open]!) || isDigit(bytes[open]!) || this.isCallAt(open));
      case Phrase.LoadFile:
        return (
          bytes[open] === Byte.OpenParen &&
          (this.isInSql(from, inside) || isDigit(bytes[inside]!) || this.isPath(inside))
        );
      case Phrase.Procedure:
        return (
          this.isBehind(from, Sql.Statement) ||
          this.isBehindComment(from) ||
          bytes[from - 1] === Byte.Dot ||
          isQuote(bytes[open]!)
        );
      default:
        return false;
    }
  }

  /** benchmark(5000000,…, randomblob(500000000/2): a number that something follows, or one that no year is. */
  private isRepetition(from: number): boolean {
    let at = from;
    while (isDigit(this.bytes[at]!)) at++;
    return at - from > MAX_YEAR_DIGITS || (at - from > 2 && this.bytes[this.skipGap(at)] === Byte.Comma);
  }

  /** EXECUTE sp_add_job @name = 'x': a value that runs a procedure of the server's own. */
  private isProcedure(from: number): boolean {
    this.tokens.begin(from);
    return (
      from === 0 && this.value!.isQueryLine() && this.tokens.kind(2) === Sql.Variable && isProcedure(this.tokens, 1)
    );
  }

  /** substring('/tmp/x',1,6), with a bracket around it or without. */
  private isCallAt(at: number): boolean {
    const from = this.bytes[at] === Byte.OpenParen ? this.skipGap(at + 1) : at;
    const end = wordEnd(this.bytes, from);
    return SQL_WORDS.valueOf(this.bytes, from, end) === Sql.Function && this.bytes[end] === Byte.OpenParen;
  }

  /** -- sp_password: the word for which SQL Server keeps a statement out of its log. */
  private isBehindComment(from: number): boolean {
    const limit = Math.max(0, from - MAX_GAP_BYTES);
    for (let at = from - 1; at > limit; at--) {
      if (this.bytes[at] === Byte.Dash && this.bytes[at - 1] === Byte.Dash) return true;
    }
    return false;
  }

  /** Passes over a name with dots in it, MAX_NAME_BYTES at most, and white space. */
  private skipName(from: number): number {
    const limit = from + MAX_NAME_BYTES;
    let at = from;
    while (at < limit && (isWordByte(this.bytes[at]!) || this.bytes[at] === Byte.Dot)) at++;
    return this.skipGap(at);
  }

  /** waitfor delay '0:0:5' */
  private isDelay(at: number): boolean {
    const end = wordEnd(this.bytes, at);
    const quote = this.skipGap(end);
    return end > at && isQuote(this.bytes[quote]!) && isDigit(this.bytes[this.skipGap(quote + 1)]!);
  }

  /** char(65,66, chr(65)|| or concat(0x: strings that are put together so that no quote is needed. */
  private isBuilder(open: number): boolean {
    const { bytes } = this;
    if (bytes[open] !== Byte.OpenParen) return false;
    let at = this.skipGap(open + 1);
    if (bytes[at] === Byte.Zero && bytes[at + 1] === Byte.LowerX) return true;
    if (!isDigit(bytes[at]!)) return false;
    while (isDigit(bytes[at]!)) at++;
    at = this.skipGap(at);
    if (bytes[at] === Byte.Comma) return isDigit(bytes[this.skipGap(at + 1)]!) && bytes[at + 1] !== 0;
    at = this.skipGap(at + 1);
    return (bytes[at] === Byte.Bar && bytes[at + 1] === Byte.Bar) || bytes[at] === Byte.Plus;
  }

  private judgeVariable(at: number): void {
    const end = wordEnd(this.bytes, at + 2);
    if (VARIABLES.valueOf(this.bytes, at + 2, end) !== 0) this.report(SQL_CATALOG, at);
  }

  /** Whether a call at `from` is where only SQL would have it, and not as a statement of a program. */
  private isInSql(from: number, inside: number): boolean {
    const { bytes } = this;
    let at = from - 1;
    while (at >= 0 && (isWhitespace(bytes[at]!) || bytes[at] === Byte.OpenParen)) at--;
    if (at < 0) return this.isWholeCall(inside);
    const byte = bytes[at]!;
    if (isWordByte(byte)) {
      const word = this.wordBefore(at + 1);
      return word >= Sql.Logic && word !== Sql.Statement && word !== Sql.Function;
    }
    // <80g> sleep(1000): a sign of prose, the end of a tag or of a table's row.
    const isLoose = byte === Byte.Less || byte === Byte.Greater || (byte === Byte.Bar && bytes[at - 1] !== byte);
    if (isLoose && at < from - 1) return false;
    return IN_EXPRESSION.includes(byte);
  }

  /** Whether nothing but digits and brackets is from `at` on, up to a comment. */
  private isWholeCall(at: number): boolean {
    let end = at;
    while (isDigit(this.bytes[end]!) || this.bytes[end] === Byte.Dot) end++;
    // Programs sleep for milliseconds, databases for seconds.
    if (end - at > MAX_SECONDS_DIGITS || (this.bytes[end] !== Byte.CloseParen && this.bytes[at] !== Byte.OpenParen))
      return false;
    while (this.bytes[end] === Byte.CloseParen) end++;
    return end === this.length || this.bytes[end] === Byte.Hash || this.bytes[end] === Byte.Dash;
  }

  private isBehind(from: number, word: Sql): boolean {
    let at = from;
    while (at > 0 && isWhitespace(this.bytes[at - 1]!)) at--;
    return at < from && this.wordBefore(at) === word;
  }

  /** What SQL makes of the word that ends before `to`. */
  private wordBefore(to: number): Sql {
    let from = to;
    const limit = Math.max(0, to - MAX_WORD_BYTES);
    while (from > limit && isWordByte(this.bytes[from - 1]!)) from--;
    return SQL_WORDS.valueOf(this.bytes, from, to);
  }

  private isPath(at: number): boolean {
    const { bytes } = this;
    return isQuote(bytes[at]!) && (bytes[at + 1] === Byte.Slash || bytes[at + 2] === Byte.Colon);
  }

  /** Passes over white space and comments, some MAX_GAP_BYTES bytes. */
  private skipGap(from: number): number {
    const { bytes } = this;
    const limit = from + MAX_GAP_BYTES;
    let at = from;
    while (at < limit) {
      if (isWhitespace(bytes[at]!)) at++;
      else if (bytes[at] === Byte.Slash && bytes[at + 1] === Byte.Star) {
        at += 2;
        while (at < limit && !(bytes[at] === Byte.Star && bytes[at + 1] === Byte.Slash)) at++;
        at += 2;
      } else break;
    }
    return at;
  }

  private report(rule: WafRule, at: number): void {
    this.listener!.found(rule, at);
  }
}

/** What has to be seen around a word before it counts. */
const enum Phrase {
  Union = 1,
  Select,
  Case,
  If,
  Catalog,
  Builder,
  Call,
  /** A call that is given the name of a setting. */
  Setting,
  /** A call that is given a variable. */
  Run,
  Package,
  Sleep,
  Repeat,
  Delay,
  File,
  LoadFile,
  Procedure,
}

const PHRASE_WORDS: readonly (readonly [phrase: Phrase, words: string])[] = [
  [Phrase.Union, "union"],
  [Phrase.Select, "select"],
  [Phrase.Case, "case"],
  [Phrase.If, "if iif"],
  [Phrase.Catalog, "information_schema pg_catalog pg_tables pg_shadow pg_user sqlite_master sqlite_schema sysobjects"],
  [Phrase.Catalog, "syscolumns sysdatabases all_tables user_tables all_tab_columns msysobjects syscat sysibm"],
  [Phrase.Builder, "char chr nchar concat concat_ws unhex group_concat"],
  [Phrase.Call, "pg_sleep extractvalue updatexml gtid_subset pg_read_file lo_import openrowset opendatasource"],
  [Phrase.Call, "query_to_xml st_latfromgeohash pg_ls_dir sys_eval sys_exec load_extension"],
  [Phrase.Setting, "current_setting"],
  [Phrase.Run, "exec execute"],
  [Phrase.Package, "dbms_pipe dbms_lock utl_http utl_inaddr utl_smtp dbms_xmlgen dbms_ldap dbms_xmlquery drithsx"],
  [Phrase.Sleep, "sleep"],
  [Phrase.Repeat, "benchmark randomblob generate_series"],
  [Phrase.Delay, "waitfor"],
  [Phrase.File, "outfile dumpfile"],
  [Phrase.LoadFile, "load_file"],
  [
    Phrase.Procedure,
    "xp_cmdshell xp_dirtree xp_regread xp_fileexist sp_oacreate sp_executesql sp_configure sp_password",
  ],
];
const PHRASES: WordSet = new WordSet(PHRASE_WORDS);
const PHRASE_GATE: WordGate = new WordGate(PHRASE_WORDS.flatMap(([, all]) => all.split(" ")));
const VARIABLES: WordSet = new WordSet([
  [1, "version datadir hostname basedir version_compile_os servername language secure_file_priv global session spid"],
]);
/** What the detector reads around a word, but for its tokens. */
const STEPS = 128;
const MAX_WORD_BYTES = 12;
const MAX_GAP_BYTES = 32;
/** The longest procedures of packages have some 40. */
const MAX_NAME_BYTES = 64;
const MAX_SECONDS_DIGITS = 2;
const MAX_YEAR_DIGITS = 4;
/** What precedes a call within an expression: , | & - + * / ! ~ < > ^ */
const IN_EXPRESSION: readonly number[] = [0x2c, 0x7c, 0x26, 0x2d, 0x2b, 0x2a, 0x2f, 0x21, 0x7e, 0x3c, 0x3e, 0x5e];
