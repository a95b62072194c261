import { Byte, classOf, indexOfByte, isDigit, isLowerLetter } from "../../../core/bytes.ts";
import { isQuote } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, type WafRule } from "../rule.ts";

export const MONGO_OPERATOR: WafRule = {
  id: "SQLI-010",
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "query operator of a document database in a credential, or JavaScript in $where",
  keywords: ["[$", "'$", "{$", "{ $", ",$", ", $", "^$", "$where", "$function", "$accumulator"],
  crs: [942290],
};
const MONGO_BREAKOUT: WafRule = {
  id: "SQLI-011",
  category: "sqli",
  score: CRITICAL_SCORE,
  description:
    "text that ends a query of a document database and goes on with an operator or a loop, or an operator in place of a value",
  keywords: ["} $", "}$", "] $", "new date(", ";sleep(", "; sleep("],
  crs: [942290],
};

const ANY_OPERATOR: WafRule = {
  id: "SQLI-013",
  category: "sqli",
  score: CRITICAL_SCORE,
  description: "query operator of a document database on any field",
  level: 2,
  profiles: ["mongo"],
  crs: [942290],
};

/** Operators of document databases. Names of APIs begin with a dollar sign, too, so that the path is left out. */
export const MONGO_GROUP: DetectorGroup = {
  rules: [MONGO_OPERATOR, MONGO_BREAKOUT, ANY_OPERATOR],
  locations: [InputLocation.Query, InputLocation.Body, InputLocation.Segment],
  keywords: () => [],
  detectors: () => [{ analyse: findMongoOperators }],
};

/**
 * Finds operators of document databases where a plain value is due: on a name that says "password" and the like
 * (`password[$ne]=x`, {"password": {"$ne": ""}}), and code in $where. On other names they are filters of many an API.
 */
function findMongoOperators(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  if (value.location === InputLocation.Segment) return findBreakout(value, listener);
  const next = (from: number): number => indexOfByte(bytes, Byte.Dollar, from, length);
  for (let at = next(0); at < length; at = next(at + 1)) {
    let end = at + 1;
    while (isLowerLetter(bytes[end]!)) end++;
    const operator = OPERATORS.valueOf(bytes, at + 1, end);
    if (operator === 0) continue;
    const isMember = isMemberName(value, at, end);
    if (operator === CODE ? isMember || isCode(bytes, end) : isMember && isOnCredential(value, at)) {
      listener.found(MONGO_OPERATOR, at);
    } else if (isMember) listener.found(ANY_OPERATOR, at);
  }
  findBreakout(value, listener);
}

/** Finds `', $or: [`, `{"$gt": ""}` as a whole value, `';it=new Date();do{…`. */
function findBreakout(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  if (length > MAX_BREAKOUT) return;
  let at = gapEnd(bytes, 0);
  if (bytes[at] === Byte.OpenBrace) {
    if (isOperatorObject(bytes, gapEnd(bytes, at + 1))) listener.found(MONGO_BREAKOUT, at);
    return;
  }
  // What is in front of the quote is the value that was asked for.
  const limit = Math.min(length, at + MAX_PREFIX);
  while (at < limit && !isQuote(bytes[at]!) && bytes[at] !== Byte.Semicolon) at++;
  if (at === limit) return;
  const quote = at;
  while (CLOSING[bytes[at]!] === 1) at++;
  const isSeparated = bytes[at - 1] === Byte.Comma || bytes[at - 1] === Byte.Space || bytes[at - 1] === Byte.OpenBrace;
  if (bytes[at] === Byte.Dollar && isSeparated && isQuote(bytes[quote]!)) {
    const end = nameEnd(bytes, at + 1);
    if (OPERATORS.valueOf(bytes, at + 1, end) !== 0 && bytes[gapEnd(bytes, end)] === Byte.Colon)
      listener.found(MONGO_BREAKOUT, at);
    return;
  }
  if (bytes.subarray(quote, at).includes(Byte.Semicolon) && isLoop(bytes, at, length))
    listener.found(MONGO_BREAKOUT, at);
}

/** `$gt: ""}`, where the object is the whole value: a filter of an API names a field first. */
function isOperatorObject(bytes: Uint8Array, from: number): boolean {
  const at = isQuote(bytes[from]!) ? from + 1 : from;
  if (bytes[at] !== Byte.Dollar) return false;
  const end = nameEnd(bytes, at + 1);
  const operator = OPERATORS.valueOf(bytes, at + 1, end);
  if (operator === 0 || COMBINING.valueOf(bytes, at + 1, end) !== 0) return false;
  const colon = gapEnd(bytes, isQuote(bytes[end]!) ? end + 1 : end);
  if (bytes[colon] !== Byte.Colon) return false;
  // A number is compared with by right.
  const operand = gapEnd(bytes, colon + 1);
  return !isDigit(bytes[operand]!);
}

/** A statement that takes its time: `sleep(5000)`, a loop until a date. */
function isLoop(bytes: Uint8Array, from: number, length: number): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, length - from).toString("latin1");
  if (text.startsWith("sleep(")) return true;
  return text.includes("new date") && (text.includes("while(") || text.includes("while (")) && text.includes("}");
}

function nameEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isLowerLetter(bytes[at]!)) at++;
  return at;
}

function gapEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === Byte.Space || bytes[at] === Byte.Lf || bytes[at] === Byte.Tab) at++;
  return at;
}

/** Whether the operator is the name of something: in brackets, in quotes before a colon, or the whole JSON name. */
function isMemberName(value: ValueReading, at: number, end: number): boolean {
  const { bytes } = value;
  if (value.isName && at === 0) return end === value.length;
  if (at === 0) return false;
  if (bytes[at - 1] === Byte.LeftBracket) return value.isName && bytes[end] === Byte.RightBracket;
  let next = end;
  if (isQuote(bytes[at - 1]!)) {
    if (!isQuote(bytes[end]!)) return false;
    next++;
  } else {
    const before = bytes[at - 1] === Byte.Space ? at - 2 : at - 1;
    if (bytes[before] !== Byte.OpenBrace && bytes[before] !== Byte.Comma) return false;
  }
  while (bytes[next] === Byte.Space) next++;
  return bytes[next] === Byte.Colon;
}

/** `$where=…this.…`, `$where=…function…`. */
function isCode(bytes: Uint8Array, from: number): boolean {
  return bytes[from] === Byte.Equals || bytes[from] === Byte.Colon;
}

function isOnCredential(value: ValueReading, at: number): boolean {
  const { bytes, name } = value;
  if (bytes[at - 1] === Byte.LeftBracket) {
    // password[$ne], login[password][$ne]
    const to = bytes[at - 2] === Byte.RightBracket ? at - 2 : at - 1;
    return CREDENTIALS.valueOf(bytes, lastPart(bytes, 0, to), to) !== 0;
  }
  return CREDENTIALS.valueOf(name, value.lastNameFrom, value.nameLength) !== 0;
}

/** Where the last part of `user.password` or `user[password` begins. */
function lastPart(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && bytes[at - 1] !== Byte.Dot && bytes[at - 1] !== Byte.LeftBracket) at--;
  return at;
}

const CODE = 2;
const OPERATORS: WordSet = new WordSet([
  [1, "ne gt gte lt lte in nin eq regex exists not or and nor type all size mod comment elemmatch expr"],
  [CODE, "where function accumulator"],
]);
/** Filters of APIs begin with these, too. */
const COMBINING: WordSet = new WordSet([[1, "or and not all"]]);
/** What ends values and objects, up to the next member or statement. */
const CLOSING: Uint8Array = classOf("'\"`)]}, ;", (byte) => byte === Byte.Lf);
const MAX_BREAKOUT = 1024;
const MAX_PREFIX = 64;
const CREDENTIALS: WordSet = new WordSet([
  [1, "password passwd pass pwd passphrase pin otp secret token apikey api_key user username userid login email"],
  [1, "account account_id session sessionid auth code hash resettoken reset_token"],
]);
