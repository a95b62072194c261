import { WordSet } from "../match/word-set.ts";

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

/** Functions that attacks call, separated by blanks. */
export const SQL_FUNCTIONS: string = [
  "sleep benchmark pg_sleep ascii ord substring substr mid char_length concat concat_ws group_concat char chr",
  "unhex load_file extractvalue updatexml user current_user session_user system_user database schema version",
  "ifnull iif nullif exp row elt make_set cast convert json_keys randomblob sqlite_version row_count gtid_subset",
  "st_latfromgeohash pg_read_file lo_import query_to_xml dbms_pipe.receive_message dbms_lock.sleep",
  "utl_http.request utl_inaddr.get_host_address utl_inaddr.get_host_name dbms_xmlgen.getxml ctxsys.drithsx.sn",
  "openrowset opendatasource",
].join(" ");

/** The words that SQL knows, as far as attacks use them. */
export const SQL_WORDS: WordSet = new WordSet([
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
]);
