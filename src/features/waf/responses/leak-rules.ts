import type { WafRule } from "../rule.ts";

/** What a response gives away, and the texts by which it is known. */
export interface LeakRule extends Pick<WafRule, "id" | "score" | "description" | "crs"> {
  readonly category: "leak";
  /** Whether a response with it is withheld under `enforce`; what is often meant is logged alone. */
  readonly isWithheld: boolean;
  readonly signs: readonly LeakSign[];
}

/** A text that only machines write: some words of it, and what must be around them. */
export interface LeakSign {
  readonly words: string;
  /** Is asked of what is around the words, LEAK_LEAD_CHARS in front and LEAK_REST_CHARS from their beginning on. */
  readonly around?: RegExp;
}

/** Characters in front of the words that count, and from their beginning on. */
export const LEAK_LEAD_CHARS = 240;
export const LEAK_REST_CHARS = 320;

/** A quote as it is in texts, in JSON and in HTML. */
const Q = String.raw`(?:\\?["']|&quot;|&#3[49];|&#x2[27];)`;
/** The end of a line, likewise. */
const EOL = String.raw`(?:\\[rn]|<br ?/?>|&#10;|\s)`;

/** The rules of responses. Words alone would also be in pages about such errors; docs/waf.md#responses */
export const LEAK_RULES: readonly LeakRule[] = [
  {
    id: "LEAK-003",
    category: "leak",
    description: "private key",
    score: 5,
    isWithheld: true,
    // With key material beside the label: manuals have the label alone. RFC 7468 §10, §11; RFC 1421 §4.4 for the fields.
    signs: [
      {
        words: "PRIVATE KEY-----",
        around: new RegExp(
          `-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----${EOL}{1,8}(?:[A-Za-z0-9+/=]{40}|Proc-Type:)|[A-Za-z0-9+/=]{16}${EOL}{1,8}-----END [A-Z ]{0,20}PRIVATE KEY-----`,
        ),
      },
    ],
  },
  {
    id: "LEAK-001",
    category: "leak",
    description: "stack trace of a program",
    score: 4,
    crs: [953100, 950150, 952110, 953101, 956100],
    isWithheld: true,
    signs: [
      {
        words: "Traceback (most recent call last):",
        around: new RegExp(`call last\\):.{0,80}?File ${Q}`, "s"),
      },
      ...each(
        [".java:", ".kt:", ".scala:"],
        /(?:(?:\b|\\[tn] *)at |\t|\\t)[\w.$/<>]{3,160}\([\w$]{1,80}\.(?:java|kt|scala):\d{1,6}\)/,
      ),
      {
        words: "Exception in thread ",
        around: new RegExp(`in thread ${Q}.{1,60}?${Q} [\\w.$]{3,120}(?:Exception|Error)`),
      },
      { words: "Stack trace:", around: new RegExp(`Stack trace:${EOL}{1,6}#0 `) },
      { words: "Fatal error", around: /Fatal error(?:<\/b>)?:.{1,240}? in (?:<b>)?[^\s<]{1,160}\.php/s },
      { words: "Warning</b>:", around: /<b>Warning<\/b>:.{1,240}? in <b>[^\s<]{1,160}\.php/s },
      { words: "goroutine ", around: /\bgoroutine \d{1,8} \[[a-z][\w ,]{1,60}\]:/ },
      { words: "panicked at", around: new RegExp(`thread ${Q}.{1,60}?${Q}(?: \\(\\d+\\))? panicked at `) },
      {
        words: ".cs:line ",
        around: /\bat [\w.`<>[\],+&;]{3,160}\([^()\n]{0,200}\) in [^\n:]{0,2}:?[^\n:]{1,160}\.cs:line \d/,
      },
      { words: "Microsoft .NET Framework Version:", around: /Version:.{1,60}? ASP\.NET Version:/ },
      ...each(
        [".js:", ".mjs:", ".cjs:", ".ts:"],
        /\bat (?:[\w.$[\] <>&;]{1,100} \()?(?:file:\/\/)?(?:\/|[A-Z]:\\)[^()\n]{1,160}\.[cm]?[jt]s:\d{1,6}:\d{1,6}/,
      ),
      { words: ".rb:", around: /\.rb:\d{1,6}:in (?:[`']|&#39;|&#x27;)/ },
    ],
  },
  {
    id: "LEAK-002",
    category: "leak",
    description: "error of a database",
    score: 4,
    crs: [951230, 951110, 951120, 951220, 951240, 951250],
    isWithheld: true,
    signs: [
      { words: "You have an error in your SQL syntax", around: /SQL syntax(?:;|,)? (?:check the manual|near)/ },
      { words: "MySQLSyntaxErrorException" },
      { words: "supplied argument is not a valid MySQL" },
      { words: "SQLSTATE[", around: /SQLSTATE\[[0-9A-Z]{5}\]/ },
      { words: "PSQLException", around: /PSQLException: / },
      { words: "quoted string at or near", around: /unterminated quoted string at or near/ },
      {
        words: "syntax error at or near",
        around: new RegExp(`(?:ERROR: {1,2}|SyntaxError.{0,40}|pq: )syntax error at or near ${Q}`),
      },
      { words: "ORA-", around: /\bORA-\d{5}: \w/ },
      {
        words: "quotation mark after the character string",
        around: /Unclosed quotation mark after the character string/,
      },
      { words: "Microsoft OLE DB Provider for", around: /Provider for [\w ]{3,40}(?:<\/font>.{0,40})? ?error/s },
      { words: "System.Data.SqlClient.SqlException" },
      { words: "Microsoft.Data.SqlClient.SqlException" },
      { words: "SQLite3::", around: /SQLite3::(?:SQL|Constraint|Busy)?Exception/ },
      { words: "sqlite3.OperationalError" },
      { words: "SQLITE_ERROR: " },
      { words: "MongoServerError:" },
    ],
  },
  {
    id: "LEAK-004",
    category: "leak",
    description: "listing of a folder",
    score: 4,
    crs: [950130],
    isWithheld: false,
    signs: [
      { words: "<title>Index of /" },
      { words: "<h1>Index of /" },
      { words: "<title>Directory listing for /" },
      { words: ">[To Parent Directory]</" },
    ],
  },
];

function each(names: readonly string[], around: RegExp): LeakSign[] {
  return names.map((words) => ({ words, around }));
}

/** A secret is named in the log, not repeated. */
export const KEY_RULE = "LEAK-003";
