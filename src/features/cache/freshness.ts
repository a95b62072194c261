import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { parseHttpDate } from "../../proto/semantics/http-date.ts";
import type { ResponseDirectives } from "./directives.ts";

/**
 * For how long a response may be served from now on, in milliseconds; 0 and less for not at all. docs/cache.md#freshness
 * s-maxage, then max-age, then Expires minus Date, then the default; the age that the response has already counts.
 * @param defaultTtlMs for a response that says nothing
 * @param nowMs milliseconds since the epoch
 */
export function freshForMs(
  headers: HeaderBlock,
  directives: ResponseDirectives,
  defaultTtlMs: number,
  nowMs: number,
): number {
  return lifetimeMs(headers, directives, defaultTtlMs, nowMs) - ageMs(headers);
}

/** Whether a response says by itself how long it is fresh. */
export function saysFreshness(headers: HeaderBlock, directives: ResponseDirectives): boolean {
  const { sharedMaxAgeS, maxAgeS, isTargeted } = directives;
  return sharedMaxAgeS >= 0 || maxAgeS >= 0 || (!isTargeted && headers.find(HeaderId.Expires) >= 0);
}

function lifetimeMs(headers: HeaderBlock, directives: ResponseDirectives, defaultTtlMs: number, nowMs: number): number {
  if (directives.sharedMaxAgeS >= 0) return directives.sharedMaxAgeS * 1000;
  if (directives.maxAgeS >= 0) return directives.maxAgeS * 1000;
  const expires = headers.find(HeaderId.Expires);
  if (expires < 0 || directives.isTargeted) return defaultTtlMs;
  // RFC 9111 §5.3: what is no date, such as 0, is in the past. Two of them are none.
  if (headers.find(HeaderId.Expires, expires + 1) >= 0) return 0;
  const until = parseHttpDate(headers.valueText(expires), nowMs);
  if (Number.isNaN(until)) return 0;
  const date = parseHttpDate(headers.valueOf(HeaderId.Date), nowMs);
  return until * 1000 - (Number.isNaN(date) ? nowMs : date * 1000);
}

/** The age that a cache before us states: the first of several; what is no number is ignored. RFC 9111 §5.1. */
function ageMs(headers: HeaderBlock): number {
  const index = headers.find(HeaderId.Age);
  const match = index < 0 ? null : FIRST_AGE.exec(headers.valueText(index));
  return match === null ? 0 : Number(match[1]) * 1000;
}

const FIRST_AGE = /^(\d+)[ \t]*(?:,|$)/;
