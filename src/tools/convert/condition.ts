import { EFFORT } from "./effort.ts";
import type { Keys } from "./keys.ts";
import { commonNetworks, holdsNetwork } from "./networks.ts";
import { type PathRule, prefixOf } from "./path-rule.ts";

/** What one alternative of a matcher asks of a request. */
export interface Condition {
  /** Null for every path. */
  readonly path: PathRule | null;
  readonly hosts: readonly string[];
  readonly methods: readonly string[];
  readonly match: Keys;
  /** `path_regexp`, or "". */
  readonly regex: string;
  /** What a request must not fit: none of these. Only refusals can be said with it (modifiers.ts). */
  readonly notAny: readonly Condition[];
}

/** Every request. */
export const EVERYTHING: Condition = { path: null, hosts: [], methods: [], match: {}, regex: "", notAny: [] };

/** `match` of what fits both; null if nothing does, or where two values are asked of one field. */
export function joinedMatch(a: Keys, b: Keys): Keys | null {
  EFFORT.take(sizeOf(a) + sizeOf(b));
  const match: Keys = { ...a };
  for (const [kind, value] of Object.entries(b)) {
    const known = match[kind];
    if (known === undefined) match[kind] = value;
    else if (Array.isArray(value)) {
      const common = commonNetworks(known as readonly string[], value);
      if (common.length === 0) return null;
      match[kind] = common;
    } else {
      const fields = { ...(known as Keys) };
      for (const [name, wanted] of Object.entries(value as Keys)) {
        const own = fields[name] ?? wanted;
        // Whether there is a field is less than its content.
        if (own !== wanted && (own === false || wanted === false || (own !== true && wanted !== true))) return null;
        fields[name] = own === true ? wanted : own;
      }
      match[kind] = fields;
    }
  }
  return match;
}

/** Whether no request fits both, as far as their words show it. */
export function excludesMatch(a: Keys, b: Keys): boolean {
  EFFORT.take(sizeOf(b));
  return Object.entries(b).some(([kind, value]) => {
    const known = a[kind];
    if (known === undefined) return false;
    if (Array.isArray(value)) return commonNetworks(known as readonly string[], value).length === 0;
    return Object.entries(value as Keys).some(([name, wanted]) => {
      const own = (known as Keys)[name] ?? wanted;
      return own !== wanted && (own === false || wanted === false);
    });
  });
}

/** Whether all that fits the narrow `match` fits the wide one, as far as their words show it. */
export function holdsMatch(wide: Keys, narrow: Keys): boolean {
  EFFORT.take(sizeOf(wide));
  return Object.entries(wide).every(([kind, value]) => {
    const own = narrow[kind];
    if (own === undefined) return false;
    if (Array.isArray(value))
      return (own as readonly string[]).every((one) => value.some((network) => holdsNetwork(network as string, one)));
    return Object.entries(value as Keys).every(([name, wanted]) => {
      const known = (own as Keys)[name];
      return known === wanted || (wanted === true && typeof known === "string");
    });
  });
}

/** How many fields a `match` asks for. */
function sizeOf(match: Keys): number {
  let size = 0;
  for (const kind in match) size += Object.keys(match[kind] as object).length;
  return size;
}

/** An expression in the slashes that `match` has around it. @param isForEvery whether every value must fit, and not one */
export function slashed(regex: string, isAnyCase = false, isForEvery = false): string {
  return `/${regex.replaceAll("/", "\\/")}/${isAnyCase ? "i" : ""}${isForEvery ? "e" : ""}`;
}

/** The path that all texts of an expression begin with, as far as it is whole segments; `place` where it says none. */
export function beginningOf(regex: string, place: PathRule): PathRule {
  // Another alternative begins otherwise.
  if (regex.includes("|") || regex.length > MAX_EXPRESSION) return place;
  const [, text = ""] = /^\^((?:\/(?:[\w\-~]|\\[.-])+)+)(?=\/|\$|\\n\?\$)(?!\/[?*{])/.exec(regex) ?? [];
  const value = text.replaceAll("\\", "");
  if (value === "" || (place.kind === "exact" && place.value !== value)) return place;
  const isNarrower = place.value === "/" || value === place.value || value.startsWith(`${place.value}/`);
  return isNarrower && place.kind === "prefix" ? prefixOf(value) : place;
}

/** Longer expressions are asked at every path of their place. */
const MAX_EXPRESSION = 1000;
