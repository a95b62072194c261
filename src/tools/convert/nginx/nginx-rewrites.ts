import { beginningOf } from "../condition.ts";
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
  if ("hosts" in condition) rule.hosts = condition.hosts;
  else if ("methods" in condition) rule.methods = condition.methods;
  else rule.match = condition.match;
  if (/^30[12378]$/.test(code)) {
    const to = templateOf(text);
    if (to === null || !/^(\/|https?:\/\/[\w.-])/.test(to)) return [];
    rule.keys = { type: "redirect", to, status: Number(code) };
  } else if (/^[245]\d\d$/.test(code) && code !== "444" && templateOf(text) !== null) {
    rule.keys = { type: "respond", status: Number(code), ...(text === "" ? {} : { body: templateOf(text) }) };
  } else return [];
  scope.ledger.carry(statement, inner);
  return [rule];
}

type Condition = { readonly hosts: string[] } | { readonly methods: string[] } | { readonly match: Keys } | "cleartext";

function conditionOf(words: string): Condition | null {
  const parts = /^\$(\w+)\s*(=|~\*|~)\s*"?([^"]*)"?$/.exec(words);
  if (parts === null) return null;
  const [, name, sign, value] = parts as unknown as [string, string, string, string];
  if (sign === "=" && (name === "host" || name === "http_host") && /^[\w.-]+$/.test(value)) return { hosts: [value] };
  if (sign === "=" && name === "scheme") return value === "http" ? "cleartext" : null;
  if (name === "request_method" && /^\^?\(?[A-Z|]+\)?\$?$/.test(value))
    return { methods: value.replace(/[\^$()]/g, "").split("|") };
  const [, kind, field] = /^(http|cookie|arg)_(\w+)$/.exec(name) ?? [];
  if (kind === undefined || /^(host|x_forwarded_proto)$/.test(field!)) return null;
  const wanted = sign === "=" ? value : `/${value.replaceAll("/", "\\/")}/${sign === "~*" ? "i" : ""}`;
  const key = { http: "header", cookie: "cookie", arg: "query" }[kind]!;
  return { match: { [key]: { [kind === "http" ? field!.replaceAll("_", "-") : field!]: wanted } } };
}
