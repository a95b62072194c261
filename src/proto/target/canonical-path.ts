import { Byte } from "../../core/bytes.ts";
import { resolveDeepDots } from "./deep-dots.ts";
import { DotReading, dotsOf, holdsDotSegment, mergeSlashes, removeDotSegments } from "./dot-segments.ts";
import { decodeOnce, escapedByte, MAX_DECODING_ROUNDS } from "./percent-decoding.ts";

/** The two forms of a path that routing works with. */
interface CanonicalPath {
  /** For the upstream: dot segments resolved, one slash at its beginning, every other byte as it came. */
  readonly sanitised: string;
  /**
   * For matching: `sanitised` percent-decoded once, runs of slashes merged. No segment of it is `.` or `..`, backslashes
   * taken for slashes or not.
   */
  readonly canonical: string;
  /** Whether a resolved dot segment owed its dots or its ends to percent-encoding, a backslash or a semicolon. */
  readonly hiddenDots: boolean;
}

/**
 * Two-stage canonicalisation. Stage 1 works on the raw path: segments end at literal slashes, encoded slashes are
 * ordinary characters, `.` may be written `%2e` (RFC 3986 §6.2.2), and parameters after the dots (`..;v=1`) change
 * nothing. Stage 2 resolves the rest of dot segments between encoded slashes and backslashes, with the spelling of all
 * else kept. Both forms then say the same of where the path leads, so that what is matched is what is forwarded.
 * docs/security.md#paths-and-hosts
 * @param raw the raw path, one character a byte; a text that does not begin with "/" is only decoded
 */
export function canonicalise(raw: string): CanonicalPath {
  const decoded = decodeOnce(raw);
  if (!raw.startsWith("/")) return { sanitised: raw, canonical: mergeSlashes(decoded), hiddenDots: false };
  const literal = removeDotSegments(raw);
  const hides = HIDING.test(raw) && holdsDotSegment(withSlashes(decoded), DotReading.Parameters);
  const resolved = hides ? resolve(resolve(raw, false), true) : literal;
  const sanitised = resolved.replace(LEADING_SLASHES, "/");
  return {
    sanitised,
    canonical: mergeSlashes(sanitised === raw ? decoded : decodeOnce(sanitised)),
    hiddenDots: resolved !== literal,
  };
}

/**
 * The same, with dot segments resolved that show only in further decodings (`%252e%252e`): by which a request is routed and forwarded, so
 * that no server behind, however often it decodes, finds any. Where escapes are left after MAX_DECODING_ROUNDS they stay, and the path
 * is refused: see `deeperReadings`.
 */
export function canonicaliseDeeply(raw: string): CanonicalPath {
  const path = canonicalise(raw);
  if (!path.canonical.includes("%") || !path.sanitised.startsWith("/") || deeperReadings(path.canonical) !== null)
    return path;
  const resolved = resolveDeepDots(path.sanitised);
  if (resolved === null) return path;
  const { sanitised, canonical } = canonicalise(resolved);
  return deeperReadings(canonical) === null ? path : { sanitised, canonical, hiddenDots: true };
}

/**
 * A canonical path as those read it who take a backslash for a slash. A name may hold a backslash, but no path of a route does,
 * so this reading never belongs to a less specific route than the other.
 */
export function slashedPath(canonical: string): string {
  return canonical.includes("\\") ? mergeSlashes(withSlashes(canonical)) : canonical;
}

/**
 * The path of a route as requests are compared with it: UTF-8, percent-decoded once, dot segments resolved, slashes merged; one character
 * a byte.
 * @param path as an operator wrote it
 */
export function canonicalRoutePath(path: string): string {
  return slashedPath(canonicalise(Buffer.from(path, "utf8").latin1Slice()).canonical);
}

/**
 * What a canonical path becomes for servers that decode it again, once or several times, in canonical form.
 * @returns none if it stays what it is; null if that shows dot segments, which some resolve and others do not, or where
 *   escapes are left after MAX_DECODING_ROUNDS
 */
export function deeperReadings(canonical: string): readonly string[] | null {
  const readings: string[] = [];
  for (let text = canonical, next = decodeOnce(text); next !== text; text = next, next = decodeOnce(text)) {
    if (readings.length === MAX_DECODING_ROUNDS || holdsDotSegment(withSlashes(next), DotReading.Parameters))
      return null;
    readings.push(mergeSlashes(next));
  }
  return readings;
}

/** The sanitised path with a plain slash in the place of every encoded slash and every backslash. */
export function withPlainSlashes(sanitised: string): string {
  return sanitised.replace(OTHER_SLASH, "/");
}

/**
 * Where the sanitised path goes on after its first `count` non-empty segments, which end at encoded slashes and
 * backslashes too.
 * @returns an offset; at it stands a slash in some spelling, or the end
 */
export function offsetBehindSegments(sanitised: string, count: number): number {
  let at = 0;
  for (let left = count; left > 0 && at < sanitised.length; left--) {
    at = behindSlashes(sanitised, at);
    while (at < sanitised.length && slashWidth(sanitised, at) === 0) at++;
  }
  return at;
}

/**
 * The rest of a path from `from` on, with one plain slash at its beginning in the place of all slashes in any spelling that
 * stand there: origins and clients take `//host` and `/\host` for another server's address.
 */
export function pathFrom(sanitised: string, from: number): string {
  return `/${sanitised.slice(behindSlashes(sanitised, from))}`;
}

/** Resolves the segments that decode to dots. `atEncoded`: encoded slashes and backslashes end segments too. */
function resolve(path: string, atEncoded: boolean): string {
  const starts = segmentStarts(path, atEncoded);
  const kept: number[] = [];
  let changed = false;
  for (let i = 0; i < starts.length; i++) {
    const from = starts[i]!;
    const dots = dotsOf(path, from + slashWidth(path, from), starts[i + 1] ?? path.length, DECODED);
    if (dots === 2) kept.pop();
    if (dots === 0) kept.push(i);
    else if (i === starts.length - 1) kept.push(EMPTY_SEGMENT);
    changed ||= dots > 0;
  }
  return changed ? join(path, starts, kept) : path;
}

/** Offsets of the slashes that begin the segments. The first character of the path is one. */
function segmentStarts(path: string, atEncoded: boolean): number[] {
  const starts: number[] = [];
  for (let at = 0; at < path.length; at++) {
    if (atEncoded ? slashWidth(path, at) > 0 : path.charCodeAt(at) === Byte.Slash) starts.push(at);
  }
  return starts;
}

/** The kept segments in a row. The result begins with a plain slash. */
function join(path: string, starts: readonly number[], kept: readonly number[]): string {
  let out = "";
  for (const index of kept) {
    out += index === EMPTY_SEGMENT ? "/" : path.slice(starts[index]!, starts[index + 1] ?? path.length);
  }
  return `/${out.slice(slashWidth(out, 0))}`;
}

/** End of the run of slashes, in any spelling, that begins at `from`. */
function behindSlashes(path: string, from: number): number {
  let at = from;
  for (let width = slashWidth(path, at); width > 0; width = slashWidth(path, at)) at += width;
  return at;
}

/** 1 at a slash or a backslash, 3 at an encoded one, else 0. */
function slashWidth(path: string, at: number): number {
  const byte = path.charCodeAt(at);
  if (byte === Byte.Slash || byte === Byte.Backslash) return 1;
  const escaped = escapedByte(path, at);
  return escaped === Byte.Slash || escaped === Byte.Backslash ? 3 : 0;
}

function withSlashes(decoded: string): string {
  return decoded.replaceAll("\\", "/");
}

/** In a list of segments: the empty one that a resolved last segment leaves. */
const EMPTY_SEGMENT = -1;
/** Ways to hide a dot segment. */
const HIDING = /[%\\;]/;
/** How stage 2 reads dots. */
const DECODED: DotReading = DotReading.Escaped | DotReading.Parameters;
/** More than one slash at the beginning; browsers, and servers that resolve URLs as browsers do, read a backslash as one. */
const LEADING_SLASHES = /^\/[/\\]+/;
const OTHER_SLASH = /\\|%2f|%5c/gi;
