import { THIS_MACHINE } from "../access.ts";
import { allBut, byPaths } from "../by-paths.ts";
import { type Condition, EVERYTHING, slashed } from "../condition.ts";
import { EFFORT } from "../effort.ts";
import { escapedRegex } from "../expression.ts";
import type { Keys } from "../keys.ts";
import { isApart, joined } from "../modifiers.ts";
import { lettersOf } from "../path-rule.ts";
import type { Statement } from "../statement.ts";

/**
 * What a condition asks: requests that fit one of the alternatives. With a `fault` no route can say it, and the alternatives take more than it
 * asks.
 */
export type HaproxyTest =
  | { readonly any: readonly Condition[]; readonly fault: string }
  | { readonly special: "cleartext" | "not-authenticated" };

/** A term of a condition. */
interface Term {
  readonly words: readonly string[];
  readonly isNot: boolean;
}

/** What decides beside the words about what a condition compares. */
export interface HaproxyRequest {
  readonly hasTls: boolean;
  readonly hasClear: boolean;
  /** Why `src` is not the address that a route compares; "" if it is. */
  srcFault: string;
  /** Why the path is another one than the client's own by now; "" if it is that. */
  pathFault: string;
  /** Fields that have been changed by now, in lower case. */
  readonly changed: Set<string>;
}

/** The ACLs of a section with those of its defaults. */
export class Acls {
  readonly facts: HaproxyRequest;
  private readonly lines: Map<string, Statement[]> = new Map();

  constructor(facts: HaproxyRequest, ...sections: readonly (Statement | null)[]) {
    this.facts = facts;
    for (const one of sections.flatMap((section) => section?.all("acl") ?? [])) {
      const [name = ""] = one.args;
      const own = this.lines.get(name);
      if (own === undefined) this.lines.set(name, [one]);
      else own.push(one);
      EFFORT.take(1);
    }
  }

  /** The lines that a condition uses. */
  linesOf(words: readonly string[]): Statement[] {
    return words.flatMap((word) => this.lines.get(word.replace(/^!/, "")) ?? []);
  }

  /** Reads what follows `if` or `unless`; nothing is every request. */
  asked(words: readonly string[]): HaproxyTest {
    const [kind, ...rest] = words;
    if (kind === undefined) return { any: [EVERYTHING], fault: "" };
    if (kind !== "if" && kind !== "unless") return wider(`${kind} is no condition`);
    const groups = kind === "if" ? groupsOf(rest) : inverted(groupsOf(rest));
    if (groups === null) return wider(TOO_MANY);
    if (groups.length === 1 && groups[0]!.length === 1) {
      const { words: term, isNot } = groups[0]![0]!;
      const special = isNot ? this.special(term) : null;
      if (special !== null && (special !== "cleartext" || this.facts.hasTls)) return { special };
    }
    const any: Condition[] = [];
    let fault = "";
    for (const group of groups) {
      const asked = this.group(group);
      fault ||= asked.fault;
      any.push(...asked.any);
    }
    return any.length > MAX_ALTERNATIVES ? wider(TOO_MANY) : { any, fault };
  }

  /** Terms of which all must hold; all that no route can ask for are left out. */
  private group(terms: readonly Term[]): Exact {
    let all: readonly Condition[] = [EVERYTHING];
    let fault = "";
    for (const { words, isNot } of terms) {
      const asked = this.term(words, isNot);
      fault ||= asked.fault;
      const met: Condition[] = [];
      let isJoined = true;
      for (const left of all)
        for (const right of asked.any) {
          const one = joined(left, right);
          if (one !== null) met.push(one);
          else if (!isApart(left, right)) isJoined = false;
        }
      if (isJoined) all = met;
      else fault ||= "its conditions cannot be joined into one of a route";
      if (all.length > MAX_ALTERNATIVES || all.some(({ notAny }) => notAny.length > MAX_ALTERNATIVES))
        return wider(TOO_MANY);
    }
    return { any: all, fault };
  }

  private special(words: readonly string[]): "cleartext" | "not-authenticated" | null {
    const first = this.meant(words)[0]?.[0] ?? "";
    if (first === "ssl_fc") return "cleartext";
    return /^http_auth/.test(first) ? "not-authenticated" : null;
  }

  /** The tests that a term is made of: its own, or those of the lines that it names. */
  private meant(words: readonly string[]): readonly (readonly string[])[] {
    const lines = words.length === 1 ? this.lines.get(words[0] ?? "") : undefined;
    return lines?.map((line) => line.args.slice(1)) ?? [words];
  }

  private term(words: readonly string[], isNot: boolean): Exact {
    const any: Condition[] = [];
    let fault = "";
    for (const part of this.meant(words)) {
      EFFORT.take(part.length);
      const found = criterion(part, this.facts);
      fault ||= found.fault;
      any.push(...found.any);
    }
    if (!isNot) return { any, fault };
    // All but more than was meant would be less.
    if (fault !== "") return wider(fault);
    const places = byPaths(any);
    if (places === null) return wider("! of an expression has no counterpart in a route");
    // A request that fits none of nothing is every request.
    return { any: places.length === 0 ? [EVERYTHING] : negated(places), fault: "" };
  }
}

type Exact = Extract<HaproxyTest, { readonly any: unknown }>;

/** What no route can say: it may be every request. */
function wider(fault: string): Exact {
  return { any: [EVERYTHING], fault };
}

function exactly(...any: readonly Condition[]): Exact {
  return { any, fault: "" };
}

const TOO_MANY = "it has too many alternatives";
export const PASSWORDS = "passwords are hashed by bcrypt or argon2id";

/** What fits none of the alternatives. Whether there is a field is said by `match`; all else is an exception. */
function negated(any: readonly Condition[]): readonly Condition[] {
  const [only] = any;
  const [kind = ""] = Object.keys(only?.match ?? {});
  if (any.length === 1 && only!.path === null && only!.hosts.length + only!.methods.length === 0) {
    const fields = Object.entries((only!.match[kind] ?? {}) as Keys);
    if (kind !== "client_ip" && fields.length === 1 && fields[0]![1] === true)
      return [{ ...EVERYTHING, match: { [kind]: { [fields[0]![0]]: false } } }];
  }
  return allBut(any);
}

/** What does not fit the groups, as groups; null if there are too many. */
function inverted(groups: readonly (readonly Term[])[]): Term[][] | null {
  let all: Term[][] = [[]];
  for (const group of groups) {
    all = all.flatMap((left) => group.map(({ words, isNot }) => [...left, { words, isNot: !isNot }]));
    if (all.length > MAX_ALTERNATIVES) return null;
  }
  return all;
}

/** `a b || c`: lists of terms of which all must hold. */
function groupsOf(words: readonly string[]): Term[][] {
  const groups: Term[][] = [[]];
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word === "||" || word === "or") {
      groups.push([]);
      continue;
    }
    let isNot = false;
    let name = word;
    if (name.startsWith("!")) {
      isNot = true;
      name = name.slice(1);
      if (name === "") name = words[++at] ?? "";
    }
    if (name !== "{") {
      groups.at(-1)!.push({ words: [name], isNot });
      continue;
    }
    const end = words.indexOf("}", at);
    const inner = words.slice(at + 1, end < 0 ? undefined : end);
    groups.at(-1)!.push({ words: inner, isNot });
    at = end < 0 ? words.length : end;
  }
  return groups;
}

/** One test with its values: `path_beg -i /api /v1`, `hdr(host) -m end .example.com`. */
function criterion(words: readonly string[], facts: HaproxyRequest): Exact {
  const [fetch = "", ...rest] = words;
  const values: string[] = [];
  let how = "";
  let isAnyCase = false;
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at]!;
    if (word === "-i") isAnyCase = true;
    else if (word === "-m") how = rest[++at] ?? "";
    else if (word === "-f" || word === "-M") return wider("its values are in a file");
    else if (word === "--" || word === "-n") continue;
    else values.push(word);
  }
  if (words.some(hasVariable)) return wider("it has a variable of the environment");
  const { name, argument, suffix } = partsOf(fetch);
  if (suffix.some((one) => !CONVERTERS.test(one))) return wider(`${fetch} has no counterpart in a route`);
  if (/^(TRUE|always_true|HTTP)$/.test(name)) return exactly(EVERYTHING);
  if (/^(FALSE|always_false)$/.test(name)) return exactly();
  if (name === "ssl_fc" && values.length === 0) return schemeOf(facts);
  if (/^http_auth/.test(name)) return wider(PASSWORDS);
  if (name === "src" || name === "LOCALHOST") {
    const networks = name === "src" ? values : [...THIS_MACHINE];
    return facts.srcFault === "" && networks.length > 0
      ? exactly({ ...EVERYTHING, match: { client_ip: networks } })
      : wider(facts.srcFault || "src has no value");
  }
  if (/^METH_[A-Z]+$/.test(name)) return exactly({ ...EVERYTHING, methods: methodsOf(name.slice(5)) });
  if (/^path(_(beg|end|reg|dir|sub))?$/.test(name) || name === "url_beg") {
    const by = how || name.replace(/^(path|url)_?/, "");
    return facts.pathFault === "" ? pathOf(by, values, isAnyCase) : wider(facts.pathFault);
  }
  if (name === "method") return exactly({ ...EVERYTHING, methods: values.map((one) => one.toUpperCase()) });
  if (name === "ssl_fc_sni" && !facts.hasClear) return hostOf(how || "str", values);
  return fieldOf({ name, argument, how, values, isAnyCase }, facts);
}

/** A name, what is between its parentheses, and the converters behind. */
function partsOf(fetch: string): {
  readonly name: string;
  readonly argument: string;
  readonly suffix: readonly string[];
} {
  const end = fetch.search(/[(,]/);
  if (end < 0) return { name: fetch, argument: "", suffix: [] };
  const close = fetch[end] === "(" ? fetch.indexOf(")", end) : end - 1;
  const argument = fetch[end] === "(" ? fetch.slice(end + 1, close < 0 ? undefined : close) : "";
  const rest = close < 0 ? "" : fetch.slice(close + 1);
  const suffix = rest === "" ? [] : rest.replace(/^,/, "").replace("field(1,:)", "host_only").split(",");
  return { name: fetch.slice(0, end), argument, suffix };
}

const CONVERTERS = /^(lower|host_only|port_only)$/;

/** HEAD is allowed wherever GET is, and so it is refused. */
function methodsOf(name: string): string[] {
  return name === "GET" ? ["GET", "HEAD"] : [name];
}

/** Whether a word has a variable of HAProxy's environment, which is not known here. */
export function hasVariable(word: string): boolean {
  return /\$(\{|[A-Za-z_])/.test(word);
}

function schemeOf({ hasTls, hasClear }: HaproxyRequest): Exact {
  if (hasTls && hasClear) return wider("routes do not go by the scheme");
  return hasTls ? exactly(EVERYTHING) : exactly();
}

interface FieldTest {
  readonly name: string;
  readonly argument: string;
  readonly how: string;
  readonly values: readonly string[];
  readonly isAnyCase: boolean;
}

function fieldOf({ name, argument, how, values, isAnyCase }: FieldTest, { changed }: HaproxyRequest): Exact {
  const field = /^(?:req\.)?(hdr|fhdr)(?:_(\w+))?$/.exec(name);
  const plain = argument.replace(/,.*$/s, "");
  if (field !== null && changed.has(plain.toLowerCase())) return wider(`${plain} has been changed before`);
  if (field !== null && argument.toLowerCase().replace(/,-?1$/, "") === "host")
    return hostOf(how || field[2] || "str", values);
  // One occurrence, another sign between parameters, or names in any letter case.
  if (argument.includes(",")) return wider(`${name}(${argument}) has no counterpart in a route`);
  if (field !== null && plain !== "")
    return comparisonOf("header", plain, {
      how: how || field[2] || "str",
      values,
      isAnyCase,
      isListed: field[1] === "hdr",
    });
  const cookie = /^(?:req\.)?cook(?:_(\w+))?$/.exec(name);
  if (cookie !== null && changed.has("cookie")) return wider("Cookie has been changed before");
  if (cookie !== null) return comparisonOf("cookie", argument, { how: how || cookie[1] || "str", values, isAnyCase });
  const query = /^(?:url_param|urlp)(?:_(\w+))?$/.exec(name);
  if (query !== null) return comparisonOf("query", argument, { how: how || query[1] || "str", values, isAnyCase });
  return wider(`${name} has no counterpart in a route`);
}

function pathOf(how: string, values: readonly string[], isAnyCase: boolean): Exact {
  const reading = isAnyCase ? { isAnyCase } : undefined;
  const flags = isAnyCase ? "(?i)" : "";
  if (values.length === 0) return wider("a path has no value");
  if (how === "" || how === "str")
    return exactly(
      ...values.map((value) => ({
        ...EVERYTHING,
        path: { kind: "exact" as const, value, ...(reading === undefined ? {} : { reading }) },
      })),
    );
  if (how === "beg") return exactly(...values.map((value) => ({ ...EVERYTHING, path: lettersOf(value, isAnyCase) })));
  if (how === "reg") return exactly(...values.map((value) => ({ ...EVERYTHING, regex: flags + value })));
  const texts = values.map(escapedRegex).join("|");
  const regex = { end: `(${texts})$`, sub: `(${texts})`, dir: `(^|/)(${texts})(/|$)` }[how];
  if (regex === undefined || (how === "dir" && values.some((value) => value.includes("/"))))
    return wider(`a path is not compared by path_${how}`);
  return exactly({ ...EVERYTHING, regex: flags + regex });
}

function hostOf(how: string, values: readonly string[]): Exact {
  const hosts: string[] = [];
  for (const value of values) {
    const plain = value.toLowerCase().replace(/:\d+$/, "");
    if (how === "str") hosts.push(plain);
    else if (how === "end" && plain.startsWith(".")) hosts.push(`*${plain}`);
    else if (how === "dom") hosts.push(plain, `*.${plain}`);
    else return wider("a host is a name, or *. and a name");
  }
  return hosts.length === 0 ? wider("a host has no value") : exactly({ ...EVERYTHING, hosts });
}

interface Comparison {
  readonly how: string;
  readonly values: readonly string[];
  readonly isAnyCase: boolean;
  /** Whether the field is a list, each value of which is compared, as `hdr` does and `fhdr` does not. */
  readonly isListed?: boolean;
}

/** What stands before and behind a value of a list with commas. RFC 9110 §5.6.1 */
const LIST_BEGIN = "(^|,)[ \\t]*";
const LIST_END = "[ \\t]*(,|$)";

function comparisonOf(
  kind: "header" | "cookie" | "query",
  name: string,
  { how, values, isAnyCase, isListed = false }: Comparison,
): Exact {
  const match = (value: unknown): Exact => exactly({ ...EVERYTHING, match: { [kind]: { [name]: value } } });
  if (how === "found" || (how === "cnt" && /^(gt 0|ge 1)$/.test(values.join(" ")))) return match(true);
  if (values.length === 0) return wider(`${name} is compared with nothing`);
  const escaped = values.map(escapedRegex);
  if (isListed && how !== "sub") {
    const texts = `(${escaped.join("|")})`;
    if (how === "str") return match(slashed(`${LIST_BEGIN}${texts}${LIST_END}`, isAnyCase));
    if (how === "beg") return match(slashed(`${LIST_BEGIN}${texts}`, isAnyCase));
    if (how === "end") return match(slashed(`${texts}${LIST_END}`, isAnyCase));
    if (how === "reg" && values.some((value) => /[\^$,]/.test(value)))
      return wider(`each value of the list ${name} is compared`);
  }
  if (how === "str" && values.length === 1 && !isAnyCase) return match(values[0]);
  if (how === "str") return match(slashed(`^(${escaped.join("|")})$`, isAnyCase));
  if (how === "sub") return match(slashed(escaped.join("|"), isAnyCase));
  if (how === "beg") return match(slashed(`^(${escaped.join("|")})`, isAnyCase));
  if (how === "end") return match(slashed(`(${escaped.join("|")})$`, isAnyCase));
  if (how === "reg") return match(slashed(values.join("|"), isAnyCase));
  return wider(`${how} has no counterpart in a route`);
}

const MAX_ALTERNATIVES = 200;
