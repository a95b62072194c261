import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { parseHttpDate } from "./http-date.ts";

/** What a request's conditions say of the selected representation. */
export const enum Precondition {
  /** All hold, or there are none. */
  Holds = 0,
  /** The client has it already: 304. */
  NotModified,
  /** 412. */
  Failed,
}

/** What conditions are compared with. */
export interface Validators {
  /** Strong, with its quotes. */
  readonly etag: string;
  /** Seconds since the epoch. */
  readonly lastModifiedS: number;
  /** The same as an IMF-fixdate. */
  readonly lastModifiedText: string;
}

/**
 * Judges If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since for GET and HEAD. RFC 9110 §13.2.2 gives
 * the order; If-Range, the last step, is `rangeApplies`.
 * @param nowMs milliseconds since the epoch
 */
export function judgePreconditions(headers: HeaderBlock, current: Validators, nowMs: number): Precondition {
  if (headers.find(HeaderId.IfMatch) >= 0) {
    if (!listNames(headers, HeaderId.IfMatch, current.etag, false)) return Precondition.Failed;
  } else {
    const since = dateOf(headers, HeaderId.IfUnmodifiedSince, current, nowMs);
    // NaN, for no valid date, compares false: the field is ignored (RFC 9110 §13.1.4).
    if (current.lastModifiedS > since) return Precondition.Failed;
  }
  if (headers.find(HeaderId.IfNoneMatch) >= 0) {
    return listNames(headers, HeaderId.IfNoneMatch, current.etag, true) ? Precondition.NotModified : Precondition.Holds;
  }
  const since = dateOf(headers, HeaderId.IfModifiedSince, current, nowMs);
  return current.lastModifiedS <= since ? Precondition.NotModified : Precondition.Holds;
}

/**
 * Whether a Range field counts: there is no If-Range, or it names the current representation. RFC 9110 §13.1.5.
 * @param nowMs milliseconds since the epoch
 */
export function rangeApplies(headers: HeaderBlock, current: Validators, nowMs: number): boolean {
  const index = headers.find(HeaderId.IfRange);
  if (index < 0) return true;
  if (headers.find(HeaderId.IfRange, index + 1) >= 0) return false;
  const text = headers.valueText(index);
  // A weak tag is never equal under strong comparison.
  if (text.startsWith('"') || text.startsWith("W/")) return text === current.etag;
  // RFC 9110 §8.8.2.2: a date is a strong validator only if a second change within its second is past.
  const isStrong = nowMs - current.lastModifiedS * 1000 >= 1000;
  return isStrong && parseHttpDate(text, nowMs) === current.lastModifiedS;
}

/** The date in a field, or NaN if there is none, it is not a date, or there are two. */
function dateOf(headers: HeaderBlock, id: HeaderId, current: Validators, nowMs: number): number {
  const index = headers.find(id);
  if (index < 0 || headers.find(id, index + 1) >= 0) return Number.NaN;
  const text = headers.valueText(index);
  // Clients send back what they were given: no need to read it.
  return text === current.lastModifiedText ? current.lastModifiedS : parseHttpDate(text, nowMs);
}

/** Whether any field with this id is `*` or lists the tag. */
function listNames(headers: HeaderBlock, id: HeaderId, etag: string, weakly: boolean): boolean {
  for (let index = headers.find(id); index >= 0; index = headers.find(id, index + 1)) {
    const text = headers.valueText(index);
    if (text === "*" || text === etag || listHas(text, etag, weakly)) return true;
  }
  return false;
}

/**
 * Whether a list of entity tags holds `etag`. RFC 9110 §8.8.3: commas may stand within the quotes. What follows a
 * malformed tag is not read.
 */
function listHas(text: string, etag: string, weakly: boolean): boolean {
  let at = 0;
  while (at < text.length) {
    const c = text[at];
    if (c === "," || c === " " || c === "\t") {
      at++;
      continue;
    }
    const isWeak = text.startsWith("W/", at);
    const open = isWeak ? at + 2 : at;
    const close = text[open] === '"' ? text.indexOf('"', open + 1) : -1;
    if (close < 0) return false;
    if ((weakly || !isWeak) && close + 1 - open === etag.length && text.startsWith(etag, open)) return true;
    at = close + 1;
  }
  return false;
}
