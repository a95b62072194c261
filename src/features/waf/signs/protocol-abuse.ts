import { Byte } from "../../../core/ascii.ts";
import { Place, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { Sign } from "../rules/sign.ts";
import type { SignListener } from "./sign-listener.ts";

/** Finds line breaks with a header field behind them, where a value may become one, and bytes 0. */
export function findProtocolAbuse(value: ValueReading, listener: SignListener): void {
  const { bytes, length, place } = value;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (byte === Byte.Nul) listener.found(Sign.NulByte, at);
    // Texts that people paste hold whole mails.
    else if ((byte === Byte.Lf || byte === Byte.Cr) && place !== Place.Body && isField(bytes, at + 1)) {
      listener.found(Sign.HeaderInjection, at);
    }
  }
}

/** Whether a field that matters, a status line or a request line begins at `from`. */
function isField(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (at < from + MAX_BLANKS && bytes[at]! <= Byte.Space && bytes[at] !== Byte.Nul) at++;
  const first = at;
  while (at < first + MAX_NAME && ((bytes[at]! >= Byte.LowerA && bytes[at]! <= LOWER_Z) || bytes[at] === Byte.Dash))
    at++;
  const word = FIELDS.valueOf(bytes, first, at);
  if (word === STATUS) return bytes[at] === Byte.Slash && bytes[at + 1] === ONE;
  if (word === METHOD) return bytes[at] === Byte.Space && bytes[at + 1] === Byte.Slash;
  while (bytes[at] === Byte.Space) at++;
  return word === FIELD && bytes[at] === Byte.Colon;
}

const FIELD = 1;
const STATUS = 2;
const METHOD = 3;
const FIELDS: WordSet = new WordSet([
  [
    FIELD,
    "set-cookie location content-type content-length content-disposition content-encoding transfer-encoding host",
  ],
  [FIELD, "refresh access-control-allow-origin access-control-allow-credentials x-xss-protection link cache-control"],
  [
    FIELD,
    "content-security-policy last-modified expires connection x-forwarded-for x-forwarded-host authorization cookie",
  ],
  [FIELD, "bcc cc to subject referer user-agent x-injected x-header strict-transport-security etag vary server status"],
  [STATUS, "http"],
  [METHOD, "get post put delete head options"],
]);
const MAX_BLANKS = 8;
const MAX_NAME = 36;
const ONE = 0x31;
const LOWER_Z = 0x7a;
