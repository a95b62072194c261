import { type HeaderBlock, HeaderId, HeaderIdSet } from "../../message/header-block.ts";
import { type BareItem, type Member, parseDictionary } from "../../proto/semantics/structured-fields.ts";

/** What a response says to caches. Seconds are -1 if they are not stated. RFC 9111 §5.2.2. */
export interface ResponseDirectives {
  /** Whether it says so to this cache in particular, so that Cache-Control and Expires are for others. RFC 9213 §2.1. */
  readonly isTargeted: boolean;
  readonly noCache: boolean;
  readonly noStore: boolean;
  readonly isPrivate: boolean;
  readonly isPublic: boolean;
  /** Whether it names a time for shared caches alone: s-maxage. */
  readonly isForShared: boolean;
  /** Whether it must not be served stale, whatever else it says: must-revalidate, proxy-revalidate. */
  readonly neverStale: boolean;
  readonly sharedMaxAgeS: number;
  readonly maxAgeS: number;
  readonly staleWhileRevalidateS: number;
  readonly staleIfErrorS: number;
}

/** What a request asks of the cache. RFC 9111 §5.2.1. */
export interface RequestDirectives {
  /** docs/cache.md#forced-refresh */
  readonly refresh: boolean;
  readonly noStore: boolean;
  readonly onlyIfCached: boolean;
  /** For how long the response must still be fresh; 0 if nothing is asked. */
  readonly minFreshS: number;
  /** For how long it may have been stale; -1 for not at all, Infinity for any time. */
  readonly maxStaleS: number;
}

/** Reads a response's CDN-Cache-Control fields; if there are none that are well formed, those of Cache-Control. */
export function responseDirectives(headers: HeaderBlock): ResponseDirectives {
  if (!headers.mayHave(SAYING)) return NO_DIRECTIVES;
  const index = headers.find(HeaderId.CacheControl);
  const plain = index < 0 ? NO_DIRECTIVES : plainDirectives(headers, index);
  const targeted = headers.find(HeaderId.CdnCacheControl);
  return targeted < 0 ? plain : (targetedDirectives(headers, targeted, plain) ?? plain);
}

/**
 * RFC 9213: a dictionary for caches such as this one; malformed, empty or with a value of another kind it counts as absent. Who
 * may share what was made for a client that shows who it is, Cache-Control alone says: docs/security.md#cache-and-identity.
 */
function targetedDirectives(headers: HeaderBlock, first: number, plain: ResponseDirectives): ResponseDirectives | null {
  const lines: string[] = [];
  for (let i = first; i >= 0; i = headers.find(HeaderId.CdnCacheControl, i + 1)) lines.push(headers.valueText(i));
  const all = parseDictionary(lines.join(", "));
  if (all === null || all.size === 0) return null;
  const seconds = SECONDS_OF.map((name) => secondsIn(all.get(name)));
  if (seconds.some(Number.isNaN)) return null;
  const [sharedMaxAgeS, maxAgeS, staleWhileRevalidateS, staleIfErrorS] = seconds as [number, number, number, number];
  return {
    isTargeted: true,
    noCache: isSaid(all.get("no-cache")),
    noStore: isSaid(all.get("no-store")),
    isPrivate: isSaid(all.get("private")),
    isPublic: plain.isPublic && !plain.noStore && !plain.noCache && !plain.isPrivate,
    isForShared: sharedMaxAgeS >= 0 || isSaid(all.get("public")),
    neverStale: isSaid(all.get("must-revalidate")) || isSaid(all.get("proxy-revalidate")),
    sharedMaxAgeS,
    maxAgeS,
    staleWhileRevalidateS,
    staleIfErrorS,
  };
}

/** NaN for what is no number of seconds. */
function secondsIn(member: Member | undefined): number {
  if (member === undefined) return -1;
  const item = bareItemOf(member);
  const isSeconds = item?.kind === "integer" && item.value >= 0;
  return isSeconds ? Math.min(item.value, MAX_SECONDS) : Number.NaN;
}

/** What forbids counts with names of fields too, as in `no-cache="set-cookie"`. */
function isSaid(member: Member | undefined): boolean {
  return member !== undefined && bareItemOf(member)?.value !== false;
}

/** Null for a list. */
function bareItemOf(member: Member): BareItem | null {
  return "item" in member ? member.item : null;
}

/** Reads a response's Cache-Control fields. */
function plainDirectives(headers: HeaderBlock, index: number): ResponseDirectives {
  const all = directivesOf(headers, index);
  // What forbids counts however it is written, what permits only if it cannot mean anything else.
  const permits = permissionsOf(headers, index);
  return {
    isTargeted: false,
    noCache: all.has("no-cache"),
    noStore: all.has("no-store"),
    isPrivate: all.has("private"),
    isPublic: PUBLIC.test(permits),
    neverStale: all.has("must-revalidate") || all.has("proxy-revalidate"),
    isForShared: SHARED_MAX_AGE.test(permits),
    sharedMaxAgeS: secondsOf(all, "s-maxage"),
    maxAgeS: secondsOf(all, "max-age"),
    staleWhileRevalidateS: secondsOf(all, "stale-while-revalidate"),
    staleIfErrorS: secondsOf(all, "stale-if-error"),
  };
}

/** Reads a request's Cache-Control and Pragma fields. */
export function requestDirectives(headers: HeaderBlock): RequestDirectives {
  if (!headers.mayHave(ASKING)) return ASKS_NOTHING;
  const index = headers.find(HeaderId.CacheControl);
  const pragma = headers.find(HeaderId.Pragma);
  const all = index < 0 ? NONE : directivesOf(headers, index);
  const noStore = all.has("no-store");
  const saysRefresh = noStore || all.has("no-cache") || secondsOf(all, "max-age") === 0;
  return {
    refresh: saysRefresh || (pragma >= 0 && PRAGMA_NO_CACHE.test(headers.valueText(pragma))),
    noStore,
    onlyIfCached: all.has("only-if-cached"),
    minFreshS: Math.max(0, secondsOf(all, "min-fresh")),
    maxStaleS: all.get("max-stale") === "" ? Number.POSITIVE_INFINITY : secondsOf(all, "max-stale"),
  };
}

/** All directives, names in lower case; of one that occurs twice the smaller number counts. */
function directivesOf(headers: HeaderBlock, first: number): ReadonlyMap<string, string> {
  const all = new Map<string, string>();
  for (let i = first; i >= 0; i = headers.find(HeaderId.CacheControl, i + 1)) {
    for (const match of headers.valueText(i).matchAll(DIRECTIVE)) {
      const name = match[1]!.toLowerCase();
      const value = unquoted(match[2] ?? "");
      const known = all.get(name);
      all.set(name, known === undefined || numberOf(value) < numberOf(known) ? value : known);
    }
  }
  return all;
}

/** All fields as one list, without the contents of quoted strings: of one that is not closed, all that follows in its field. */
function permissionsOf(headers: HeaderBlock, first: number): string {
  let text = "";
  for (let i = first; i >= 0; i = headers.find(HeaderId.CacheControl, i + 1)) {
    text += `${headers.valueText(i).replace(QUOTED, '""')},`;
  }
  return text;
}

function secondsOf(all: ReadonlyMap<string, string>, name: string): number {
  const value = all.get(name);
  return value === undefined ? -1 : numberOf(value);
}

/** RFC 9111 §4.2.1: what is no number of seconds makes the response stale, so 0. */
function numberOf(value: string): number {
  return DIGITS.test(value) ? Math.min(Number(value), MAX_SECONDS) : 0;
}

function unquoted(value: string): string {
  const text = value.trim();
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

const ASKING = new HeaderIdSet([HeaderId.CacheControl, HeaderId.Pragma]);
const NONE: ReadonlyMap<string, string> = new Map();
const SAYING = new HeaderIdSet([HeaderId.CacheControl, HeaderId.CdnCacheControl]);
const SECONDS_OF = ["s-maxage", "max-age", "stale-while-revalidate", "stale-if-error"] as const;
const ASKS_NOTHING: RequestDirectives = {
  refresh: false,
  noStore: false,
  onlyIfCached: false,
  minFreshS: 0,
  maxStaleS: -1,
};
const NO_DIRECTIVES: ResponseDirectives = {
  isTargeted: false,
  noCache: false,
  noStore: false,
  isPrivate: false,
  isPublic: false,
  isForShared: false,
  neverStale: false,
  sharedMaxAgeS: -1,
  maxAgeS: -1,
  staleWhileRevalidateS: -1,
  staleIfErrorS: -1,
};
/** A token, perhaps with a token or a quoted string after it: commas within quotes end nothing. */
const DIRECTIVE = /([^\s,;="]+)(?:[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^,]*))?/g;
const QUOTED = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?$)/gs;
const PUBLIC = /(?:^|,)[ \t]*public[ \t]*(?=,)/i;
const SHARED_MAX_AGE = /(?:^|,)[ \t]*s-maxage[ \t]*(?==)/i;
const DIGITS = /^\d+$/;
const PRAGMA_NO_CACHE = /(?:^|[,\s])no-cache(?:$|[,\s])/i;
/** RFC 9111 §1.2.2: more than that is treated as this. */
const MAX_SECONDS = 2 ** 31;
