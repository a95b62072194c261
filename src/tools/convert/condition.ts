import { type Keys, type PathRule, prefixOf } from "./plan.ts";

/** What one alternative of a matcher asks of a request. */
export interface Condition {
  /** Null for every path. */
  readonly path: PathRule | null;
  readonly hosts: readonly string[];
  readonly methods: readonly string[];
  readonly match: Keys;
  /** `path_regexp`, or "". */
  readonly regex: string;
  /** Networks of which the client must not be in one, for `not remote_ip`. */
  readonly notFrom: readonly string[];
}

/** Every request. */
export const EVERYTHING: Condition = { path: null, hosts: [], methods: [], match: {}, regex: "", notFrom: [] };

/** Null where the two cannot be said together. */
export function both(a: Condition, b: Condition): Condition | null {
  if (a.path !== null && b.path !== null) return null;
  if (a.hosts.length > 0 && b.hosts.length > 0) return null;
  if (a.methods.length > 0 && b.methods.length > 0) return null;
  if (a.regex !== "" && b.regex !== "") return null;
  const match: Keys = { ...a.match };
  for (const [key, value] of Object.entries(b.match)) {
    if (key === "client_ip" && key in match) return null;
    match[key] = Array.isArray(value) ? value : { ...(match[key] as Keys), ...(value as Keys) };
  }
  return {
    path: a.path ?? b.path,
    hosts: [...a.hosts, ...b.hosts],
    methods: [...a.methods, ...b.methods],
    match,
    regex: a.regex || b.regex,
    notFrom: [...a.notFrom, ...b.notFrom],
  };
}

/** An expression in the slashes that `match` has around it. */
export function slashed(regex: string, isAnyCase = false): string {
  return `/${regex.replaceAll("/", "\\/")}/${isAnyCase ? "i" : ""}`;
}

/** The path that all texts of an expression begin with, as far as it is whole segments; `place` where it says none. */
export function beginningOf(regex: string, place: PathRule): PathRule {
  const [, text = ""] = /^\^((?:\/(?:[\w\-~]|\\[.-])+)+)(?=\/|\$)(?!\/[?*])/.exec(regex) ?? [];
  const value = text.replaceAll("\\", "");
  if (value === "" || (place.kind === "exact" && place.value !== value)) return place;
  const isNarrower = place.value === "/" || value === place.value || value.startsWith(`${place.value}/`);
  return isNarrower && place.kind === "prefix" ? prefixOf(value) : place;
}
