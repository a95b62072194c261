import { allBut, byPaths } from "../by-paths.ts";
import { type Condition, EVERYTHING, slashed } from "../condition.ts";
import { isApart, joined } from "../modifiers.ts";
import { lettersOf } from "../path-rule.ts";

/** A rule of a router: requests that fit one of the alternatives. With a `fault` no route can say it, and they take more than it asks. */
interface RouterRule {
  readonly any: readonly Condition[];
  readonly fault: string;
}

/** Reads a rule such as "Host(`a`) && (PathPrefix(`/x`) || !Path(`/y`))". */
export function parseRule(text: string): RouterRule {
  const words = wordsOf(text);
  if (words === null) return wider(UNREADABLE);
  const reader = new RuleReader(words);
  const rule = reader.either();
  return reader.isAtEnd ? rule : wider(UNREADABLE);
}

/** Cuts a rule into words; null if a quote is not closed. */
function wordsOf(text: string): string[] | null {
  const words: string[] = [];
  for (let at = 0; at < text.length; ) {
    const char = text[at]!;
    let end = at + 1;
    if (/\s/.test(char)) {
      at = end;
      continue;
    }
    if (char === "`") end = text.indexOf("`", end) + 1;
    else if (char === '"') {
      while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
      end = end < text.length ? end + 1 : 0;
    } else if (text.startsWith("&&", at) || text.startsWith("||", at)) end = at + 2;
    else if (/[A-Za-z]/.test(char)) while (end < text.length && /\w/.test(text[end]!)) end++;
    if (end === 0) return null;
    words.push(text.slice(at, end));
    at = end;
  }
  return words;
}

const UNREADABLE = "the rule cannot be read";

/** What no route can say: it may be every request. */
function wider(fault: string): RouterRule {
  return { any: [EVERYTHING], fault };
}

function exactly(...any: readonly Condition[]): RouterRule {
  return { any, fault: "" };
}

class RuleReader {
  private readonly words: readonly string[];
  private at = 0;
  private depth = 0;

  constructor(words: readonly string[]) {
    this.words = words;
  }

  get isAtEnd(): boolean {
    return this.at === this.words.length;
  }

  either(): RouterRule {
    if (++this.depth > MAX_NESTING) return wider("the rule is nested too deep");
    const first = this.all();
    const any = [...first.any];
    let { fault } = first;
    while (this.words[this.at] === "||") {
      this.at++;
      const right = this.all();
      any.push(...right.any);
      fault ||= right.fault;
    }
    this.depth--;
    return any.length > MAX_RULES ? wider(TOO_MANY) : { any, fault };
  }

  private all(): RouterRule {
    let { any, fault } = this.one();
    while (this.words[this.at] === "&&") {
      this.at++;
      const right = this.one();
      fault ||= right.fault;
      if (any.length * right.any.length > MAX_ALTERNATIVES) {
        fault ||= TOO_MANY;
        continue;
      }
      const met: Condition[] = [];
      let isJoined = true;
      for (const a of any)
        for (const b of right.any) {
          const one = joined(a, b);
          if (one !== null) met.push(one);
          else if (!isApart(a, b)) isJoined = false;
        }
      if (met.some(({ notAny }) => notAny.length > MAX_ALTERNATIVES)) fault ||= TOO_MANY;
      else if (isJoined) any = met;
      else fault ||= "its conditions cannot be joined into one of a route";
    }
    return { any, fault };
  }

  private one(): RouterRule {
    const word = this.words[this.at++];
    if (word === "(") {
      const inner = this.either();
      return this.words[this.at++] === ")" ? inner : wider("a parenthesis of the rule is not closed");
    }
    if (word === "!") {
      if (++this.depth > MAX_NESTING) return wider("the rule is nested too deep");
      const inner = this.one();
      this.depth--;
      // All but more than was meant would be less.
      if (inner.fault !== "") return wider(inner.fault);
      const places = inner.any.some(({ notAny }) => notAny.length > 0) ? null : byPaths(inner.any);
      if (places === null) return wider("a condition with ! has no counterpart in a route");
      return exactly(...(places.length === 0 ? [EVERYTHING] : allBut(places)));
    }
    if (word === undefined || !/^[A-Za-z]/.test(word) || this.words[this.at] !== "(") return wider(UNREADABLE);
    this.at++;
    const args: string[] = [];
    for (;;) {
      const arg = this.words[this.at++];
      if (arg === undefined) return wider("a parenthesis of the rule is not closed");
      if (arg === ")") break;
      if (arg !== ",") args.push(arg.slice(1, -1));
    }
    return args.length === 0 || args.length > MAX_ALTERNATIVES
      ? wider(`${word} has no values, or too many`)
      : matcherOf(word, args);
  }
}

function matcherOf(word: string, args: readonly string[]): RouterRule {
  const name = word.toLowerCase();
  const [first = "", second = ""] = args;
  if (name === "host" || name === "hostheader")
    return exactly({ ...EVERYTHING, hosts: args.map((one) => one.toLowerCase()) });
  if (name === "hostregexp") return hostsOf(args);
  if ((name === "pathprefix" || name === "path") && args.some((one) => one.includes("{") || !one.startsWith("/")))
    return wider("a path has no patterns");
  if (name === "pathprefix") return exactly(...args.map((one) => ({ ...EVERYTHING, path: lettersOf(one) })));
  if (name === "path")
    return exactly(...args.map((value) => ({ ...EVERYTHING, path: { kind: "exact" as const, value } })));
  if (name === "pathregexp") return exactly(...args.map((regex) => ({ ...EVERYTHING, regex })));
  if (name === "method") return exactly({ ...EVERYTHING, methods: args.map((one) => one.toUpperCase()) });
  if (name === "header" || name === "headers")
    return exactly({ ...EVERYTHING, match: { header: { [first]: second } } });
  if (name === "headerregexp" || name === "headersregexp")
    return exactly({ ...EVERYTHING, match: { header: { [first]: slashed(second) } } });
  if (name === "query") return queryOf(args);
  if (name === "queryregexp") return exactly({ ...EVERYTHING, match: { query: { [first]: slashed(second) } } });
  if (name === "clientip") return exactly({ ...EVERYTHING, match: { client_ip: [...args] } });
  return wider(`${word} has no counterpart in a route`);
}

/** `v`, `2` of version 3; `v=2` and several of them of version 2. */
function queryOf(args: readonly string[]): RouterRule {
  const [first = "", second] = args;
  if (second !== undefined && args.length > 2) return wider("a query has several values");
  const at = second === undefined ? first.indexOf("=") : first.length;
  const name = at < 0 ? first : first.slice(0, at);
  const value = second ?? (at < 0 ? "" : first.slice(at + 1));
  if (second?.includes("=") === true) return wider("a query has several values");
  return exactly({ ...EVERYTHING, match: { query: { [name]: value === "" ? true : value } } });
}

/** Every name below one: `{sub:[a-z]+}.example.com`, `^.+\.example\.com$`. */
function hostsOf(args: readonly string[]): RouterRule {
  const hosts: string[] = [];
  for (const arg of args) {
    if (/^(\^?\.[+*]\$?|\{\w+:\.[+*]\})$/.test(arg)) return exactly(EVERYTHING);
    const [, rest] = /^(?:\^?(?:\.\+|\.\*|\{\w+:\.[+*]\}|\{\w+\}))(?:\\?\.)(.*)$/s.exec(arg) ?? [];
    const plain = rest?.replace(/\$$/, "").replaceAll("\\.", ".").toLowerCase() ?? "";
    if (!/^[\w.-]+$/.test(plain)) return wider("a host is a name, or *. and a name");
    hosts.push(`*.${plain}`);
  }
  return exactly({ ...EVERYTHING, hosts });
}

const TOO_MANY = "the rule has too many alternatives";
const MAX_NESTING = 50;
const MAX_ALTERNATIVES = 200;
/** Alternatives of a whole rule, each of which is a route. */
const MAX_RULES = 1000;
