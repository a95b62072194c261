import { Byte } from "../../core/ascii.ts";

/**
 * Whether a segment of `bytes[from, to)` is `.` or `..`. Only literal dots and slashes count.
 */
export function hasDotSegment(bytes: Uint8Array, from: number, to: number): boolean {
  let atStart = true;
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte === Byte.Dot && atStart) {
      let next = at + 1;
      if (next < to && bytes[next] === Byte.Dot) next++;
      if (next === to || bytes[next] === Byte.Slash) return true;
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
  const segments = path.split("/");
  const kept: string[] = [];
  for (let i = 1; i < segments.length; i++) {
    const segment = segments[i]!;
    const isDots = segment === "." || segment === "..";
    if (segment === "..") kept.pop();
    // RFC 3986 §5.2.4 leaves a slash where the last segment was resolved: `/a/b/..` is `/a/`.
    if (!isDots) kept.push(segment);
    else if (i === segments.length - 1) kept.push("");
  }
  return `/${kept.join("/")}`;
}

/** Whether resolving the `..` segments, one after the other, would at some point leave "/". Empty segments count. */
export function climbsAboveRoot(path: string): boolean {
  const segments = path.split("/");
  let depth = 0;
  for (let i = 1; i < segments.length; i++) {
    const segment = segments[i];
    if (segment === ".") continue;
    depth += segment === ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
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
