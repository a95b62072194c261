import { ipVersion } from "../../../core/ip-address.ts";
import { refuse } from "../access.ts";
import { beginningOf, type Condition, EVERYTHING } from "../condition.ts";
import { type Modifier, refusal } from "../modifiers.ts";
import { type Keys, type PathRule, type Rule, ruleOf } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";
import { templateOf } from "./nginx-values.ts";

/** What `rewrite` and `if` of a block are: redirects of their own, and a change of the path. */
export interface Rewrites {
  readonly redirects: Rule[];
  /** `rewrite` of the route, or null. */
  readonly rewrite: Keys | null;
}

/** Reads the directives of the module rewrite that a block has itself. @param place where the block counts */
export function rewritesOf(scope: Scope, place: PathRule): Rewrites {
  const redirects: Rule[] = [];
  let rewrite: Keys | null = null;
  for (const one of scope.here("rewrite")) {
    const [regex = "", to = "", flag = ""] = one.args;
    const isRedirect = flag === "permanent" || flag === "redirect" || /^https?:/.test(to);
    const template = templateOf(to.replace(/\?$/, ""), true);
    if (template === null) continue;
    if (isRedirect) {
      redirects.push(
        redirectOf(one, place, {
          regex,
          to: template,
          keepsQuery: !to.includes("?"),
          status: flag === "permanent" ? 301 : 302,
        }),
      );
      scope.ledger.carry(one);
    } else if (
      rewrite === null &&
      scope.here("proxy_pass", "grpc_pass").length > 0 &&
      template.startsWith("/") &&
      !to.includes("?")
    ) {
      rewrite = { regex, to: template };
      scope.ledger.carry(one);
    }
  }
  for (const one of scope.here("if")) redirects.push(...conditional(scope, one, place));
  return { redirects, rewrite };
}

function redirectOf(
  origin: Statement,
  place: PathRule,
  {
    regex,
    to,
    keepsQuery,
    status,
  }: { readonly regex: string; readonly to: string; readonly keepsQuery: boolean; readonly status: number },
): Rule {
  const rule = ruleOf(origin, `${origin.file}:${origin.line} ${origin.text}`, {
    type: "redirect",
    regex,
    to: keepsQuery && !to.includes("{uri}") ? `${to}?{query}` : to,
    status,
  });
  rule.path = beginningOf(regex, place);
  rule.isPartial = true;
  return rule;
}

/** `if`: a redirect or a status for some requests. */
function conditional(scope: Scope, statement: Statement, place: PathRule): Rule[] {
  const words = statement.args.join(" ").replace(/^\(\s*|\s*\)$/g, "");
  const [inner, ...more] = statement.block ?? [];
  const condition = conditionOf(words);
  if (inner === undefined || more.length > 0 || inner.name !== "return" || condition === null) return [];
  const [code = "", text = ""] = inner.args;
  const rule = ruleOf(statement, `${statement.file}:${statement.line} ${statement.text}`, {});
  rule.path = place;
  if (condition === "cleartext") return [];
  Object.assign(rule, { hosts: [...condition.hosts], methods: [...condition.methods], match: { ...condition.match } });
  if (/^30[12378]$/.test(code)) {
    const to = templateOf(text);
    if (to === null || !/^(\/|https?:\/\/[\w.-])/.test(to)) return [];
    rule.keys = { type: "redirect", to, status: Number(code) };
  } else if (code === "444") {
    rule.keys = { type: "respond", status: 403 };
    noteNoResponse(scope, inner);
  } else if (/^[245]\d\d$/.test(code) && templateOf(text) !== null) {
    rule.keys = { type: "respond", status: Number(code), ...(text === "" ? {} : { body: templateOf(text) }) };
  } else return [];
  scope.ledger.carry(statement, inner);
  return [rule];
}

/** `return 444`. */
export function noteNoResponse({ ledger }: Scope, statement: Statement): void {
  ledger.note(statement, "every request has a response: 403 in its place", "nothing, or another status at the route");
}

/** `if` with a condition that is denied and a refusal, and `limit_except`: who does not fit is kept out. docs/migrate.md#nginx */
export function guardsOf(scope: Scope): Modifier[] {
  return [...conditionalGuards(scope), ...scope.here("limit_except").flatMap((one) => methodsOf(scope, one))];
}

function methodsOf({ ledger }: Scope, statement: Statement): Modifier[] {
  const methods = statement.args.map((method) => method.toUpperCase());
  const [only, ...more] = statement.block ?? [];
  if (only?.name === "deny" && only.args[0] === "all" && more.length === 0) ledger.carry(statement, only);
  else
    ledger.noteWhole(
      statement,
      "methods are allowed or not: all but these are refused to every client",
      "write another route for the other methods, with ip_rules or auth",
    );
  return refusal(statement, [{ ...EVERYTHING, notAny: [{ ...EVERYTHING, methods }] }]);
}

function conditionalGuards(scope: Scope): Modifier[] {
  return scope.here("if").flatMap((one): Modifier[] => {
    const words = one.args.join(" ").replace(/^\(\s*|\s*\)$/g, "");
    const [, name = "", sign = "", value = ""] = /^\$(\w+)\s*!(=|~\*|~)\s*"?([^"]*)"?$/.exec(words) ?? [];
    const [inner, ...more] = one.block ?? [];
    const [code = ""] = inner?.args ?? [];
    if (inner?.name !== "return" || !/^4\d\d$/.test(code)) return [];
    if (name === "") {
      if (!scope.ledger.isJudged(one))
        scope.ledger.noteWhole(
          one,
          "its condition has no counterpart in a route: what it refuses gets in",
          "write a route with match",
        );
      return [];
    }
    // Whatever is not nothing is refused: a condition that `conditional` reads.
    if (value === "" && conditionOf(words) !== null) return [];
    const fits = value === "" ? null : conditionOf(`$${name} ${sign} "${value}"`);
    if (fits === null || fits === "cleartext" || more.length > 0) {
      scope.ledger.note(
        one,
        "its condition has no counterpart in a route: the routes that it is for are closed",
        "write a route with match for what gets in, or auth.mtls for certificates",
      );
      return [{ statement: one, conditions: [EVERYTHING], isRefusal: true, apply: refuse }];
    }
    scope.ledger.carry(one, inner);
    if (code === "444") noteNoResponse(scope, inner);
    const status = code === "444" ? 403 : Number(code);
    return refusal(one, [{ ...EVERYTHING, notAny: [fits] }], { status });
  });
}

function conditionOf(words: string): Condition | "cleartext" | null {
  const parts = /^\$(\w+)\s*(!?=|~\*|~)\s*"?([^"]*)"?$/.exec(words);
  if (parts === null) return null;
  const [, name, sign, value] = parts as unknown as [string, string, string, string];
  if (sign === "!=" && value !== "") return null;
  if (name === "host" || name === "http_host" || name === "server_name") {
    const hosts = sign === "=" ? [value] : hostsOf(value);
    return hosts?.every((one) => /^[\w.-]+$/.test(one)) === true ? { ...EVERYTHING, hosts } : null;
  }
  if (sign === "=" && name === "scheme") return value === "http" ? "cleartext" : null;
  if (name === "request_method" && /^\^?\(?[A-Z|]+\)?\$?$/.test(value))
    return { ...EVERYTHING, methods: value.replace(/[\^$()]/g, "").split("|") };
  if (sign === "=" && name === "remote_addr" && ipVersion(value) !== 0)
    return { ...EVERYTHING, match: { client_ip: [value] } };
  const [, kind, field] = /^(http|cookie|arg)_(\w+)$/.exec(name) ?? [];
  if (kind === undefined || /^(host|x_forwarded_proto)$/.test(field!)) return null;
  const text = sign === "=" ? value : `/${value.replaceAll("/", "\\/")}/${sign === "~*" ? "i" : ""}`;
  const wanted = sign === "!=" ? true : value === "" || value === "^$" ? false : text;
  const key = { http: "header", cookie: "cookie", arg: "query" }[kind]!;
  return { ...EVERYTHING, match: { [key]: { [kind === "http" ? field!.replaceAll("_", "-") : field!]: wanted } } };
}

/** Names of an expression that says nothing else: `^(www\.)?example\.com$`, `^(a|b)\.example\.com$`; null for others. */
function hostsOf(regex: string): string[] | null {
  const [, before = "", list, isOptional, after = ""] =
    /^\^((?:[\w-]|\\\.)*)(?:\(((?:[\w|-]|\\\.)+)\)(\?)?)?((?:[\w-]|\\\.)*)\$$/.exec(regex) ?? [];
  if (before + after + (list ?? "") === "") return null;
  const words = [...(list?.split("|") ?? [""]), ...(isOptional === undefined ? [] : [""])];
  return words.map((word) => `${before}${word}${after}`.replaceAll("\\", "").toLowerCase());
}
