import { EFFORT } from "../effort.ts";
import { type PathRule, prefixOf } from "../path-rule.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";

/** A location with its modifier. */
export interface Located {
  readonly statement: Statement;
  readonly scope: Scope;
  /** `=`, `~`, `~*`, `^~`, or none. */
  readonly kind: string;
  readonly path: string;
}

/** The locations of a block, in the groups in which nginx asks them; named ones are none of them. */
export interface Level {
  readonly exact: readonly Located[];
  /** From long to short. */
  readonly prefixes: readonly Located[];
  readonly regexes: readonly Located[];
}

/** The locations of a block itself. */
export function levelOf(scope: Scope): Level {
  const known = LEVELS.get(scope) ?? readLevel(scope);
  LEVELS.set(scope, known);
  return known;
}

const LEVELS = new WeakMap<Scope, Level>();

function readLevel(scope: Scope): Level {
  const all = scope.here("location").flatMap((statement): Located[] => {
    const { args } = statement;
    const written = /^(=|~\*?|\^~)(.+)$/.exec(args[0] ?? "");
    const kind = args.length > 1 ? args[0]! : (written?.[1] ?? "");
    const path = args.length > 1 ? args[1]! : (written?.[2] ?? args[0] ?? "");
    return path.startsWith("@") ? [] : [{ statement, scope: scope.inner(statement), kind, path }];
  });
  const isPrefix = ({ kind }: Located): boolean => kind === "" || kind === "^~";
  return {
    exact: all.filter(({ kind }) => kind === "="),
    prefixes: all.filter(isPrefix).sort((a, b) => b.path.length - a.path.length),
    regexes: all.filter(({ kind }) => kind.startsWith("~")),
  };
}

/** Whether a location has locations of its own. */
export function hasNested({ scope }: Located): boolean {
  const { exact, prefixes, regexes } = levelOf(scope);
  return exact.length + prefixes.length + regexes.length > 0;
}

/** The place of one path. */
export function exactPlace(path: string): PathRule {
  return { kind: "exact", value: path };
}

/** Paths that an expression means, if they can be said without it: `^/api/`, `^/(a|b)(/|$)`, `^/x$`. */
export function regexPlaces(regex: string): PathRule[] | null {
  if (!regex.startsWith("^/")) return null;
  const whole = /^\^(.*?)(\$|\/\?\$|\(\/\|\$\)|\/\(\.[*+]\)\$?|\/\.[*+]\$?|\/|\(\/\.\*\)\?\$?)$/.exec(regex);
  if (whole === null) return null;
  const texts = alternatives(whole[1]!.replace(/\\([./-])/g, "\0$1"));
  if (texts === null) return null;
  const end = whole[2]!;
  return texts.flatMap((text): PathRule[] => {
    const value = text.replaceAll("\0", "") || "/";
    if (end === "$") return [exactPlace(value)];
    if (end === "/?$") return [exactPlace(value), exactPlace(`${value}/`)];
    return [prefixOf(value)];
  });
}

/** The texts that one group of words makes; null where more than that is in it. */
function alternatives(text: string): string[] | null {
  const parts = /^([^()|]*)\((?:\?:)?([^()]*)\)([^()|]*)$/.exec(text);
  const words = (parts?.[2] ?? "").split("|");
  if (words.length > MAX_ALTERNATIVES || (parts !== null && words.includes(""))) return null;
  const texts = parts === null ? [text] : words.map((word) => `${parts[1]}${word}${parts[3]}`);
  // A dot without a backslash is any character; everything else that is not a plain one says more than a text.
  return texts.every((one) => /^(?:\0[./-]|[\w\-~!@,:/=&])*$/.test(one)) ? texts : null;
}

const MAX_ALTERNATIVES = 64;

/** Whether a rewritten path leads to the same location again, whatever the request says. */
export function staysAt(scope: Scope, to: string): boolean {
  const { outer, statement } = scope;
  if (outer === null || statement?.name !== "location") return false;
  const { exact, prefixes, regexes } = levelOf(outer);
  const own = prefixes.find((one) => one.statement === statement);
  const text = to.split("$")[0]!;
  EFFORT.take(exact.length + prefixes.length);
  if (own === undefined || outer.statement?.name === "location" || hasNested(own)) return false;
  if (!text.startsWith(own.path) || (own.kind !== "^~" && regexes.length > 0)) return false;
  return [...exact, ...prefixes].every(
    (one) =>
      one === own || one.path.length < own.path.length || !(one.path.startsWith(text) || text.startsWith(one.path)),
  );
}
