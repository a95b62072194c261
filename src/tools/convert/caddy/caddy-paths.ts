import { holdsPath } from "../arrange.ts";
import { escapedRegex } from "../expression.ts";
import type { Keys } from "../keys.ts";
import type { PathRule } from "../path-rule.ts";
import type { Statement } from "../statement.ts";

/** Directives that see the path before it is changed, whatever their place in the file. */
export const EARLY: ReadonlySet<string> = new Set(["header", "request_body", "redir"]);

/** The directives of a `route` in front of the first that changes the path. */
export function beforePathChanges(statements: readonly Statement[]): readonly Statement[] {
  const at = statements.findIndex(({ name }) => name === "uri");
  return at < 0 ? [] : statements.slice(0, at);
}

/** The paths that begin with a part. */
export const partRule = (stripped: string): PathRule => ({ kind: "prefix", value: stripped });

/** What may have been removed from the paths of requests. */
export interface Stripped {
  /** The part of the path that has been removed, or "". */
  readonly stripped: string;
  /** Whether that part is there in some requests alone. */
  readonly isMaybeStripped: boolean;
}

/** What has been removed from the paths of a rule, where that goes by the path. */
export function strippedFrom({ stripped, isMaybeStripped }: Stripped, path: PathRule | null): Partial<Stripped> {
  if (!isMaybeStripped || path === null) return {};
  if (holdsPath(partRule(stripped), path)) return { isMaybeStripped: false };
  return holdsPath(path, partRule(stripped)) ? {} : { stripped: "", isMaybeStripped: false };
}

/** `rewrite` that removes a part of the path; null if nothing is removed, or the route's own prefix, which goes without a word. */
export function withoutPart({ value, kind }: PathRule, stripped: string): Keys | null {
  if (stripped === "") return null;
  if (kind === "exact") return { path: value === stripped ? "/" : value.slice(stripped.length) };
  return value === stripped ? null : { regex: `^${escapedRegex(stripped)}/(.*)$`, to: "/{match.1}" };
}
