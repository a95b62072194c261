import { type Condition, EVERYTHING, slashed } from "../condition.ts";
import { joined } from "../modifiers.ts";
import { regexPlaces } from "../nginx/nginx-places.ts";
import { prefixOf } from "../plan.ts";

/** A rule of a router: requests that fit one of the alternatives, or why a route cannot say it. */
export type RouterRule = { readonly any: readonly Condition[] } | { readonly fault: string };

/**
 * Reads a rule such as "Host(`a`) && (PathPrefix(`/x`) || !Path(`/y`))".
 * @param isWide whether a condition after ! that no route can say is left out, so that more requests fit
 */
export function parseRule(text: string, isWide = false): RouterRule {
  const words = [...text.matchAll(/\s*(&&|\|\||!|\(|\)|,|[A-Za-z]\w*|`[^`]*`|"(?:\\.|[^"\\])*"|\S)/g)].map(
    (one) => one[1]!,
  );
  const reader = new RuleReader(words, isWide);
  const rule = reader.either();
  if ("fault" in rule) return rule;
  return reader.isAtEnd ? rule : { fault: "the rule cannot be read" };
}

class RuleReader {
  private readonly words: readonly string[];
  private at = 0;
  private depth = 0;

  private readonly isWide: boolean;

  constructor(words: readonly string[], isWide: boolean) {
    this.isWide = isWide;
    this.words = words;
  }

  get isAtEnd(): boolean {
    return this.at === this.words.length;
  }

  either(): RouterRule {
    if (++this.depth > MAX_NESTING) return { fault: "the rule is nested too deep" };
    let left = this.all();
    while (this.words[this.at] === "||") {
      this.at++;
      const right = this.all();
      if ("fault" in left) return left;
      if ("fault" in right) return right;
      left = { any: [...left.any, ...right.any] };
    }
    this.depth--;
    return left;
  }

  private all(): RouterRule {
    let left = this.one();
    while (this.words[this.at] === "&&") {
      this.at++;
      const right = this.one();
      if ("fault" in left) return left;
      if ("fault" in right) return right;
      const met = left.any.flatMap((a) => (right as { any: readonly Condition[] }).any.map((b) => joined(a, b)));
      if (met.length > MAX_ALTERNATIVES) return { fault: "the rule has too many alternatives" };
      if (met.includes(null)) return { fault: "its conditions cannot be joined into one of a route" };
      left = { any: met as Condition[] };
    }
    return left;
  }

  private one(): RouterRule {
    const word = this.words[this.at++];
    if (word === "(") {
      const inner = this.either();
      return this.words[this.at++] === ")" ? inner : { fault: "a parenthesis of the rule is not closed" };
    }
    if (word === "!") {
      if (++this.depth > MAX_NESTING) return { fault: "the rule is nested too deep" };
      const inner = this.one();
      this.depth--;
      if ("fault" in inner) return this.isWide ? { any: [EVERYTHING] } : inner;
      if (inner.any.some(({ notAny }) => notAny.length > 0))
        return this.isWide
          ? { any: [EVERYTHING] }
          : { fault: "a condition with ! within one with ! has no counterpart in a route" };
      return { any: [{ ...EVERYTHING, notAny: inner.any }] };
    }
    if (word === undefined || !/^[A-Za-z]/.test(word) || this.words[this.at] !== "(")
      return { fault: "the rule cannot be read" };
    this.at++;
    const args: string[] = [];
    for (;;) {
      const arg = this.words[this.at++];
      if (arg === undefined) return { fault: "a parenthesis of the rule is not closed" };
      if (arg === ")") break;
      if (arg !== ",") args.push(arg.slice(1, -1));
    }
    return matcherOf(word, args);
  }
}

function matcherOf(name: string, args: readonly string[]): RouterRule {
  const [first = "", second = ""] = args;
  if (name === "Host" || name === "HostHeader" || name === "Domain")
    return { any: [{ ...EVERYTHING, hosts: args.map((one) => one.toLowerCase()) }] };
  if (name === "HostRegexp") return hostsOf(args);
  if ((name === "PathPrefix" || name === "Path") && args.some((one) => one.includes("{")))
    return { fault: "a path has no patterns" };
  if (name === "PathPrefix") return { any: args.map((one) => ({ ...EVERYTHING, path: prefixOf(one) })) };
  if (name === "Path")
    return { any: args.map((value) => ({ ...EVERYTHING, path: { kind: "exact" as const, value } })) };
  if (name === "PathRegexp") {
    const places = regexPlaces(first);
    return places === null
      ? { fault: "routes go by paths, not by expressions" }
      : { any: places.map((path) => ({ ...EVERYTHING, path })) };
  }
  if (name === "Method") return { any: [{ ...EVERYTHING, methods: args.map((one) => one.toUpperCase()) }] };
  if (name === "Header" || name === "Headers")
    return { any: [{ ...EVERYTHING, match: { header: { [first]: second } } }] };
  if (name === "HeaderRegexp" || name === "HeadersRegexp")
    return { any: [{ ...EVERYTHING, match: { header: { [first]: slashed(second) } } }] };
  if (name === "Query") {
    const [key = "", value = ""] = args.length === 1 ? first.split("=") : args;
    return { any: [{ ...EVERYTHING, match: { query: { [key]: value === "" ? true : value } } }] };
  }
  if (name === "QueryRegexp") return { any: [{ ...EVERYTHING, match: { query: { [first]: slashed(second) } } }] };
  if (name === "ClientIP") return { any: [{ ...EVERYTHING, match: { client_ip: [...args] } }] };
  return { fault: `${name} has no counterpart in a route` };
}

/** Every name below one: `{sub:[a-z]+}.example.com`, `^.+\.example\.com$`. */
function hostsOf(args: readonly string[]): RouterRule {
  const hosts: string[] = [];
  for (const arg of args) {
    const plain = /^(?:\^?(?:\.\+|\.\*|\[[^\]]+\][+*]|\([^)]*\)|\{[^}]+\}))(?:\\?\.)((?:[\w-]+(?:\\?\.)?)+)\$?$/.exec(
      arg,
    )?.[1];
    if (/^(\^?\.[+*]\$?|\{\w+:\.[+*]\})$/.test(arg)) return { any: [EVERYTHING] };
    if (plain === undefined) return { fault: "a host is a name, or *. and a name" };
    hosts.push(`*.${plain.replaceAll("\\", "").toLowerCase()}`);
  }
  return { any: [{ ...EVERYTHING, hosts }] };
}

const MAX_NESTING = 50;
const MAX_ALTERNATIVES = 200;
