import { THIS_MACHINE } from "../access.ts";
import { type Condition, EVERYTHING, slashed } from "../condition.ts";
import { joined } from "../modifiers.ts";
import { regexPlaces } from "../nginx/nginx-places.ts";
import { type Keys, prefixOf } from "../plan.ts";
import type { Statement } from "../statement.ts";

/**
 * What a condition asks: requests that fit one of the alternatives, or why a route cannot say it. With `wider`, more than the condition
 * asks, for the reason that it says.
 */
export type Asked =
  | { readonly any: readonly Condition[]; readonly wider?: string }
  | { readonly fault: string }
  | { readonly special: "cleartext" | "tls" | "not-authenticated" };

/** A term of a condition. */
interface Term {
  readonly words: readonly string[];
  readonly isNot: boolean;
}

/** The ACLs of a section with those of its defaults. */
export class Acls {
  private readonly lines: Map<string, Statement[]> = new Map();

  constructor(...sections: readonly (Statement | null)[]) {
    for (const one of sections.flatMap((section) => section?.all("acl") ?? [])) {
      const [name = ""] = one.args;
      this.lines.set(name, [...(this.lines.get(name) ?? []), one]);
    }
  }

  /** The lines that a condition uses. */
  linesOf(words: readonly string[]): Statement[] {
    return words.flatMap((word) => this.lines.get(word.replace(/^!/, "")) ?? []);
  }

  /**
   * Reads what follows `if` or `unless`; nothing is every request.
   * @param isRefusal whether terms with `!` that no route can ask for are left out, so that more is refused
   */
  asked(words: readonly string[], isRefusal = false): Asked {
    const [kind, ...rest] = words;
    if (kind === undefined) return { any: [EVERYTHING] };
    if (kind !== "if" && kind !== "unless") return { fault: `${kind} is no condition` };
    const groups = kind === "if" ? groupsOf(rest) : inverted(groupsOf(rest));
    if (groups === null) return { fault: "it has too many alternatives" };
    if (groups.length === 1 && groups[0]!.length === 1) {
      const term = groups[0]![0]!;
      const special = this.special(term.words, term.isNot);
      if (special !== null) return { special };
    }
    const any: Condition[] = [];
    let wider: string | null = null;
    for (const group of groups) {
      const asked = this.group(group, isRefusal);
      if (!("any" in asked)) return asked;
      wider ??= asked.wider ?? null;
      any.push(...asked.any);
    }
    if (any.length > MAX_ALTERNATIVES) return { fault: "it has too many alternatives" };
    return wider === null ? { any } : { any, wider };
  }

  /** Terms of which all must hold. */
  private group(terms: readonly Term[], isRefusal: boolean): Asked {
    let all: readonly Condition[] = [EVERYTHING];
    let wider: string | null = null;
    for (const { words, isNot } of terms) {
      const asked = this.term(words, isNot);
      // Everything is TLS where clear text leads there.
      if ("special" in asked && asked.special === "tls") continue;
      if (!("any" in asked)) {
        const fault = "fault" in asked ? asked.fault : asked.special === "cleartext" ? SCHEME : PASSWORDS;
        if (!isRefusal || !isNot || fault === SCHEME) return { fault };
        wider ??= fault;
        continue;
      }
      const met = all.flatMap((left) => asked.any.map((right) => joined(left, right)));
      if (met.includes(null)) return { fault: "its conditions cannot be joined into one of a route" };
      all = met as Condition[];
    }
    return wider === null ? { any: all } : { any: all, wider };
  }

  private special(words: readonly string[], isNot: boolean): "cleartext" | "tls" | "not-authenticated" | null {
    const [first = ""] =
      words.length === 1 && this.lines.has(words[0]!) ? this.lines.get(words[0]!)![0]!.args.slice(1) : words;
    if (first === "ssl_fc") return isNot ? "cleartext" : "tls";
    if (/^http_auth/.test(first)) return isNot ? "not-authenticated" : null;
    return null;
  }

  private term(words: readonly string[], isNot: boolean): Asked {
    const special = this.special(words, isNot);
    if (special !== null) return { special };
    const [name = ""] = words;
    const lines = words.length === 1 ? this.lines.get(name) : undefined;
    const parts = lines?.map((line) => line.args.slice(1)) ?? [words];
    const any: Condition[] = [];
    for (const part of parts) {
      const found = criterion(part);
      if ("fault" in found) return found;
      any.push(...(found as { any: Condition[] }).any);
    }
    return { any: isNot ? [negated(any)] : any };
  }
}

const SCHEME = "routes do not go by the scheme";
export const PASSWORDS = "passwords are hashed by bcrypt or argon2id";

/** What fits none of the alternatives. Whether there is a field is said by `match`; all else is an exception. */
function negated(any: readonly Condition[]): Condition {
  const [only] = any;
  const [kind = ""] = Object.keys(only?.match ?? {});
  if (any.length === 1 && only!.path === null && only!.hosts.length + only!.methods.length === 0) {
    const fields = Object.entries((only!.match[kind] ?? {}) as Keys);
    if (kind !== "client_ip" && fields.length === 1 && fields[0]![1] === true)
      return { ...EVERYTHING, match: { [kind]: { [fields[0]![0]]: false } } };
  }
  return { ...EVERYTHING, notAny: any };
}

/** What does not fit the groups, as groups; null where there are too many. */
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
function criterion(words: readonly string[]): Asked {
  const [fetch = "", ...rest] = words;
  const values: string[] = [];
  let how = "";
  let isAnyCase = false;
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at]!;
    if (word === "-i") isAnyCase = true;
    else if (word === "-m") how = rest[++at] ?? "";
    else if (word === "-f") return { fault: "its values are in a file" };
    else if (word === "--" || word === "-n") continue;
    else values.push(word);
  }
  const [, name = "", argument = "", suffix = ""] =
    /^([\w.]+?)(?:\(([^)]*)\))?((?:,[\w.]+(?:\([^)]*\))?)*)$/.exec(fetch) ?? [];
  if (suffix !== "" && !/^(,(lower|host_only|field\(1,:\)|port_only))+$/.test(suffix))
    return { fault: `${fetch} has no counterpart in a route` };
  if (/^(TRUE|always_true|HTTP)$/.test(name)) return { any: [EVERYTHING] };
  if (name === "LOCALHOST") return { any: [{ ...EVERYTHING, match: { client_ip: [...THIS_MACHINE] } }] };
  if (/^METH_[A-Z]+$/.test(name)) return { any: [{ ...EVERYTHING, methods: [name.slice(5)] }] };
  if (/^(path|url)(_(beg|end|reg|dir|dom|sub|len))?$/.test(name))
    return pathOf(how || name.replace(/^(path|url)_?/, ""), values);
  if (name === "method") return { any: [{ ...EVERYTHING, methods: values.map((one) => one.toUpperCase()) }] };
  if (name === "src") return { any: [{ ...EVERYTHING, match: { client_ip: values } }] };
  if (name === "ssl_fc_sni" || name === "req.ssl_sni") return hostOf(how || "str", values);
  const field = /^(?:req\.)?(hdr|fhdr)(?:_(\w+))?$/.exec(name);
  if (field !== null && argument.toLowerCase().replace(/,-?1$/, "") === "host")
    return hostOf(how || field[2] || "str", values);
  if (field !== null)
    return comparisonOf("header", argument.replace(/,.*$/, ""), { how: how || field[2] || "str", values, isAnyCase });
  const cookie = /^(?:req\.)?cook(?:_(\w+))?$/.exec(name);
  if (cookie !== null) return comparisonOf("cookie", argument, { how: how || cookie[1] || "str", values, isAnyCase });
  if (/^(url_param|urlp)(_\w+)?$/.test(name))
    return comparisonOf("query", argument, { how: how || "str", values, isAnyCase });
  return { fault: `${fetch} has no counterpart in a route` };
}

function pathOf(how: string, values: readonly string[]): Asked {
  const any: Condition[] = [];
  for (const value of values) {
    if (how === "" || how === "str") any.push({ ...EVERYTHING, path: { kind: "exact", value } });
    else if (how === "beg") any.push({ ...EVERYTHING, path: prefixOf(value) });
    else if (how === "reg") {
      const places = regexPlaces(value);
      if (places === null) return { fault: "routes go by paths, not by expressions" };
      any.push(...places.map((path) => ({ ...EVERYTHING, path })));
    } else return { fault: `routes go by the beginning of a path, or all of it, not by path_${how}` };
  }
  return { any };
}

function hostOf(how: string, values: readonly string[]): Asked {
  const hosts: string[] = [];
  for (const value of values) {
    const plain = value.toLowerCase().replace(/:\d+$/, "");
    if (how === "str") hosts.push(plain);
    else if (how === "end" && plain.startsWith(".")) hosts.push(`*${plain}`);
    else if (how === "dom") hosts.push(plain, `*.${plain}`);
    else return { fault: "a host is a name, or *. and a name" };
  }
  return { any: [{ ...EVERYTHING, hosts }] };
}

function comparisonOf(
  kind: "header" | "cookie" | "query",
  name: string,
  { how, values, isAnyCase }: { readonly how: string; readonly values: readonly string[]; readonly isAnyCase: boolean },
): Asked {
  const match = (value: unknown): Asked => ({ any: [{ ...EVERYTHING, match: { [kind]: { [name]: value } } }] });
  if (how === "found" || values.length === 0 || (how === "cnt" && /^(gt 0|ge 1)$/.test(values.join(" "))))
    return match(true);
  const escaped = values.map((one) => one.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  if (how === "str" && values.length === 1 && !isAnyCase) return match(values[0]);
  if (how === "str") return match(slashed(`^(${escaped.join("|")})$`, isAnyCase));
  if (how === "sub") return match(slashed(escaped.join("|"), isAnyCase));
  if (how === "beg") return match(slashed(`^(${escaped.join("|")})`, isAnyCase));
  if (how === "end") return match(slashed(`(${escaped.join("|")})$`, isAnyCase));
  if (how === "reg") return match(slashed(values.join("|"), isAnyCase));
  return { fault: `${how} has no counterpart in a route` };
}

const MAX_ALTERNATIVES = 200;
