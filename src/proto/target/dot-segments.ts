import { Byte, indexOfByte } from "../../core/bytes.ts";
import { percentByte } from "./percent-decoding.ts";

/**
 * What beside `.` and `..` themselves a reader takes for them, as bits. Each of them is what some servers do: routing reads paths as
 * most do, the firewall as the most lenient one does.
 */
export const enum DotReading {
  /** RFC 3986 §5.2.4: literal dots and nothing else. */
  Literal = 0,
  /** Dots may be written `%2e`. RFC 3986 §6.2.2. */
  Escaped = 1,
  /** Parameters may follow: `..;v=1`. */
  Parameters = 2,
  /** What a second parser takes for a query or a fragment may follow: `..?x`, `..#x`. */
  Suffix = 4,
  /** Spaces may follow, which Windows cuts off at the end of a name. */
  Blanks = 8,
  /** `....` too: the rest of `....//` when a filter takes out `../`. */
  Filtered = 16,
}

/**
 * How many dots a segment is made of: all that ask whether a path climbs ask this.
 * @param path one character a byte, or bytes; the segment is `[from, to)` of it, without the slashes around it
 * @returns 1 for the segment `.`, 2 for `..`, 0 for every other
 */
export function dotsOf(path: string | Uint8Array, from: number, to: number, reading: DotReading): number {
  let dots = 0;
  let code = 0;
  let at = from;
  while (at < to) {
    code = codeAt(path, at);
    let width = 1;
    if (code === Byte.Percent && (reading & DotReading.Escaped) !== 0 && at + 2 < to) {
      const byte = percentByte(codeAt(path, at + 1), codeAt(path, at + 2));
      if (byte >= 0) {
        code = byte;
        width = 3;
      }
    }
    if (code !== Byte.Dot) break;
    dots++;
    at += width;
  }
  if (dots > 2) return dots === 4 && at === to && (reading & DotReading.Filtered) !== 0 ? 2 : 0;
  if (at === to) return dots;
  if (code === Byte.Space && (reading & DotReading.Blanks) !== 0) {
    while (at < to && codeAt(path, at) === Byte.Space) at++;
    if (at === to) return dots;
    code = codeAt(path, at);
  }
  if (code === Byte.Semicolon) return (reading & DotReading.Parameters) !== 0 ? dots : 0;
  return (code === Byte.Question || code === Byte.Hash) && (reading & DotReading.Suffix) !== 0 ? dots : 0;
}

/**
 * Whether a segment of `bytes[from, to)` is `.` or `..`, parameters after a semicolon left out. Only literal dots and slashes
 * count.
 */
export function hasDotSegment(bytes: Uint8Array, from: number, to: number): boolean {
  let atStart = true;
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte === Byte.Dot && atStart) {
      const end = indexOfByte(bytes, Byte.Slash, at, to);
      if (dotsOf(bytes, at, end, DotReading.Parameters) > 0) return true;
    }
    atStart = byte === Byte.Slash;
  }
  return false;
}

/** Whether a segment of the path is `.` or `..`. */
export function holdsDotSegment(path: string, reading: DotReading = DotReading.Literal): boolean {
  return firstDotSegment(path, reading) >= 0;
}

/**
 * The part of the path before its first `.` or `..` segment, without the slash in between; "/" where that is empty.
 * The whole path if it has no such segment.
 */
export function beforeDotSegments(path: string): string {
  const at = firstDotSegment(path, DotReading.Literal);
  if (at < 0) return path;
  return at <= 1 ? "/" : path.slice(0, at - 1);
}

/**
 * Resolves `.` and `..` segments. RFC 3986 §5.2.4: empty segments count, and a path that climbs above "/" stays at "/".
 * A text that does not begin with a slash is given back as it is.
 */
export function removeDotSegments(path: string): string {
  if (!path.startsWith("/") || !holdsDotSegment(path)) return path;
  // Where the kept segments begin, each with the slash in front of it. Offsets, since a hostile path has thousands.
  const starts: number[] = [];
  const ends: number[] = [];
  let end = 0;
  for (let from = 0; from < path.length; from = end) {
    end = endOfSegment(path, from + 1);
    const dots = dotsOf(path, from + 1, end, DotReading.Literal);
    if (dots === 2) {
      starts.pop();
      ends.pop();
    }
    // RFC 3986 §5.2.4 leaves a slash where the last segment was resolved: `/a/b/..` is `/a/`.
    const isResolvedLast = dots > 0 && end === path.length;
    if (dots > 0 && !isResolvedLast) continue;
    starts.push(from);
    ends.push(isResolvedLast ? from + 1 : end);
  }
  let out = "";
  for (let i = 0; i < starts.length; i++) out += path.slice(starts[i]!, ends[i]!);
  return out;
}

/** Whether resolving the `..` segments, one after the other, would at some point leave "/". Empty segments count. */
export function climbsAboveRoot(path: string): boolean {
  let depth = 0;
  let end = 0;
  for (let from = path.indexOf("/"); from >= 0 && from < path.length; from = end) {
    end = endOfSegment(path, from + 1);
    const dots = dotsOf(path, from + 1, end, DotReading.Literal);
    if (dots === 0) depth++;
    else if (dots === 2 && --depth < 0) return true;
  }
  return false;
}

/** Whether a segment is longer than a file name can be, so that nothing lies below it, not even by way of `..`. */
export function hasEndlessSegment(path: string): boolean {
  let from = 0;
  for (let slash = path.indexOf("/"); slash >= 0; slash = path.indexOf("/", from)) {
    if (slash - from > MAX_NAME_BYTES) return true;
    from = slash + 1;
  }
  return path.length - from > MAX_NAME_BYTES;
}

/** Makes one slash out of every run of slashes. */
export function mergeSlashes(path: string): string {
  let at = path.indexOf("//");
  if (at < 0) return path;
  let out = "";
  let copied = 0;
  while (at >= 0) {
    out += path.slice(copied, at + 1);
    copied = at + 1;
    while (copied < path.length && path.charCodeAt(copied) === Byte.Slash) copied++;
    at = path.indexOf("//", copied);
  }
  return out + path.slice(copied);
}

/** Whether `path` is `prefix` or goes on after it with a slash. "/" holds every path that begins with a slash. */
export function isWithin(path: string, prefix: string): boolean {
  if (prefix === "/") return path.startsWith("/");
  return path.startsWith(prefix) && (path.length === prefix.length || path.charCodeAt(prefix.length) === Byte.Slash);
}

/** Where the segment that begins at `from` ends: at the next slash or at the end. */
function endOfSegment(path: string, from: number): number {
  const slash = path.indexOf("/", from);
  return slash < 0 ? path.length : slash;
}

function codeAt(path: string | Uint8Array, at: number): number {
  return typeof path === "string" ? path.charCodeAt(at) : path[at]!;
}

/** Where the first `.` or `..` segment begins, or -1. */
function firstDotSegment(path: string, reading: DotReading): number {
  for (let at = path.startsWith(".") ? 0 : nextHidden(path, 0); at >= 0; at = nextHidden(path, at)) {
    if (dotsOf(path, at, endOfSegment(path, at), reading) > 0) return at;
  }
  return -1;
}

/** Where the next segment that begins with a dot begins, or -1. */
function nextHidden(path: string, from: number): number {
  const slash = path.indexOf("/.", from);
  return slash < 0 ? -1 : slash + 1;
}

/** NAME_MAX of every common file system. */
export const MAX_NAME_BYTES = 255;
