import { classOf } from "../../core/bytes.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { isPlainPath } from "../h1/request-rules.ts";
import { canonicaliseDeeply, slashedPath } from "./canonical-path.ts";

/**
 * The client's own path as its route was chosen by it, for expressions: decoded once, dot segments resolved, slashes merged,
 * backslashes read as slashes; one character a byte. docs/security.md#paths-and-hosts
 * @param canonicalPath if it differs from the raw one, else ""
 */
export function routedPath(head: RequestHead, canonicalPath: string): string {
  return slashedPath(canonicalPath === "" ? head.path() : canonicalPath);
}

/**
 * The client's path for all that decides by it or learns of it (modules, scripts, authentication services, rules, traces):
 * the path by which the route was chosen, with the few escapes that a URL cannot do without. One path has one form, however it was
 * spelled, and routes lead it where the request went. docs/security.md#one-path
 */
export function shownPath(head: RequestHead): string {
  return isPlainPath(head) ? head.path() : asTarget(slashedPath(canonicaliseDeeply(head.path()).canonical));
}

/** The client's path as it goes upstream before a prefix is removed: dot segments resolved, one slash at its beginning, escapes as they came. */
export function sentPath(head: RequestHead): string {
  return isPlainPath(head) ? head.path() : canonicaliseDeeply(head.path()).sanitised;
}

/** The query with its question mark, as it came; "" without one. */
export function queryWithMark(head: RequestHead): string {
  return head.queryTo > head.pathTo ? head.text(head.pathTo, head.queryTo) : "";
}

/** Whether the target is nothing but the path and the query as the gateway shows them. */
export function isShownAsItCame(head: RequestHead): boolean {
  return head.targetFrom === head.pathFrom && head.targetTo === head.queryTo && isPlainPath(head);
}

/** A decoded path as it may stand in a request's target. */
function asTarget(path: string): string {
  return path.replace(NOT_IN_TARGET, percentEncoded);
}

/** A character below 0x100 as `%NN`. RFC 3986 §2.1 */
export function percentEncoded(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

/** A part of a decoded path, such as a group of an expression has found, as it may stand in the path of a URL again. */
export function encodedPart(text: string): string {
  return text.replace(/[^a-z0-9]/gi, (char) => (IN_PATH[char.charCodeAt(0)] === 1 ? char : percentEncoded(char)));
}

/** RFC 3986 §3.3: pchar without escapes, and the slash. */
const IN_PATH: Uint8Array = classOf("a-zA-Z0-9-._~!$&'()*+,;=:@/");
/** What ends a path, begins an escape, or may not stand in a target: all but visible ASCII. */
const NOT_IN_TARGET = /[^!-~]|[%?#]/g;
