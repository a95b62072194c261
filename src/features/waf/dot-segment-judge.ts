import type { RequestHead } from "../../message/request-head.ts";
import { canonicalise } from "../../proto/target/canonical-path.ts";
import {
  beforeDotSegments,
  climbsAboveRoot,
  hasEndlessSegment,
  mergeSlashes,
} from "../../proto/target/dot-segments.ts";
import { decodeFully } from "../../proto/target/percent-decoding.ts";

/** What the rule on relative paths must know of the routes. Paths are canonical, one character a byte. */
export interface RouteFacts {
  /** Tells exact routes apart by path and host, whatever the method; -1 where the path is none. */
  exactId(path: string, head: RequestHead): number;
  /** Tells prefix routes apart in the same way; -1 where the path falls to none. */
  prefixId(path: string, head: RequestHead): number;
}

/**
 * Whether the literal dot segments of a path are harmless. Decisions §5: it does not climb above "/", and it leads to
 * an exact route, or stays with the route of the part before its first dot segment. That must hold of the path as it
 * stands and percent-decoded to the end, and of both with repeated slashes as they stand and merged. Beyond that, no
 * segment may be longer than a file name can be: dot segments behind such a one are padding against naive resolvers.
 * @param raw the raw path, one character a byte
 */
export function isHarmless(raw: string, head: RequestHead, routes: RouteFacts): boolean {
  const decoded = decodeFully(raw);
  if (decoded.tooDeep) return false;
  const readings = new Set([raw, mergeSlashes(raw), decoded.text, mergeSlashes(decoded.text)]);
  for (const reading of readings) {
    if (!isHarmlessReading(reading, head, routes)) return false;
  }
  return true;
}

function isHarmlessReading(path: string, head: RequestHead, routes: RouteFacts): boolean {
  if (climbsAboveRoot(path) || hasEndlessSegment(path)) return false;
  const destination = canonicalise(path).canonical;
  if (routes.exactId(destination, head) >= 0) return true;
  const home = routes.prefixId(canonicalise(beforeDotSegments(path)).canonical, head);
  return home >= 0 && home === routes.prefixId(destination, head);
}
