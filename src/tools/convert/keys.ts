// Keys of a route as they are put together.

/** Keys of a section or a route, as the files have them. */
export type Keys = Record<string, unknown>;

/** Puts a value below keys that are made if they are missing: `put(keys, ["headers", "request"], "set", {})`. */
export function sectionAt(keys: Keys, ...path: readonly string[]): Keys {
  let at = keys;
  for (const key of path) {
    if (typeof at[key] !== "object" || at[key] === null) at[key] = {};
    at = at[key] as Keys;
  }
  return at;
}
