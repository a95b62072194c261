import { equalsLower, latin1, sliceText } from "../../core/bytes.ts";
import { CacheNote } from "../../message/cache-result.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Framing, Method, type RequestHead, type ResponseHead } from "../../message/request-head.ts";
import { ListTokens } from "../../proto/h1/list-tokens.ts";
import type { CacheTimes } from "./cache-times.ts";
import { type ResponseDirectives, responseDirectives } from "./directives.ts";
import { freshForMs, saysFreshness } from "./freshness.ts";
import { sharingNeeded, sharingNeededFor } from "./identity.ts";
import type { KeyRules } from "./key-rules.ts";
import type { CachePolicy } from "./policy.ts";
import { SlotFlag } from "./store/cache-memory.ts";
import { signatureOf, tagsOf } from "./tags.ts";

/** Under which terms a response is stored. Times are those of `CacheTimes.ages`. */
export interface Terms {
  readonly freshUntilMs: number;
  readonly staleWhileUntilMs: number;
  readonly staleErrorUntilMs: number;
  /** SlotFlag bits. */
  readonly flags: number;
  /** The signature of its tags. */
  readonly tags: number;
}

/**
 * Whether a response may be stored: every condition of docs/cache.md#what-is-stored must hold; the method was judged before.
 * docs/security.md#cache-and-identity
 * @returns null when it may not: `ex.cacheNote` says why
 */
export function admit(ex: Exchange, response: ResponseHead, policy: CachePolicy, times: CacheTimes): Terms | null {
  const directives = responseDirectives(response.headers);
  ex.cacheNote = obstacleOf(ex, response, policy, directives);
  if (ex.cacheNote !== CacheNote.None) return null;
  const freshMs = freshForMs(response.headers, directives, policy.defaultTtlMs, times.clock.nowMs);
  if (freshMs > 0) return termsOf(response, directives, policy, times.ages.nowMs + freshMs);
  ex.cacheNote = CacheNote.NotFresh;
  return null;
}

/** What is in the way of storing a response, whatever its freshness. */
function obstacleOf(
  ex: Exchange,
  response: ResponseHead,
  policy: CachePolicy,
  directives: ResponseDirectives,
): CacheNote {
  const { headers, status } = response;
  if (status !== 200 && status !== 301 && status !== 404) return CacheNote.Status;
  if (directives.noStore) return CacheNote.NoStore;
  if (directives.noCache) return CacheNote.NoCache;
  if (directives.isPrivate) return CacheNote.Private;
  if (isStream(headers)) return CacheNote.EventStream;
  if (variesOtherwise(headers, policy.key)) return CacheNote.Vary;
  const shared = sharedFlags(directives);
  if (!isEnough(shared, sharingNeeded(ex, policy))) return CacheNote.Identity;
  if (!isEnough(shared, sharingNeededFor(headers, policy))) return CacheNote.SetCookie;
  if (status === 301 && pointsToItself(ex.request, response)) return CacheNote.SameRedirect;
  return lengthObstacleOf(ex.request, response, policy, directives);
}

/**
 * A body whose length was not announced is stored when it is complete, if the origin says how long it is fresh: the end of
 * chunks and that of a stream of HTTP/2 tell that nothing is missing, the end of a connection does not. A response to HEAD
 * counts with the length that it announces.
 */
function lengthObstacleOf(
  request: RequestHead,
  response: ResponseHead,
  policy: CachePolicy,
  directives: ResponseDirectives,
): CacheNote {
  if (response.framing === Framing.Chunked && request.method === Method.Get) {
    return saysFreshness(response.headers, directives) ? CacheNote.None : CacheNote.NoLength;
  }
  const isKnown = request.method === Method.Head ? response.lengthWithoutBody : response.framing === Framing.Length;
  if (!isKnown) return response.framing === Framing.None ? CacheNote.Empty : CacheNote.NoLength;
  if (response.contentLength === 0) return CacheNote.Empty;
  return response.contentLength > policy.maxPayloadBytes ? CacheNote.TooLarge : CacheNote.None;
}

/** Whether a response that says this may go to a request which needs that. */
export function isEnough(flags: number, needed: number): boolean {
  return needed === 0 || (flags & needed) !== 0;
}

function termsOf(
  { headers, fromUpstream }: ResponseHead,
  directives: ResponseDirectives,
  policy: CachePolicy,
  freshUntilMs: number,
): Terms {
  const hasValidator = headers.find(HeaderId.ETag) >= 0 || headers.find(HeaderId.LastModified) >= 0;
  // What must be confirmed is never served stale.
  const mayBeStale = !directives.neverStale && !policy.isConfirmed;
  return {
    freshUntilMs,
    tags: signatureOf(tagsOf(headers)),
    staleWhileUntilMs: mayBeStale ? staleUntil(freshUntilMs, directives.staleWhileRevalidateS) : 0,
    staleErrorUntilMs: mayBeStale ? staleUntil(freshUntilMs, directives.staleIfErrorS) : 0,
    flags:
      sharedFlags(directives) |
      (fromUpstream ? SlotFlag.FromUpstream : 0) |
      (hasValidator ? SlotFlag.HasValidator : 0) |
      // RFC 9111 §5.2.2.10: s-maxage forbids it like proxy-revalidate, but what the response itself allows.
      (mayBeStale && directives.sharedMaxAgeS < 0 ? 0 : SlotFlag.NeverStale),
  };
}

function sharedFlags({ isPublic, isForShared }: ResponseDirectives): number {
  return (isPublic ? SlotFlag.Public : 0) | (isForShared ? SlotFlag.SharedMaxAge : 0);
}

/** RFC 5861; RFC 9111 §4.2.4: not where the origin forbids it. */
function staleUntil(freshUntilMs: number, seconds: number): number {
  return seconds <= 0 ? 0 : freshUntilMs + seconds * 1000;
}

function isStream(headers: HeaderBlock): boolean {
  const type = headers.find(HeaderId.ContentType);
  if (type >= 0) {
    const from = headers.valueFrom(type);
    const to = headers.valueTo(type);
    for (const name of STREAM_TYPES) {
      if (from + name.length <= to && equalsLower(headers.bytes, from, from + name.length, name)) return true;
    }
  }
  const buffering = headers.find(HeaderId.XAccelBuffering);
  return buffering >= 0 && headers.valueEquals(buffering, NO);
}

/** Whether the response depends on fields that are not in the key. */
function variesOtherwise(headers: HeaderBlock, rules: KeyRules | null): boolean {
  for (let i = headers.find(HeaderId.Vary); i >= 0; i = headers.find(HeaderId.Vary, i + 1)) {
    const tokens = new ListTokens(headers, i);
    while (tokens.next()) {
      if (equalsLower(headers.bytes, tokens.from, tokens.to, ACCEPT_ENCODING)) continue;
      if (!rules?.headers.has(sliceText(headers.bytes, tokens.from, tokens.to).toLowerCase())) return true;
    }
  }
  return false;
}

/**
 * Whether a redirect leads back to the same resource by another scheme. The key has no scheme: stored, it would send those
 * round in circles who come by that scheme.
 */
function pointsToItself(request: RequestHead, response: ResponseHead): boolean {
  const location = ABSOLUTE.exec(response.headers.valueOf(HeaderId.Location));
  if (location === null) return false;
  const target = request.text(request.pathFrom, request.queryTo);
  return hostOf(location[1]!) === hostOf(request.authority()) && rooted(location[2]!) === rooted(target);
}

function hostOf(authority: string): string {
  return authority.toLowerCase().replace(/:\d*$/, "");
}

function rooted(target: string): string {
  return target.startsWith("/") ? target : `/${target}`;
}

/** Types of what does not end by itself. */
const STREAM_TYPES: readonly Uint8Array[] = ["text/event-stream", "multipart/x-mixed-replace"].map(latin1);
const NO: Uint8Array = latin1("no");
const ACCEPT_ENCODING: Uint8Array = latin1("accept-encoding");
const ABSOLUTE = /^https?:\/\/([^/?#]*)([^#]*)/i;
