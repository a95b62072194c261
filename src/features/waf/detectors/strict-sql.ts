import { Byte, classOf, indexOfByte, isDigit } from "../../../core/bytes.ts";
import { isWebAddress, SQL_NAME, SQL_NAME_START, SQL_SPACE, wordEnd } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import {
  CRITICAL_SCORE,
  type DetectionListener,
  type DetectorGroup,
  each,
  VALUES,
  type WafRule,
  words,
} from "../rule.ts";

const DENSE_SQL: WafRule = {
  id: "SQLI-012",
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "value that consists of tokens of SQL, as it is or after a quote",
  keywords: [
    ...["'", "`", "\u00b4", "--", "#", "/*", "@@", "||", "&&", ";", "@"],
    ...each(
      "select union insert update delete drop exec execute declare alter create having where case print",
      (word) => [`${word} `, `${word}(`, `${word}@`, `${word}\\`, `${word}-`, `${word}{`, `${word}+`],
    ),
    ...each("and or xor like in div is between not rlike", (word) => [
      ` ${word} `,
      ` ${word}(`,
      `)${word} `,
      `0${word} `,
    ]),
    ...words("count( sin( cos( binary( cast( convert( concat( substring( substr( ascii( version( user( iif( if( char("),
    ...words("length( lower( upper( hex( unhex( md5( sleep( chr( ord( mid( left( nullif( ifnull( coalesce( database("),
  ],
  level: 2,
  profiles: ["sql"],
  crs: [942100, 942480],
};

/** SQL by the proportion of its tokens, whatever they say. */
export const STRICT_SQL_GROUP: DetectorGroup = {
  rules: [DENSE_SQL],
  locations: VALUES,
  keywords: () => [],
  detectors: () => [{ analyse: findDenseSql }],
};

/**
 * Reads a value as tokens of SQL: as it is, and as what follows a quote that ends a literal of the application. In prose, words that mean
 * nothing to SQL stand side by side; in SQL there are operators, commas or keywords between them. What is left is judged by a few shapes
 * of a line of at most MAX_TOKENS letters, one a token.
 */
function findDenseSql({ bytes, length, isName }: ValueReading, listener: DetectionListener): void {
  // A form may have thousands of short names.
  if (isName && length < MIN_NAME) return;
  if (length > MAX_VALUE || isWebAddress(bytes) || linesOf(bytes, length) > MAX_LINES) return;
  if (isPlainSql(shapeOf(bytes, 0, length, false))) return listener.found(DENSE_SQL, 0);
  const single = closingQuote(bytes, length, Byte.Apostrophe);
  if (single >= 0 && isBrokenOut(`S${shapeOf(bytes, single + 1, length, true)}`, true))
    return listener.found(DENSE_SQL, single);
  const double = closingQuote(bytes, length, Byte.Quote);
  if (double >= 0 && isBrokenOut(`S${shapeOf(bytes, double + 1, length, true)}`, false))
    listener.found(DENSE_SQL, double);
}

function linesOf(bytes: Uint8Array, length: number): number {
  let lines = 1;
  for (let at = 0; at < length; at++) if (bytes[at] === Byte.Lf) lines++;
  return lines;
}

/** The quote that would end a literal around the value; -1 if it is too far, or part of an address. */
function closingQuote(bytes: Uint8Array, length: number, quote: number): number {
  const limit = Math.min(length, MAX_LITERAL);
  let at = indexOfByte(bytes, quote, 0, limit);
  while (at < limit && bytes[at + 1] === quote && !isAfterPair(bytes[at + 2]!))
    at = indexOfByte(bytes, quote, at + 2, limit);
  if (at >= limit) return -1;
  for (let i = 0; quote === Byte.Quote && i < at; i++) if (IN_ADDRESS[bytes[i]!] === 1) return -1;
  return at;
}

/** Whether an empty literal, and not an escaped quote, is in front. */
function isAfterPair(byte: number): boolean {
  return byte === Byte.Space || byte === Byte.Semicolon || byte === Byte.CloseParen;
}

/** One letter a token: see `Shape`. @param isOpened whether a literal was broken out of */
function shapeOf(bytes: Uint8Array, from: number, length: number, isOpened: boolean): string {
  let shape = "";
  let isNewLine = false;
  for (let at = from; at < length && shape.length < MAX_TOKENS; ) {
    const byte = bytes[at]!;
    if (SQL_SPACE[byte] === 1 || byte === Byte.Nul) {
      isNewLine ||= byte === Byte.Lf || byte === Byte.Cr;
      at++;
      continue;
    }
    const end = tokenEnd(bytes, at, length);
    shape += tokenOf(bytes, at, end, isNewLine, isOpened);
    isNewLine = false;
    at = end;
  }
  return shape;
}

/** Offset after the token at `at`. */
function tokenEnd(bytes: Uint8Array, at: number, length: number): number {
  const byte = bytes[at]!;
  const next = bytes[at + 1]!;
  if (byte === Byte.Hash || (byte === Byte.Dash && next === Byte.Dash && !isDigit(bytes[at + 2]!)))
    return Math.min(length, indexOfByte(bytes, Byte.Lf, at, length) + 1);
  if (byte === Byte.Slash && next === Byte.Star)
    return bytes[at + 2] === Byte.Bang ? digitsEnd(bytes, at + 3) : commentEnd(bytes, at, length);
  if (byte === Byte.Star && next === Byte.Slash) return at + 2;
  if (byte === Byte.Backslash) return Math.min(length, at + (isSqlQuote(next) || next === LOWER_N ? 2 : 1));
  if (isSqlQuote(byte)) return Math.min(length, indexOfByte(bytes, byte, at + 1, length) + 1);
  if (byte === Byte.At) return nameEnd(bytes, next === Byte.At ? at + 2 : at + 1);
  if (isDigit(byte) || (byte === Byte.Dot && isDigit(next))) return numberEnd(bytes, at);
  if (SQL_NAME_START[byte] === 1) return nameEnd(bytes, at);
  if (byte === Byte.LeftBracket) {
    const end = wordEnd(bytes, at + 1);
    return bytes[end] === Byte.RightBracket ? end + 1 : at + 1;
  }
  return IN_OPERATOR[byte] === 1 ? operatorEnd(bytes, at) : at + 1;
}

/**
 * The letter of a token. K: a keyword of statements; k: one that prose has as well; W: an operator that is a word; O: another operator;
 * F: a name with a bracket; B: any other name; N, S, V: number, text, variable; T: a text in double quotes; C: a comment, D: one in a
 * line of its own; X: a comment that is code; brackets, commas and semicolons are themselves; ?: nothing that SQL has.
 */
function tokenOf(bytes: Uint8Array, from: number, to: number, isNewLine: boolean, isOpened: boolean): string {
  const byte = bytes[from]!;
  if (byte === Byte.Hash && bytes[from - 1] === Byte.Ampersand) return "?";
  if (byte === Byte.Hash || (byte === Byte.Dash && to - from > 1)) return isNewLine ? "D" : "C";
  if (byte === Byte.Slash && bytes[from + 1] === Byte.Star) return bytes[from + 2] === Byte.Bang ? "X" : "C";
  if (byte === Byte.Star && to - from > 1) return "";
  if (byte === Byte.Backslash) return to - from === 1 ? "" : bytes[from + 1] === LOWER_N ? "N" : "S";
  if (byte === Byte.Quote && !isOpened) return "T";
  if (byte === Byte.Backtick && to - from > 2) return "B";
  if (isSqlQuote(byte)) return "S";
  if (byte === Byte.At) return to - from > 1 ? "V" : "B";
  if (isDigit(byte) || (byte === Byte.Dot && to - from > 1)) return "N";
  if (SQL_NAME_START[byte] === 1) {
    let end = to;
    while (end > from && bytes[end - 1] === Byte.Dot) end--;
    const word = KEYWORDS.valueOf(bytes, from, end);
    if (word !== 0) return LETTERS[word]!;
    return bytes[to] === Byte.OpenParen || (bytes[to] === Byte.Space && bytes[to + 1] === Byte.OpenParen) ? "F" : "B";
  }
  if (byte === Byte.LeftBracket) return to - from > 1 ? "B" : "?";
  if (byte === Byte.OpenBrace) return "{";
  if (byte === Byte.CloseBrace) return ")";
  if (IN_OPERATOR[byte] === 1) return "O";
  return IS_MARK[byte] === 1 ? String.fromCharCode(byte) : "?";
}

/** Whether the whole value is SQL. */
function isPlainSql(shape: string): boolean {
  if (shape.length < 3 && !(shape.length === 2 && shape.endsWith("C"))) return false;
  // Queries of GraphQL, programs and style sheets have many of these brackets.
  if (shape.split("{").length > 2) return false;
  const core = coreOf(shape);
  const count = (letter: string): number => shape.split(letter).length - 1;
  const strong = count("K");
  const known = strong + count("k");
  const marks = count("S") + count("F") + count("O") + count("V") + count("C") + count("(") + count(";") + count("X");
  if (core.includes("?") || !isDense(core, strong, marks)) return false;
  if (known >= 4 && !core.includes("B") && core.includes("N")) return true;
  if (LITERAL_QUERY.test(core)) return true;
  if (marks === 0) return false;
  const hasEvidence =
    (core.includes("S") && count("W") + strong > 0) ||
    shape.includes("V") ||
    (core.includes("F") && shape.includes("W"));
  if (OPERATION.test(core) && (hasEvidence || /[NSV)]C/.test(shape))) return true;
  if (core.length >= 3 && (strong >= 2 || (strong === 1 && marks >= 2 && /[FVSC]/.test(shape)))) return true;
  return PLAIN_SHAPES.some((one) => one.test(core)) || (core.length <= MAX_TRUNCATED && TRUNCATED.test(shape));
}

/** The shape without comments. */
function coreOf(shape: string): string {
  return shape.replace(COMMENTS, "").replaceAll("{", "(");
}

/** Whether SQL goes on after a literal that was ended. @param isSingle whether by an apostrophe, which searches seldom have */
function isBrokenOut(shape: string, isSingle: boolean): boolean {
  const core = coreOf(shape);
  const strong = core.split("K").length - 1;
  if (core.includes("?") || !isDense(core, strong, core.replace(/[^SFOV(;X]/g, "").length)) return false;
  if (ENDED.test(shape) && shape.length > 1) return true;
  const rest = shape.slice(1).replace(/^[);C(]*/, "");
  if (/^[KX]./.test(rest) || /^;k./.test(shape.slice(1))) return isSingle || rest.length > 2;
  if (isSingle) return /^[OW]+[(WO]*([SNVFK(]|B[SOW])/.test(rest);
  return /^(W+|OO?(?=[SF(]))[(WO]*([NVFK]|S[OWCS])/.test(rest) && (/W/.test(rest) || rest.split("S").length > 1);
}

/** Whether names do not stand side by side, or so much else is there that they are names of columns and their new names. */
function isDense(core: string, strong: number, marks: number): boolean {
  const pairs = core.match(NEIGHBOURS)?.length ?? 0;
  if (pairs === 0) return true;
  if (pairs === 1 && (/VO[SNV]/.test(core) || (strong >= 2 && /[VF]/.test(core)))) return true;
  return (strong >= 3 && marks >= 3 && pairs * 6 <= core.length) || (/KF\(O\)K/.test(core) && marks >= 3);
}

function isSqlQuote(byte: number): boolean {
  return byte === Byte.Apostrophe || byte === Byte.Quote || byte === Byte.Backtick || byte === ACUTE;
}

function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(bytes[at]!)) at++;
  return at;
}

function commentEnd(bytes: Uint8Array, from: number, length: number): number {
  for (let at = from + 2; at < length; at++) if (bytes[at] === Byte.Star && bytes[at + 1] === Byte.Slash) return at + 2;
  return length;
}

function nameEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (SQL_NAME[bytes[at]!] === 1) at++;
  return Math.max(at, from);
}

function numberEnd(bytes: Uint8Array, from: number): number {
  if (bytes[from] === Byte.Zero && bytes[from + 1] === Byte.LowerX) return wordEnd(bytes, from + 2);
  let at = digitsEnd(bytes, from);
  if (bytes[at] === Byte.Dot) at = digitsEnd(bytes, at + 1);
  return bytes[at] === LOWER_E && isDigit(bytes[at + 1]!) ? digitsEnd(bytes, at + 1) : at;
}

/** Operators of up to three marks: `<=>`, `||`, `:=`. */
function operatorEnd(bytes: Uint8Array, from: number): number {
  const pair = IN_PAIR[bytes[from]!] === 1 && IN_PAIR[bytes[from + 1]!] === 1;
  if (!pair) return from + 1;
  return bytes[from] === Byte.Less && bytes[from + 2] === Byte.Greater ? from + 3 : from + 2;
}

const LETTERS = ["", "K", "k", "W"];
const KEYWORDS: WordSet = new WordSet([
  [1, "select union insert update delete drop exec execute declare alter create grant revoke backup having where"],
  [1, "waitfor shutdown truncate merge handler order group into from outfile dumpfile openrowset set begin goto"],
  [1, "procedure limit"],
  [2, "offset case when then else end if while load print as by distinct table database values desc asc join inner"],
  [2, "outer left right natural using interval convert cast copy at time zone for with row share mode rename restore"],
  [2, "bulk kill do return xml infile data columns fields current user index view try catch top percent call commit"],
  [2, "rollback all on"],
  [
    3,
    "or and xor not like rlike regexp glob is in between div mod sounds collate binary ilike similar escape any some",
  ],
  [3, "exists null true false unknown notnull isnull"],
]);
const COMMENTS = /[CDX]/g;
/** Two operands without anything between them. */
const NEIGHBOURS = /B[BSTNV]|S[BT]|TB|TT|NN/g;
/** An operator between two operands, or before the first. */
const OPERATION = /(?:[NSVFB)]|^)[OW]+[(W]*[NSVFB(]/;
/** select 1 from x */
const LITERAL_QUERY = /^[(O]*K[NT]\)*K.|^O?N\)*KK./;
/** A comment that ends the statement after a literal. */
const TRUNCATED = /[NSV)]C$|[NS)]C.*[Kk]/;
const ENDED = /^S[);]*C(?![BkKN])/;
const PLAIN_SHAPES: readonly RegExp[] = [
  /S[OW]+[(W]*[SNVFB]/,
  /N[O]*W[(WO]*[NV]\)*(?:[WC;]|O[(]*[NSVB]\)*$)/,
  /N[O]*W[(WO]*(?:[SV(]|NO\()/,
  /[^;];+[Kk]./,
  /F\(\)O+F\(\)/,
  /W[(O]*[NSV]\)*O+[(O]*[NSV]/,
  /[NSV]\)*[KX]k*[KS(]/,
  /^V[CK]/,
  /W\(?F\(|F\(+[KF]|KF\(|F\(+k?\(*\)[)O]/,
  /k.*W.*k/,
  /F\([BN]O/,
  /NOF\(/,
];
const IN_OPERATOR: Uint8Array = classOf("*/%^|&=<>!~:+-");
const IN_PAIR: Uint8Array = classOf("<>=!|&:");
const IS_MARK: Uint8Array = classOf("(),;.");
const IN_ADDRESS: Uint8Array = classOf("/?&");
const ACUTE = 0xb4;
const LOWER_N = 0x6e;
const LOWER_E = 0x65;
/** A shorter name of a parameter is no statement. */
const MIN_NAME = 16;
/** What a literal of an application is in front of the quote that ends it. */
const MAX_LITERAL = 25;
const MAX_TOKENS = 96;
/** What comes before a comment that ends a statement. */
const MAX_TRUNCATED = 12;
/** Texts and programs have more. */
const MAX_LINES = 9;
/** Longer values are texts. */
const MAX_VALUE = 1536;
