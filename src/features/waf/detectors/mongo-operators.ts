import { Byte, indexOfByte, isLowerLetter } from "../../../core/bytes.ts";
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
};

/** Operators of document databases. Names of APIs begin with a dollar sign, too, so that the path is left out. */
export const MONGO_GROUP: DetectorGroup = {
  rules: [MONGO_OPERATOR],
  locations: [InputLocation.Query, InputLocation.Body],
  keywords: () => [],
  detectors: () => [{ analyse: findMongoOperators }],
};

/**
 * Finds operators of document databases where a plain value is due: on a name that says "password" and the like
 * (`password[$ne]=x`, {"password": {"$ne": ""}}), and code in $where. On other names they are filters of many an API.
 */
function findMongoOperators(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  const next = (from: number): number => indexOfByte(bytes, Byte.Dollar, from, length);
  for (let at = next(0); at < length; at = next(at + 1)) {
    let end = at + 1;
    while (isLowerLetter(bytes[end]!)) end++;
    const operator = OPERATORS.valueOf(bytes, at + 1, end);
    if (operator === 0) continue;
    const isMember = isMemberName(value, at, end);
    if (operator === CODE ? isMember || isCode(bytes, end) : isMember && isOnCredential(value, at)) {
      listener.found(MONGO_OPERATOR, at);
    }
  }
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
  [1, "ne gt gte lt lte in nin eq regex exists not or and nor type all size mod"],
  [CODE, "where function accumulator"],
]);
const CREDENTIALS: WordSet = new WordSet([
  [1, "password passwd pass pwd passphrase pin otp secret token apikey api_key user username userid login email"],
  [1, "account account_id session sessionid auth code hash resettoken reset_token"],
]);
