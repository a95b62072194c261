import { Byte } from "../../../core/ascii.ts";
import { Place, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { Sign } from "../rules/sign.ts";
import type { SignListener } from "./sign-listener.ts";

/** Finds line breaks with a header field behind them, where a value may become one, and bytes 0. */
export function findProtocolAbuse(value: ValueReading, listener: SignListener): void {
  const { bytes, length, place } = value;
  let isFirst = true;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (byte === Byte.Space) isFirst = false;
    if (byte === Byte.Nul) listener.found(Sign.NulByte, at);
    // Texts that people paste hold whole mails.
    else if (
      (byte === Byte.Lf || byte === Byte.Cr || isCutBreak(bytes, at)) &&
      place !== Place.Body &&
      isField(bytes, at + 1, isFirst)
    ) {
      listener.found(Sign.HeaderInjection, at);
    }
  }
}

/** Letters, digits and the dash: what the names below are made of. */
function isFieldByte(byte: number): boolean {
  const isLetter = byte >= Byte.LowerA && byte <= Byte.LowerZ;
  return isLetter || byte === Byte.Dash || (byte >= Byte.Zero && byte <= Byte.Nine);
}

/** Characters such as U+560A and U+010A, whose last byte is a line break to writers that keep no more of them. */
function isCutBreak(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at]!;
  if (byte !== 0x8a && byte !== 0x8d) return false;
  return bytes[at - 1] === 0xc4 || (bytes[at - 1] === 0x98 && bytes[at - 2] === 0xe5);
}

/**
 * Whether a field that matters, a status line or a request line begins at `from`.
 * @param isFirst whether no blank stands before it
 */
function isField(bytes: Uint8Array, from: number, isFirst: boolean): boolean {
  let at = from;
  while (at < from + MAX_BLANKS && bytes[at]! <= Byte.Space && bytes[at] !== Byte.Nul) at++;
  const first = at;
  while (at < first + MAX_NAME && isFieldByte(bytes[at]!)) at++;
  const word = FIELDS.valueOf(bytes, first, at);
  if (word === STATUS) return bytes[at] === Byte.Slash && bytes[at + 1] === ONE;
  if (word === METHOD) return bytes[at] === Byte.Space && bytes[at + 1] === Byte.Slash;
  while (bytes[at] === Byte.Space) at++;
  if (bytes[at] !== Byte.Colon) return false;
  // Lines of prose and of calendars begin with some of these words, too; a single word in front is none of prose.
  return word === FIELD || (word === PROSE && (isFirst || holdsAddress(bytes, at + 1)));
}

/** Whether an address of mail or web stands in the same line, not too far behind `from`. */
function holdsAddress(bytes: Uint8Array, from: number): boolean {
  for (let at = from; at < from + MAX_VALUE && bytes[at]! >= Byte.Space; at++) {
    const byte = bytes[at];
    const isMark = byte === Byte.At || byte === Byte.Slash || byte === Byte.Dot;
    if (isMark && bytes[at + 1]! > Byte.Space) return true;
  }
  return false;
}

const FIELD = 1;
const STATUS = 2;
const METHOD = 3;
/** A field whose name prose knows, too. */
const PROSE = 4;
const FIELDS: WordSet = new WordSet([
  [FIELD, "set-cookie content-type content-length content-disposition content-encoding transfer-encoding"],
  [PROSE, "location refresh link referer server host bcc cc to subject status expires connection vary origin proxy"],
  [FIELD, "access-control-allow-origin access-control-allow-credentials x-xss-protection cache-control"],
  [FIELD, "content-security-policy last-modified x-forwarded-for x-forwarded-host authorization cookie"],
  [FIELD, "user-agent x-injected x-header strict-transport-security etag set-cookie2 p3p www-authenticate"],
  [FIELD, "x-frame-options x-content-type-options x-real-ip x-original-url x-rewrite-url proxy-authorization"],
  [STATUS, "http"],
  [METHOD, "get post put delete head options"],
]);
const MAX_BLANKS = 8;
const MAX_NAME = 36;
const MAX_VALUE = 128;
const ONE = 0x31;
