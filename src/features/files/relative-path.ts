import { sliceText } from "../../core/bytes.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { climbsAboveRoot, mergeSlashes, removeDotSegments } from "../../proto/target/dot-segments.ts";
import { decodeOnce } from "../../proto/target/percent-decoding.ts";
import { isWellEscaped } from "./percent-escape.ts";

/** What a path is, before the disk is asked. */
export const enum PathVerdict {
  /** It may name a file. */
  Ok = 0,
  /** It holds a NUL: 400. */
  Bad,
  /** It climbs out of the mount: 403. */
  Escapes,
  /** A segment begins with a dot and is not `.well-known`: 404. */
  Hidden,
}

/**
 * The whole decoded path of a request, one character a byte.
 * @param canonicalPath what routing made of the path, or "" if that is the raw path
 * @returns "" if the percent-encoding is broken
 */
export function requestPath(request: RequestHead, canonicalPath: string): string {
  if (request.pathTo <= request.pathFrom) return canonicalPath === "" ? "/" : canonicalPath;
  const raw = sliceText(request.bytes, request.pathFrom, request.pathTo);
  if (raw.includes("%")) {
    if (!isWellEscaped(raw)) return "";
    return canonicalPath === "" ? decodeOnce(raw) : canonicalPath;
  }
  return canonicalPath === "" ? raw : canonicalPath;
}

/** A path below a mount: cleaned of empty segments and dot segments. docs/files.md#containment */
export class RelativePath {
  /** Segments joined by `/`, without a slash at either end; "" is the mount itself. */
  readonly text: string;
  /** Whether the request's path ended in a slash, that is, asks for a directory. */
  readonly isDirectory: boolean;
  readonly verdict: PathVerdict;

  /**
   * @param path decoded, one character a byte
   * @param prefix the mount's prefix without a slash at its end; "" for the root
   */
  constructor(path: string, prefix: string) {
    const rest = path.slice(prefix.length);
    const below = mergeSlashes(rest === "" || rest.startsWith("/") ? rest : `/${rest}`);
    const cleaned = removeDotSegments(below);
    let verdict = PathVerdict.Ok;
    // Routing has seen to this already; a path that is not below the prefix must never be cut at the wrong place.
    if (!path.startsWith(prefix) || (rest !== "" && rest[0] !== "/" && prefix !== "")) verdict = PathVerdict.Escapes;
    else if (climbsAboveRoot(below)) verdict = PathVerdict.Escapes;
    else if (HIDDEN.test(cleaned)) verdict = PathVerdict.Hidden;
    this.isDirectory = cleaned.endsWith("/");
    this.text = cleaned.slice(1, this.isDirectory ? -1 : undefined);
    this.verdict = path.includes("\0") ? PathVerdict.Bad : verdict;
  }

  /** Whether the last segment has a file extension (`app.js`; not `app`, `app.` or `app/`). */
  hasExtension(): boolean {
    if (this.isDirectory) return false;
    const name = this.text.slice(this.text.lastIndexOf("/") + 1);
    const dot = name.lastIndexOf(".");
    return dot > 0 && dot < name.length - 1;
  }
}

/** A segment that begins with a dot is not served, but for `.well-known` (RFC 8615). */
const HIDDEN = /\/\.(?!well-known(?:\/|$))/;
