import { CRITICAL_SCORE, ERROR_SCORE, NOTICE_SCORE } from "../waf-rule.ts";
import { Sign } from "./sign.ts";
import type { ValueRule } from "./value-rule.ts";

/** SQL, and queries of document databases, in values. */
export const SQLI_RULES: readonly ValueRule[] = [
  {
    id: "SQLI-001",
    category: "sqli",
    score: CRITICAL_SCORE,
    description: "UNION SELECT behind a value, or with a list of columns",
    sign: Sign.SqlUnion,
  },
  {
    id: "SQLI-002",
    category: "sqli",
    score: CRITICAL_SCORE,
    description: "a condition behind a literal that the value leaves",
    sign: Sign.SqlComparison,
  },
  {
    id: "SQLI-003",
    category: "sqli",
    score: CRITICAL_SCORE,
    description: "a comment behind a quote that cuts off the rest of a statement",
    sign: Sign.SqlComment,
  },
  {
    id: "SQLI-004",
    category: "sqli",
    score: CRITICAL_SCORE,
    description: "a second statement behind a semicolon",
    sign: Sign.SqlStatement,
  },
  {
    id: "SQLI-005",
    category: "sqli",
    score: CRITICAL_SCORE,
    description: "a function that waits, reads files, runs programs or makes errors speak",
    sign: Sign.SqlFunction,
  },
  {
    id: "SQLI-006",
    category: "sqli",
    score: ERROR_SCORE,
    description: "catalogs and variables of a database, and strings put together from codes",
    sign: Sign.SqlCatalog,
  },
  {
    id: "SQLI-007",
    category: "sqli",
    score: NOTICE_SCORE,
    description: "SELECT … FROM a table",
    sign: Sign.SqlSelect,
  },
  {
    id: "SQLI-008",
    category: "sqli",
    score: CRITICAL_SCORE,
    description: "ORDER BY, GROUP BY or LIMIT behind a value, to count columns",
    sign: Sign.SqlClause,
  },
  {
    id: "SQLI-009",
    category: "sqli",
    score: CRITICAL_SCORE,
    description: "a query or a call of SQL glued to a value with an operator",
    sign: Sign.SqlConcatenation,
  },
  {
    id: "SQLI-010",
    category: "sqli",
    score: CRITICAL_SCORE,
    description: "operators of a document database on a password and the like, or code in $where",
    sign: Sign.MongoOperator,
  },
];
