import { classOf } from "../../core/bytes.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { slashedPath } from "./canonical-path.ts";

/**
 * The client's own path as its route was chosen by it, for expressions: decoded once, dot segments resolved, slashes merged,
 * backslashes read as slashes; one character a byte. docs/security.md#paths-and-hosts
 * @param canonicalPath where it differs from the raw one, else ""
 */
export function routedPath(head: RequestHead, canonicalPath: string): string {
  return slashedPath(canonicalPath === "" ? head.path() : canonicalPath);
}

/** A part of a decoded path, such as a group of an expression has found, as it may stand in the path of a URL again. */
export function encodedPart(text: string): string {
  return text.replace(/[^a-z0-9]/gi, (char) =>
    IN_PATH[char.charCodeAt(0)] === 1 ? char : `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

/** RFC 3986 §3.3: pchar without escapes, and the slash. */
const IN_PATH: Uint8Array = classOf("a-zA-Z0-9-._~!$&'()*+,;=:@/");
