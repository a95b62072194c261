// Places of routes as a file of another server writes them.
import { trimmedEnd } from "../../core/trimming.ts";

/** Where a rule counts: exactly a path, or all below it. */
export interface PathRule {
  readonly kind: "exact" | "prefix";
  /** Without a slash at the end, but for `/` itself. */
  readonly value: string;
  /** Where the other gateway takes something else than a route with this path: seal.ts. */
  readonly reading?: PathReading;
}

/** How another gateway compares a path. */
interface PathReading {
  /** It takes what only begins with these letters, too: `/api` takes /apix. */
  readonly isByLetters?: boolean;
  /** It does not take the path itself: `/api/` takes /api/x and /api/, but not /api. */
  readonly isBelow?: boolean;
  /** Letter case does not count. */
  readonly isAnyCase?: boolean;
}

/** A path as a rule has it: without the slash at its end. */
export function prefixOf(path: string, reading?: PathReading): PathRule {
  return { kind: "prefix", value: trimmedEnd(path, "/") || "/", ...(reading === undefined ? {} : { reading }) };
}

/** Where a product compares the beginning of a path by its letters. */
export function lettersOf(path: string, isAnyCase = false): PathRule {
  const isBelow = path.endsWith("/") && path.length > 1;
  const reading = { ...(isBelow ? { isBelow } : { isByLetters: true }), ...(isAnyCase ? { isAnyCase } : {}) };
  return prefixOf(path, reading);
}

export const ROOT: PathRule = { kind: "prefix", value: "/" };
