import { holdsDotSegment, mergeSlashes, removeDotSegments } from "./dot-segments.ts";
import { decodeOnce, escapedByte } from "./percent-decoding.ts";

/** The two forms of a path that routing works with. */
export interface CanonicalPath {
  /** For the upstream: dot segments resolved, every other byte as it came. */
  readonly sanitised: string;
  /** For matching: `sanitised` percent-decoded once, runs of slashes merged. No segment of it is `.` or `..`. */
  readonly canonical: string;
  /** Whether a resolved dot segment owed its dots or its slashes to percent-encoding. */
  readonly encodedDots: boolean;
}

/**
 * Two-stage canonicalisation. Stage 1 works on the raw path: segments end at literal slashes, encoded slashes are
 * ordinary characters, and `.` may be written `%2e` (RFC 3986 §6.2.2). Stage 2 looks at the decoded path: what is
 * left of dot segments stands between encoded slashes, and is resolved with the spelling of all else kept.
 * Both forms then say the same of where the path leads, so that what is matched is what is forwarded.
 * @param raw the raw path, one character a byte; a text that does not begin with "/" is only decoded
 */
export function canonicalise(raw: string): CanonicalPath {
  const decoded = decodeOnce(raw);
  const isLiteral = decoded === raw || !raw.startsWith("/") || !holdsDotSegment(decoded);
  const literal = removeDotSegments(raw);
  const sanitised = isLiteral ? literal : resolve(resolve(raw, false), true);
  return {
    sanitised,
    canonical: mergeSlashes(sanitised === raw ? decoded : decodeOnce(sanitised)),
    encodedDots: sanitised !== literal,
  };
}

/**
 * Where the sanitised path goes on behind its first `count` non-empty segments, an encoded slash ending a segment too.
 * @returns an offset; at it stands a slash, an encoded slash, or the end
 */
export function offsetBehindSegments(sanitised: string, count: number): number {
  let at = 0;
  for (let left = count; left > 0 && at < sanitised.length; left--) {
    for (let width = slashWidth(sanitised, at); width > 0; width = slashWidth(sanitised, at)) at += width;
    while (at < sanitised.length && slashWidth(sanitised, at) === 0) at++;
  }
  return at;
}

/** The rest of a path from `from`, with a plain slash at its beginning in any case. */
export function pathFrom(sanitised: string, from: number): string {
  return `/${sanitised.slice(from + slashWidth(sanitised, from))}`;
}

/** Resolves the segments that percent-decode to dots. `atEncoded`: encoded slashes end segments too. */
function resolve(path: string, atEncoded: boolean): string {
  const starts = segmentStarts(path, atEncoded);
  const kept: number[] = [];
  let changed = false;
  for (let i = 0; i < starts.length; i++) {
    const from = starts[i]!;
    const dots = dotsOf(path, from + slashWidth(path, from), starts[i + 1] ?? path.length);
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
    const width = slashWidth(path, at);
    if (width === 1 || (width === 3 && atEncoded)) starts.push(at);
  }
  return starts;
}

/** The kept segments in a row. The result begins with a plain slash. */
function join(path: string, starts: readonly number[], kept: readonly number[]): string {
  let out = "";
  for (const index of kept) {
    out += index === EMPTY_SEGMENT ? "/" : path.slice(starts[index]!, starts[index + 1] ?? path.length);
  }
  return pathFrom(out, 0);
}

/** 1 for a segment that decodes to `.`, 2 for `..`, else 0. */
function dotsOf(path: string, from: number, to: number): number {
  let dots = 0;
  for (let at = from; at < to; dots++) {
    if (dots === 2) return 0;
    if (path.charCodeAt(at) === DOT) at++;
    else if (at + 2 < to && escapedByte(path, at) === DOT) at += 3;
    else return 0;
  }
  return dots;
}

/** 1 at a slash, 3 at an encoded one, else 0. */
function slashWidth(path: string, at: number): number {
  if (path.charCodeAt(at) === SLASH) return 1;
  return escapedByte(path, at) === SLASH ? 3 : 0;
}

/** Stands in a list of segments for the empty one that a resolved last segment leaves behind. */
const EMPTY_SEGMENT = -1;
const DOT = 0x2e;
const SLASH = 0x2f;
