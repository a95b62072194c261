import { Byte } from "../../core/bytes.ts";

/**
 * Whether a segment of `bytes[from, to)` is `.` or `..`, parameters behind a semicolon left out. Only literal dots and slashes
 * count.
 */
export function hasDotSegment(bytes: Uint8Array, from: number, to: number): boolean {
  let atStart = true;
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte === Byte.Dot && atStart) {
      let next = at + 1;
      if (next < to && bytes[next] === Byte.Dot) next++;
      if (next === to || bytes[next] === Byte.Slash || bytes[next] === Byte.Semicolon) return true;
    }
    atStart = byte === Byte.Slash;
  }
  return false;
}

/** Whether a segment of the path is `.` or `..`. */
export function holdsDotSegment(path: string): boolean {
  return firstDotSegment(path) >= 0;
}

/**
 * The part of the path before its first `.` or `..` segment, without the slash in between; "/" where that is empty.
 * The whole path where it has no such segment.
 */
export function beforeDotSegments(path: string): string {
  const at = firstDotSegment(path);
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
    const dots = dotsOf(path, from + 1, end);
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
    const dots = dotsOf(path, from + 1, end);
    if (dots === 0) depth++;
    else if (dots === 2 && --depth < 0) return true;
  }
  return false;
}

/** Whether a segment is longer than a file name can be, so that nothing lies behind it, not even by way of `..`. */
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

/** Whether `path` is `prefix` or goes on behind it with a slash. "/" holds every path that begins with a slash. */
export function isWithin(path: string, prefix: string): boolean {
  if (prefix === "/") return path.startsWith("/");
  return path.startsWith(prefix) && (path.length === prefix.length || path.charCodeAt(prefix.length) === Byte.Slash);
}

/** Where the segment that begins at `from` ends: at the next slash or at the end. */
function endOfSegment(path: string, from: number): number {
  const slash = path.indexOf("/", from);
  return slash < 0 ? path.length : slash;
}

/** 1 for the segment `.`, 2 for `..`, 0 for every other. */
function dotsOf(path: string, from: number, to: number): number {
  if (to - from > 2 || to === from || path.charCodeAt(from) !== Byte.Dot) return 0;
  return to - from === 1 ? 1 : path.charCodeAt(from + 1) === Byte.Dot ? 2 : 0;
}

/** Where the first `.` or `..` segment begins, or -1. */
function firstDotSegment(path: string): number {
  for (let at = path.startsWith(".") ? 0 : nextHidden(path, 0); at >= 0; at = nextHidden(path, at)) {
    const end = path.charCodeAt(at + 1) === Byte.Dot ? at + 2 : at + 1;
    if (end >= path.length || path.charCodeAt(end) === Byte.Slash) return at;
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
