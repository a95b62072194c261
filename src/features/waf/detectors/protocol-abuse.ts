import { Byte, indexOfByte } from "../../../core/bytes.ts";
import { FIELD_NAME } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, each, type WafRule } from "../rule.ts";

const HEADER_INJECTION: WafRule = {
  id: "PROTOCOL-001",
  crs: [921151, 921120, 921160, 921190],
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "CRLF injection of a header field or status line",
  keywords: ["\n", ...each("set-cookie: location: content-type: content-length: http/", (field) => `\u0090${field}`)],
};
const NUL_BYTE: WafRule = {
  id: "PROTOCOL-002",
  crs: [920270],
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "NUL byte",
  keywords: ["\0"],
};
/** Found by the value inspector. */
export const OVER_ENCODING: WafRule = {
  id: "PROTOCOL-003",
  crs: [920230],
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "excessive layers of encoding",
};
/** The next three are found by the readers of bodies. */
export const HIDDEN_CHARSET: WafRule = {
  id: "PROTOCOL-004",
  crs: [920480],
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "body in a character set that hides its text",
};
export const UNREADABLE_BODY: WafRule = {
  id: "PROTOCOL-005",
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "body that cannot be decoded, or that readers take apart in different ways",
};
export const GROWING_ENTITY: WafRule = {
  id: "PROTOCOL-006",
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "XML entity expansion",
};
/** A request whose inspection costs more than that of any honest one. docs/security.md#the-cost-of-inspection */
export const BUDGET_EXHAUSTED: WafRule = {
  id: "PROTOCOL-007",
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "inspection budget exhausted",
};

/** Line breaks, if a value may become a header. Texts in a body have them by right, and whole mails are pasted there. */
export const LINE_BREAK_GROUP: DetectorGroup = {
  rules: [HEADER_INJECTION],
  locations: [InputLocation.Query, InputLocation.Header, InputLocation.Extension, InputLocation.Path],
  keywords: () => [],
  detectors: () => [{ analyse: findHeaderInjection }],
};

export const NUL_GROUP: DetectorGroup = {
  rules: [NUL_BYTE],
  locations: [InputLocation.Query, InputLocation.Header, InputLocation.Extension, InputLocation.Body],
  keywords: () => [],
  detectors: () => [{ analyse: findNul }],
};

/** The rules of HTTP itself that are not found by keywords. */
export const MESSAGE_RULES: readonly WafRule[] = [
  OVER_ENCODING,
  HIDDEN_CHARSET,
  UNREADABLE_BODY,
  GROWING_ENTITY,
  BUDGET_EXHAUSTED,
];

/** Finds line breaks with a header field after them, if a value may become one; and a NUL beside them. */
function findHeaderInjection(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  let isFirst = true;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (byte === Byte.Space) isFirst = false;
    const isBreak = byte === Byte.Lf || byte === Byte.Cr || isCutBreak(bytes, at);
    if (isBreak && isField(bytes, at + 1, isFirst)) listener.found(HEADER_INJECTION, at);
  }
  findNul(value, listener);
}

/** Finds the first NUL of a value. */
function findNul({ bytes, length }: ValueReading, listener: DetectionListener): void {
  const at = indexOfByte(bytes, Byte.Nul, 0, length);
  if (at < length) listener.found(NUL_BYTE, at);
}

/** Characters such as U+560A and U+010A, whose last byte is a line break to writers that keep no more of them. */
function isCutBreak(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at]!;
  if (byte !== 0x8a && byte !== 0x8d) return false;
  return bytes[at - 1] === 0xc4 || (bytes[at - 1] === 0x98 && bytes[at - 2] === 0xe5);
}

/**
 * Whether a field that matters, a status line or a request line begins at `from`.
 * @param isFirst whether no blank precedes it
 */
function isField(bytes: Uint8Array, from: number, isFirst: boolean): boolean {
  let at = from;
  while (at < from + MAX_BLANKS && bytes[at]! <= Byte.Space && bytes[at] !== Byte.Nul) at++;
  const first = at;
  while (at < first + MAX_NAME && FIELD_NAME[bytes[at]!] === 1) at++;
  const word = FIELDS.valueOf(bytes, first, at);
  if (word === STATUS) return bytes[at] === Byte.Slash && bytes[at + 1] === ONE;
  if (word === METHOD) return bytes[at] === Byte.Space && bytes[at + 1] === Byte.Slash;
  while (bytes[at] === Byte.Space) at++;
  if (bytes[at] !== Byte.Colon) return false;
  // Lines of prose and of calendars begin with some of these words, too; a single word in front is none of prose.
  return word === FIELD || (word === PROSE && (isFirst || holdsAddress(bytes, at + 1)));
}

/** Whether an address of mail or web is in the same line, not too far after `from`. */
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
