import { type Condition, EVERYTHING, slashed } from "../condition.ts";
import { joined } from "../modifiers.ts";
import { regexPlaces } from "../nginx/nginx-places.ts";
import type { Keys } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { PRIVATE_RANGES } from "./caddy-values.ts";

/**
 * A matcher: requests that fit one of the alternatives, or why a route cannot say it. `wider` is what it takes with some more: where it takes
 * all requests but those of a condition that no route has.
 */
export type Matcher = readonly Condition[] | { readonly fault: string; readonly wider?: readonly Condition[] };

/** The matchers with names of a block, and of those around it. */
export class Matchers {
  private readonly named: Map<string, { readonly matcher: Matcher; readonly statements: readonly Statement[] }> =
    new Map();
  private readonly outer: Matchers | null;

  constructor(block: readonly Statement[], outer: Matchers | null) {
    this.outer = outer;
    for (const statement of block) {
      if (!statement.name.startsWith("@")) continue;
      const inner = statement.block ?? [];
      const matcher = allOf(
        inner.length > 0 || statement.args.length === 0
          ? inner.map(({ name, args, block: own }) => conditionOf(name, args, own ?? []))
          : [conditionOf(statement.args[0]!, statement.args.slice(1), [])],
      );
      this.named.set(statement.name, {
        matcher,
        statements: [statement, ...inner.flatMap((one) => [one, ...(one.block ?? [])])],
      });
    }
  }

  /** The first word of a directive as a matcher; null where it is none. */
  of(word: string | undefined): { readonly matcher: Matcher; readonly statements: readonly Statement[] } | null {
    if (word === undefined) return null;
    if (word === "*") return { matcher: [EVERYTHING], statements: [] };
    if (word.startsWith("/")) return { matcher: pathsOf([word]), statements: [] };
    if (!word.startsWith("@")) return null;
    return (
      this.named.get(word) ??
      this.outer?.of(word) ?? { matcher: { fault: `the matcher ${word} is not there` }, statements: [] }
    );
  }
}

/** All of several must hold. */
function allOf(list: readonly Matcher[]): Matcher {
  let all: readonly Condition[] = [EVERYTHING];
  let fault: string | null = null;
  for (const one of list) {
    if ("fault" in one && one.wider === undefined) return one;
    if ("fault" in one) fault ??= one.fault;
    const own = "fault" in one ? one.wider! : one;
    const met = all.flatMap((left) => own.map((right) => joined(left, right)));
    if (met.includes(null)) return { fault: "its conditions cannot be joined into one of a route" };
    all = met as Condition[];
  }
  if (all.length > MAX_ALTERNATIVES) return { fault: "it has too many alternatives" };
  return fault === null ? all : { fault, wider: all };
}

function conditionOf(name: string, args: readonly string[], block: readonly Statement[]): Matcher {
  if (name === "path") return pathsOf(args);
  if (name === "host") return [{ ...EVERYTHING, hosts: args.map((host) => host.toLowerCase()) }];
  if (name === "method") return [{ ...EVERYTHING, methods: args.map((method) => method.toUpperCase()) }];
  if (name === "remote_ip" || name === "client_ip") return [{ ...EVERYTHING, match: { client_ip: networksOf(args) } }];
  if (name === "path_regexp") return [{ ...EVERYTHING, regex: args.at(-1) ?? "" }];
  if (name === "header") return headerOf(args);
  if (name === "header_regexp")
    return [{ ...EVERYTHING, match: { header: { [args.at(-2) ?? ""]: slashed(args.at(-1) ?? "") } } }];
  if (name === "query") return queryOf(args);
  if (name === "not") return negated(args, block);
  return { fault: `the matcher ${name} has no counterpart in a route` };
}

function pathsOf(args: readonly string[]): Matcher {
  const paths: Condition[] = [];
  for (const arg of args) {
    const star = arg.indexOf("*");
    if (!arg.startsWith("/") && arg !== "*") return { fault: `routes have paths, not ${arg}` };
    if (star >= 0 && star < arg.length - 1) return { fault: `a path has * only at its end, unlike ${arg}` };
    const value = arg.replace(/\/?\*$/, "") || "/";
    paths.push({
      ...EVERYTHING,
      path: arg === "*" ? null : star < 0 ? { kind: "exact", value: arg } : { kind: "prefix", value },
    });
  }
  return paths;
}

/**
 * Conditions without expressions for the path: as paths where these say the same.
 * @returns null where one does not
 */
export function byPaths(conditions: readonly Condition[]): Condition[] | null {
  const found = conditions.map((one) => {
    const plain = { ...one, regex: "" };
    const places = one.regex === "" ? null : regexPlaces(one.regex);
    if (one.regex === "") return [plain];
    return places?.map((path) => joined(plain, { ...EVERYTHING, path })).filter((each) => each !== null) ?? null;
  });
  return found.includes(null) ? null : found.flatMap((one) => one ?? []);
}

function headerOf([name = "", value]: readonly string[]): Matcher {
  if (name.startsWith("!")) return [{ ...EVERYTHING, match: { header: { [name.slice(1)]: false } } }];
  const wanted = value === undefined || value === "*" ? true : value.includes("*") ? wildcard(value) : value;
  return [{ ...EVERYTHING, match: { header: { [name]: wanted } } }];
}

function queryOf(args: readonly string[]): Matcher {
  const query: Keys = {};
  for (const arg of args) {
    const at = arg.indexOf("=");
    const value = at < 0 ? "*" : arg.slice(at + 1);
    query[at < 0 ? arg : arg.slice(0, at)] = value === "*" ? true : value;
  }
  return [{ ...EVERYTHING, match: { query } }];
}

/** `not` of one condition, or of a block of which all must hold; several values of one are alternatives. */
function negated(args: readonly string[], block: readonly Statement[]): Matcher {
  const inner =
    args.length > 0
      ? conditionOf(args[0]!, args.slice(1), [])
      : allOf(block.map(({ name, args: own, block: within }) => conditionOf(name, own, within ?? [])));
  const wider = [EVERYTHING];
  if ("fault" in inner) return { fault: `not ${args[0] ?? block[0]?.name ?? ""}: ${inner.fault}`, wider };
  if (inner.some(({ notAny, regex }) => notAny.length > 0 || regex !== "")) {
    const places = inner.some(({ notAny }) => notAny.length > 0) ? null : byPaths(inner);
    return places === null
      ? { fault: "not of this has no counterpart in a route", wider }
      : [{ ...EVERYTHING, notAny: places }];
  }
  const [name, value, ...more] = args;
  if (name === "header" && value !== undefined && more.length === 0 && !value.startsWith("!"))
    return [{ ...EVERYTHING, match: { header: { [value]: false } } }];
  return [{ ...EVERYTHING, notAny: inner }];
}

function networksOf(args: readonly string[]): string[] {
  return args
    .filter((one) => one !== "forwarded")
    .flatMap((one) => (one === "private_ranges" ? PRIVATE_RANGES : [one]));
}

function wildcard(value: string): string {
  const text = value.replace(/[\\^$.+?()[\]{}|/]/g, "\\$&").replaceAll("*", ".*");
  return `/^${text}$/`;
}

const MAX_ALTERNATIVES = 200;
