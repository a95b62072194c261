import { Byte, LOWER, latin1 } from "../../core/bytes.ts";
import { HEADER_ID_COUNT, type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { isSameFolded } from "../../proto/h1/claimed-fields.ts";
import { COOKIE_BYTES, findGroups, findPackedGroups, Role, URL_BYTES, VALUE_BYTES } from "./match/escaped-scan.ts";
import { SCHEME } from "./match/scan.ts";
import type { SeenValues } from "./match/seen-values.ts";
import type { StepBudget } from "./match/step-budget.ts";
import { InputLocation } from "./match/value-reading.ts";
import type { RuleTables } from "./rule-table.ts";
import { inspectPairs, type ValueInspector } from "./value-inspector.ts";

/** How a header's value is read. */
const enum Reading {
  /** Not at all, but for lookups of logging libraries. */
  None = 0,
  Agent,
  /** A URL with a query. */
  Url,
  Cookie,
  Value,
}

/** Header bytes up to which each is examined, rather than all that has been received searched. */
const SHORT_HEAD_BYTES = 256;

/**
 * Whether one of the headers that rules look at may hold something: User-Agent, Referer, Cookie, Content-Type and X-*. All others are
 * asked for lookups only, which loggers carry out wherever they stand.
 * @param seen values that the firewall need not read again
 * @param steps counts the unpacked data
 */
export function mayHeadersMatch(
  tables: RuleTables,
  headers: HeaderBlock,
  seen: SeenValues,
  steps: StepBudget,
): boolean {
  const { automaton, groupsAt } = tables;
  const { bytes, count } = headers;
  for (let i = 0; i < count; i++) {
    const reading = readingOf(headers, i);
    if (reading === Reading.None) continue;
    const from = headers.valueFrom(i);
    const to = headers.valueTo(i);
    if (seen.has(reading - 1, bytes, from, to)) continue;
    const groups = groupsAt[reading === Reading.Agent ? InputLocation.Agent : InputLocation.Extension]!;
    if ((findGroups(automaton, KINDS[reading]!, bytes, from, to) & groups) !== 0) return true;
    if (reading !== Reading.Agent && (findPackedGroups(automaton, bytes, from, to, steps) & groups) !== 0) return true;
    seen.note(bytes, from, to);
  }
  return count > 0 && hasLookup(headers);
}

/** Inspects the headers that rules look at. */
export function inspectHeaders(inspector: ValueInspector, headers: HeaderBlock): void {
  for (let i = 0; i < headers.count; i++) {
    const { bytes } = headers;
    const from = headers.valueFrom(i);
    const to = headers.valueTo(i);
    const reading = readingOf(headers, i);
    if (reading === Reading.Cookie) {
      inspectPairs(inspector, InputLocation.Header, Byte.Semicolon, bytes, from, to);
      continue;
    }
    inspector.setName(bytes, headers.nameFrom(i), headers.nameTo(i));
    if (reading === Reading.Url) inspectUrl(inspector, headers, i);
    else if (reading !== Reading.None || isLookup(bytes, from, to)) {
      inspector.value.location = reading === Reading.Agent ? InputLocation.Agent : InputLocation.Extension;
      inspector.value.loadEscaped(bytes, from, to, false);
      inspector.inspect(bytes, from, to);
      if (reading === Reading.Value) inspectJoined(inspector, headers, i);
    }
  }
}

/** The values of all fields with the name of the first of them, as most origins join them. RFC 9110 §5.2. */
function inspectJoined(inspector: ValueInspector, headers: HeaderBlock, first: number): void {
  const { bytes, count } = headers;
  const name = headers.nameBytes(first);
  const values: Uint8Array[] = [];
  for (let i = 0; i < count; i++) {
    if (!isSameFolded(bytes, headers.nameFrom(i), headers.nameTo(i), name)) continue;
    if (i < first) return;
    values.push(...(values.length > 0 ? [COMMA] : []), headers.valueBytes(i));
  }
  if (values.length === 1) return;
  const all = Buffer.concat(values);
  inspector.value.loadEscaped(all, 0, all.length, false);
  inspector.inspect(all, 0, all.length);
}

/** The path of a Referer as one value, then its query as pairs, all under the header's name. */
function inspectUrl(inspector: ValueInspector, headers: HeaderBlock, index: number): void {
  const { bytes } = headers;
  const { value } = inspector;
  const to = headers.valueTo(index);
  value.location = InputLocation.Header;
  for (let from = headers.valueFrom(index); from < to; ) {
    let end = from;
    let valueFrom = from;
    for (; end < to && URL_BYTES[bytes[end]!] !== Role.Separator; end++) {
      if (valueFrom === from && bytes[end] === Byte.Equals) valueFrom = end + 1;
    }
    value.loadEscaped(bytes, valueFrom, end, true);
    inspector.inspect(bytes, from, end);
    from = end + 1;
  }
}

function readingOf(headers: HeaderBlock, index: number): Reading {
  const id = headers.ids[index]!;
  const { bytes } = headers;
  if (id === HeaderId.Referer) return isAddress(bytes, headers.valueFrom(index)) ? Reading.Url : Reading.Value;
  if (id !== HeaderId.Other && id !== HeaderId.NamedByConnection) return READINGS[id]!;
  const from = headers.nameFrom(index);
  const next = bytes[from + 1];
  // Origins that read fields as CGI does take X_Name for X-Name.
  const isExtension = LOWER[bytes[from]!] === Byte.LowerX && (next === Byte.Dash || next === Byte.Underscore);
  return isExtension ? Reading.Value : Reading.None;
}

/** Whether a Referer is what browsers send, an address with its scheme, or a path: pages write what it is else into their logs. */
function isAddress(bytes: Uint8Array, from: number): boolean {
  if (bytes[from] === Byte.Slash) return true;
  let at = from;
  while (at < from + MAX_SCHEME && SCHEME[LOWER[bytes[at]!]!] === 1) at++;
  return at > from && bytes[at] === Byte.Colon;
}

/**
 * Whether a header that is not looked at otherwise holds one. Of long heads a native search says mostly "no" at once; of short
 * ones it is dearer than a look, since it cannot be told to stop at their end.
 */
function hasLookup(headers: HeaderBlock): boolean {
  const { bytes, count } = headers;
  const from = headers.nameFrom(0);
  const to = headers.valueTo(count - 1);
  if (to - from > SHORT_HEAD_BYTES) {
    const first = bytes.indexOf(Byte.Dollar, from);
    if (first < 0 || first >= to) return false;
  }
  return isAnyLookup(headers);
}

function isAnyLookup(headers: HeaderBlock): boolean {
  const { bytes, count } = headers;
  for (let i = 0; i < count; i++) {
    if (readingOf(headers, i) === Reading.None && isLookup(bytes, headers.valueFrom(i), headers.valueTo(i)))
      return true;
  }
  return false;
}

function isLookup(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at + 1 < to; at++) {
    if (bytes[at] === Byte.Dollar && bytes[at + 1] === Byte.OpenBrace) return true;
  }
  return false;
}

/** chrome-extension: is one of the longer ones. */
const MAX_SCHEME = 24;
const COMMA: Uint8Array = latin1(", ");
const READINGS: Uint8Array = readings();
const KINDS: Readonly<Record<Reading, Uint8Array>> = {
  [Reading.None]: VALUE_BYTES,
  [Reading.Agent]: VALUE_BYTES,
  [Reading.Url]: URL_BYTES,
  [Reading.Cookie]: COOKIE_BYTES,
  [Reading.Value]: VALUE_BYTES,
};

function readings(): Uint8Array {
  const out = new Uint8Array(HEADER_ID_COUNT);
  out[HeaderId.UserAgent] = Reading.Agent;
  out[HeaderId.Cookie] = Reading.Cookie;
  for (const id of [HeaderId.XForwardedFor, HeaderId.XForwardedHost, HeaderId.XForwardedProto, HeaderId.XRealIp]) {
    out[id] = Reading.Value;
  }
  out[HeaderId.XRequestId] = Reading.Value;
  // Parsers of multipart bodies have told of what they could not read by evaluating it (CVE-2017-5638).
  out[HeaderId.ContentType] = Reading.Value;
  return out;
}
