import { Byte, isDigit } from "../../../core/bytes.ts";
import { WORD } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import {
  CRITICAL_SCORE,
  type DetectionListener,
  type DetectorGroup,
  VALUES_AND_PATHS,
  type WafRule,
  words,
} from "../rule.ts";

const MAIL_COMMAND: WafRule = {
  id: "PROTOCOL-008",
  crs: [932300, 932301, 932310, 932311, 932320, 932321],
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "command of SMTP or IMAP after a line break",
  keywords: [
    ...["\nrcpt to", "\nmail from", "\nrset", "\nstarttls", "\nehlo ", "\nhelo "],
    ...words("capability fetch authenticate examine subscribe unsubscribe uidvalidity lsub").map((word) => ` ${word}`),
    ...[" select inbox", " login ", " store ", " search ", ' list "', " logout"],
  ],
};

/** Commands of mail servers, in what becomes part of a message or of a dialogue. */
export const MAIL_GROUP: DetectorGroup = {
  rules: [MAIL_COMMAND],
  locations: VALUES_AND_PATHS,
  keywords: () => [],
  detectors: () => [{ analyse: findMailCommands }],
};

/**
 * Finds lines such as `RCPT TO:<a@b>` (RFC 5321 §4.1.1) and `V100 FETCH 1` (RFC 9051 §6) after a line break in a short value. Texts that
 * explain the protocols are longer, or begin with words.
 */
function findMailCommands(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  if (length > MAX_VALUE) return;
  for (let at = 0; at < length; at++) {
    if (bytes[at] !== Byte.Lf && bytes[at] !== Byte.Cr) continue;
    if (isCommand(bytes, at + 1)) return listener.found(MAIL_COMMAND, at);
  }
}

function isCommand(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (WORD[bytes[at]!] === 1) at++;
  const second = at + 1;
  let end = second;
  while (WORD[bytes[end]!] === 1) end++;
  const verb = VERBS.valueOf(bytes, from, at);
  // RCPT TO:, MAIL FROM:
  if (verb === WITH_PATH) return PATHS.valueOf(bytes, second, end) !== 0 && bytes[end] === Byte.Colon;
  if (verb !== 0 || bytes[at] !== Byte.Space) return false;
  return isTag(bytes, from, at) && VERBS.valueOf(bytes, second, end) === TAGGED;
}

/** A letter and digits, as clients number their commands. */
function isTag(bytes: Uint8Array, from: number, to: number): boolean {
  return to - from >= 2 && to - from <= MAX_TAG && isDigit(bytes[to - 1]!) && !isDigit(bytes[from]!);
}

const WITH_PATH = 1;
const TAGGED = 2;
const VERBS: WordSet = new WordSet([
  [WITH_PATH, "rcpt mail"],
  [TAGGED, "capability fetch authenticate examine select login logout list lsub search store create delete rename"],
  [TAGGED, "subscribe unsubscribe status append noop close expunge copy uid starttls"],
]);
const PATHS: WordSet = new WordSet([[1, "to from"]]);
const MAX_TAG = 12;
const MAX_VALUE = 512;
