import { CRITICAL_SCORE, ERROR_SCORE, each, NOTICE_SCORE, type WafRule, words } from "../rule.ts";
import { SQL_FUNCTIONS } from "./sql-tokens.ts";

/** Names of catalogs and of functions that no prose has, separated by blanks. */
const SQL_NAMES: string = [
  "information_schema pg_catalog pg_tables pg_shadow pg_user sqlite_master sqlite_schema sysobjects syscolumns",
  "sysdatabases all_tables user_tables all_tab_columns msysobjects pg_sleep extractvalue updatexml gtid_subset",
  "pg_read_file lo_import openrowset opendatasource query_to_xml st_latfromgeohash pg_ls_dir sys_eval sys_exec",
  "dbms_pipe dbms_lock utl_http utl_inaddr utl_smtp dbms_xmlgen dbms_ldap dbms_xmlquery drithsx outfile",
  "dumpfile load_file xp_cmdshell xp_dirtree xp_regread xp_fileexist sp_oacreate sp_executesql sp_configure",
  "sp_password randomblob generate_series load_extension",
].join(" ");

export const SQL_UNION: WafRule = {
  id: "SQLI-001",
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
export const SQL_COMMENT: WafRule = {
  id: "SQLI-003",
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "comment after a quote, which truncates the statement",
};
export const SQL_STATEMENT: WafRule = {
  id: "SQLI-004",
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "stacked query after a semicolon",
  keywords: [
    ...each(
      "drop delete insert update create alter truncate exec declare set waitfor select shutdown merge replace",
      (word) => [`;${word}`, `; ${word}`],
    ),
    ...[";  ", ";/*", "; /*", "copy (", "copy("],
  ],
};
export const SQL_FUNCTION: WafRule = {
  id: "SQLI-005",
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "time-based or error-based extraction, file access or command execution by a SQL function",
  keywords: [
    ...words(SQL_NAMES),
    ...["sleep(", "sleep (", "sleep/", "benchmark(", "benchmark (", "benchmark/", "waitfor d", "waitfor t", "waitfor/"],
  ],
};
export const SQL_CATALOG: WafRule = {
  id: "SQLI-006",
  category: "sqli",
  score: ERROR_SCORE,
  description: "system catalog or server variable, or a string built from character codes",
  keywords: ["@@", "chr(0", "char(0", "nchar(0", "concat(0", "_ws(0"],
};
export const SQL_SELECT: WafRule = {
  id: "SQLI-007",
  category: "sqli",
  score: NOTICE_SCORE,
  description: "SELECT … FROM a table",
  keywords: [...each("( * / + - @ ' ! ~ ` . % \\", (mark) => `select${mark}`), ...["select ", "(select"]],
};
export const SQL_CLAUSE: WafRule = {
  id: "SQLI-008",
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "ORDER BY, GROUP BY or LIMIT after a literal, which probes the column count",
  keywords: ["order by 0", "group by 0", "order/", "group/", "order by (", "group by (", "limit 0,", "analyse("],
};
export const SQL_CONCATENATION: WafRule = {
  id: "SQLI-009",
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "subquery or function call joined to a literal by an operator",
  keywords: ["exp(~", ...each(SQL_FUNCTIONS, (name) => `${name}(`)],
};

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
