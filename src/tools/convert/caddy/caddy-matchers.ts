import { allBut, byPaths } from "../by-paths.ts";
import { type Condition, EVERYTHING, slashed } from "../condition.ts";
import { escapedRegex } from "../expression.ts";
import type { Keys } from "../keys.ts";
import { joined } from "../modifiers.ts";
import { lettersOf } from "../path-rule.ts";
import type { Statement } from "../statement.ts";
import { PRIVATE_RANGES } from "./caddy-values.ts";

/**
 * A matcher: requests that fit one of the alternatives, or why a route cannot say it. `wider` is what it takes with some more.
 */
export type Matcher = readonly Condition[] | { readonly fault: string; readonly wider: readonly Condition[] };

/** What of the global options decides about matchers. */
export interface ClientFacts {
  /** Why `client_ip` of a matcher is not what a route compares; "" if it is. */
  readonly clientFault: string;
  /** The same for `remote_ip`, which is the peer of the connection. */
  readonly remoteFault: string;
  /** Whether there is TLS: if there is none, all requests are of the protocol http. */
  readonly hasTls: boolean;
  /** The protocol of all requests, if the routes are those of a listener. */
  readonly scheme?: "http" | "https";
}

/** A matcher with the directives that it is made of. */
export interface FoundMatcher {
  readonly matcher: Matcher;
  readonly statements: readonly Statement[];
  /** Characters of its one path; 0 for none, or several. Caddy asks the longest first. */
  readonly pathLength: number;
}

/** The matchers with names of a block, and of those around it. */
export class Matchers {
  readonly facts: ClientFacts;
  private readonly named: Map<string, FoundMatcher> = new Map();
  private readonly outer: Matchers | null;

  constructor(block: readonly Statement[], outer: Matchers | null, facts: ClientFacts) {
    this.outer = outer;
    this.facts = facts;
    for (const statement of block) {
      if (!statement.name.startsWith("@")) continue;
      const inner = statement.block ?? [];
      // With a word on its own line the block is that word's: `@name not {`.
      const [word, ...args] = statement.args;
      const parts: readonly Part[] = word === undefined ? inner.map(partOf) : [{ name: word, args, block: inner }];
      const paths = parts.filter(({ name }) => name === "path").flatMap(({ args }) => args);
      this.named.set(statement.name, {
        matcher: setOf(parts, facts),
        statements: [statement, ...inner.flatMap((one) => [one, ...(one.block ?? [])])],
        pathLength: paths.length === 1 ? lengthOf(paths[0]!) : 0,
      });
    }
  }

  /** The first word of a directive as a matcher; null if it is none. */
  of(word: string | undefined): FoundMatcher | null {
    if (word === undefined) return null;
    if (word === "*") return { matcher: [EVERYTHING], statements: [], pathLength: -1 };
    if (word.startsWith("/")) return { matcher: pathsOf([word]), statements: [], pathLength: lengthOf(word) };
    if (!word.startsWith("@")) return null;
    const known = this.named.get(word) ?? this.outer?.of(word);
    return known ?? { matcher: unsaid("its matcher is not there"), statements: [], pathLength: 0 };
  }
}

/** One line of a matcher. */
interface Part {
  readonly name: string;
  readonly args: readonly string[];
  readonly block: readonly Statement[];
}

function partOf({ name, args, block }: Statement): Part {
  return { name, args, block: block ?? [] };
}

function lengthOf(path: string): number {
  return path.endsWith("*") ? path.length - 1 : path.length;
}

/** What no route can ask for: it may be any request. */
function unsaid(fault: string): Matcher {
  return { fault, wider: [EVERYTHING] };
}

/** Lines of which all must hold; those of one name are one matcher, as Caddy joins them. */
function setOf(parts: readonly Part[], facts: ClientFacts): Matcher {
  const list: Matcher[] = [];
  for (const [name, lines] of Map.groupBy(parts, (one) => one.name)) {
    if (JOINED.has(name)) list.push(conditionOf(name, { args: lines.flatMap(({ args }) => args) }, facts));
    else if (name === "header") list.push(...fieldsOf(lines));
    else if (name === "not" || lines.length === 1) list.push(...lines.map((one) => conditionOf(name, one, facts)));
    else list.push(unsaid(`the last line of ${name} counts alone, or none does, by the version`));
  }
  return allOf(list);
}

const JOINED: ReadonlySet<string> = new Set(["path", "host", "method", "query", "remote_ip", "client_ip"]);

/** Lines of `header`: several values of one field are alternatives, fields are not. */
function fieldsOf(lines: readonly Part[]): Matcher[] {
  const fieldOf = ({ args: [name = ""] }: Part): string => name.replace(/^[!+?]/, "").toLowerCase();
  return [...Map.groupBy(lines, fieldOf).values()].map((same): Matcher => {
    if (same.some(({ args }) => args.some((one) => PLACEHOLDER.test(one))))
      return unsaid("its matcher has a placeholder");
    // A field that must not be there and a value of it: what counts goes by the order and the version.
    if (same.length > 1 && same.some(({ args: [name = ""] }) => name.startsWith("!")))
      return unsaid("a field is both asked for and excluded");
    if (same.some(({ args }) => args.length === 0)) return unsaid("its matcher has no value");
    return same.flatMap(({ args }) => headerOf(args));
  });
}

/** All of several must hold. */
function allOf(list: readonly Matcher[]): Matcher {
  let all: readonly Condition[] = [EVERYTHING];
  let fault = "";
  for (const one of list) {
    if ("fault" in one) fault ||= one.fault;
    const own = "fault" in one ? one.wider : one;
    const met = all.flatMap((left) => own.map((right) => joined(left, right)));
    if (met.length > MAX_ALTERNATIVES) return { fault: "it has too many alternatives", wider: all };
    // What cannot be joined may be said with one of the two alone.
    if (met.includes(null)) fault ||= "its conditions cannot be joined into one of a route";
    else all = met as Condition[];
  }
  return fault === "" ? all : { fault, wider: all };
}

function conditionOf(
  name: string,
  { args, block = [] }: { readonly args: readonly string[]; readonly block?: readonly Statement[] },
  facts: ClientFacts,
): Matcher {
  if (name === "not") return negated(args, block, facts);
  if (args.some((one) => PLACEHOLDER.test(one)) && name !== "path_regexp" && name !== "header_regexp")
    return unsaid("its matcher has a placeholder");
  if (name === "protocol") return protocolOf(args, facts);
  if (args.length === 0) return unsaid("its matcher has no value");
  if (name === "path") return pathsOf(args);
  if (name === "host") return hostOf(args);
  if (name === "method") return [{ ...EVERYTHING, methods: args.map((method) => method.toUpperCase()) }];
  if (name === "remote_ip" || name === "client_ip") return addressOf(name, args, facts);
  if (name === "path_regexp") return [{ ...EVERYTHING, regex: args.at(-1) ?? "" }];
  if (name === "header") return fieldsOf([{ name, args, block }])[0]!;
  if (name === "header_regexp")
    return [{ ...EVERYTHING, match: { header: { [args.at(-2) ?? ""]: slashed(args.at(-1) ?? "") } } }];
  if (name === "query") return queryOf(args);
  return unsaid(`${KNOWN.has(name) ? `the matcher ${name}` : "its matcher"} has no counterpart in a route`);
}

/** Matchers that are known, and that no route has. */
const KNOWN: ReadonlySet<string> = new Set(["expression", "file", "local_ip", "tls", "vars", "vars_regexp"]);
const PLACEHOLDER = /\{[a-z_][\w.]*\}/i;

function hostOf(args: readonly string[]): Matcher {
  const hosts = args.map((host) => host.toLowerCase());
  // A pattern of Caddy takes one label, one of a route any number.
  return hosts.some((one) => one.includes("*"))
    ? { fault: "a * in a host is one label there, and any number of them here", wider: [EVERYTHING] }
    : [{ ...EVERYTHING, hosts }];
}

function addressOf(name: string, args: readonly string[], facts: ClientFacts): Matcher {
  const fault = args.includes("forwarded")
    ? "remote_ip forwarded believes every client's X-Forwarded-For"
    : name === "client_ip"
      ? facts.clientFault
      : facts.remoteFault;
  const networks = args.flatMap((one) => (one === "private_ranges" ? PRIVATE_RANGES : [one]));
  return fault === "" ? [{ ...EVERYTHING, match: { client_ip: networks } }] : unsaid(fault);
}

function protocolOf([protocol = ""]: readonly string[], { hasTls, scheme }: ClientFacts): Matcher {
  if (scheme !== undefined && /^https?$/.test(protocol)) return protocol === scheme ? [EVERYTHING] : [];
  if (hasTls || !/^https?$/.test(protocol)) return unsaid("routes do not go by the protocol");
  return protocol === "http" ? [EVERYTHING] : [];
}

function pathsOf(args: readonly string[]): Matcher {
  const paths: Condition[] = [];
  const faults: string[] = [];
  for (const arg of args) {
    if (arg === "*") paths.push(EVERYTHING);
    else if (arg.includes("%") || /[[\]\\]/.test(arg) || !/^[/*]/.test(arg)) {
      faults.push("routes have paths, and no patterns with brackets or escapes");
      paths.push(EVERYTHING);
    } else paths.push(pathOf(arg));
  }
  return faults.length === 0 ? paths : { fault: faults[0]!, wider: paths };
}

/** A path as Caddy compares it: without letter case, with `*` at its ends, or as a pattern of one segment. */
function pathOf(arg: string): Condition {
  const inner = arg.slice(1, -1);
  const isPattern = inner.includes("*") || arg.includes("?");
  if (!isPattern && arg.startsWith("/") && arg.endsWith("*"))
    return { ...EVERYTHING, path: lettersOf(arg.slice(0, -1), true) };
  if (!isPattern && arg.startsWith("/"))
    return { ...EVERYTHING, path: { kind: "exact", value: arg, reading: { isAnyCase: true } } };
  if (!isPattern) {
    const isWithin = arg.length > 1 && arg.endsWith("*");
    const text = arg.slice(1, isWithin ? -1 : undefined);
    return { ...EVERYTHING, regex: `(?i)${escapedRegex(text)}${isWithin ? "" : "$"}` };
  }
  const pattern = Array.from(arg, (char) => (char === "*" ? "[^/]*" : char === "?" ? "[^/]" : escapedRegex(char)));
  return { ...EVERYTHING, regex: `(?i)^${pattern.join("")}$` };
}

function headerOf([name = "", value]: readonly string[]): Condition[] {
  if (name.startsWith("!")) return [{ ...EVERYTHING, match: { header: { [name.slice(1)]: false } } }];
  const wanted = value === undefined || value === "*" ? true : value.includes("*") ? wildcard(value) : value;
  return [{ ...EVERYTHING, match: { header: { [name]: wanted } } }];
}

function queryOf(args: readonly string[]): Matcher {
  const query: Keys = {};
  for (const arg of args) {
    const at = arg.indexOf("=");
    const name = at < 0 ? arg : arg.slice(0, at);
    const value = at < 0 ? "*" : arg.slice(at + 1);
    if (name === "" || name in query) return unsaid("its values of the query are alternatives, or none");
    query[name] = value === "*" ? true : value;
  }
  // Older versions ask for one of several, newer ones for all.
  return Object.keys(query).length > 1
    ? unsaid("several names in a query are alternatives or conditions, by the version")
    : [{ ...EVERYTHING, match: { query } }];
}

/** `not` of one condition, or of a block of which all must hold; several values of one are alternatives. */
function negated(args: readonly string[], block: readonly Statement[], facts: ClientFacts): Matcher {
  const inner =
    args.length > 0 ? conditionOf(args[0]!, { args: args.slice(1) }, facts) : setOf(block.map(partOf), facts);
  const wider = [EVERYTHING];
  if ("fault" in inner) return { fault: `not: ${inner.fault}`, wider };
  if (inner.some(({ notAny, regex }) => notAny.length > 0 || regex !== "")) {
    const places = inner.some(({ notAny }) => notAny.length > 0) ? null : byPaths(inner);
    return places === null ? { fault: "not of this has no counterpart in a route", wider } : allBut(places);
  }
  const [name, value, ...more] = args;
  if (name === "header" && value !== undefined && more.length === 0 && !value.startsWith("!"))
    return [{ ...EVERYTHING, match: { header: { [value]: false } } }];
  return allBut(inner);
}

function wildcard(value: string): string {
  return slashed(`^${value.split("*").map(escapedRegex).join(".*")}$`);
}

const MAX_ALTERNATIVES = 200;
