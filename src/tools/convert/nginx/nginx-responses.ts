import { type Keys, sectionAt } from "../keys.ts";
import { hasType, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";
import { nginxSize } from "./nginx-values.ts";

/** `proxy_redirect`, by default that of the location: addresses of the origin become those of the location. */
export function proxyRedirect(scope: Scope, rule: Rule): void {
  const pass = scope.here("proxy_pass")[0];
  if (pass === undefined || !hasType(rule.keys, "upstream")) return;
  const all = scope.inherited("proxy_redirect");
  if (all.some(({ args }) => args[0] === "off")) return;
  const rules: Keys[] = [];
  if (all.length === 0) rules.push(...defaultRedirect(pass));
  for (const one of all) {
    const [from = "", to = ""] = one.args;
    if (from === "default") rules.push(...defaultRedirect(pass));
    else if (!isPlain(from) || !/^(https?:\/\/[^/$]|\/)[^$]*$/.test(to)) {
      scope.ledger.note(
        one,
        "a rule of rewrite_location is two texts without variables: Location of the origin goes on as it is",
        "let the origin write addresses by Host, or set rewrite_location: true",
      );
      continue;
    } else rules.push({ from, to });
    scope.ledger.carry(one);
  }
  if (rules.length > 0) rule.keys.rewrite_location = rules;
}

/** What nginx replaces without a word: the address of `proxy_pass` by the path of its location. */
function defaultRedirect(pass: Statement): Keys[] {
  const [url = ""] = pass.args;
  if (!isPlain(url)) return [];
  const hasPath = /^https?:\/\/[^/]+\//.test(url);
  const [kind = "", path = ""] = pass.parent?.name === "location" ? pass.parent.args : ["/"];
  if (!hasPath) return [{ from: `${url}/`, to: "/" }];
  if (kind.startsWith("~")) return [];
  return [{ from: url, to: path === "" ? kind : path }];
}

/** An address with a server in it, and no variable. */
function isPlain(text: string): boolean {
  return /^https?:\/\/[^/$]+(\/[^$]*)?$/.test(text) && !text.includes("unix:");
}

/** `proxy_cookie_path`, `proxy_cookie_domain` and `proxy_cookie_flags`, as far as they are about all cookies alike. */
export function proxyCookies(scope: Scope, rule: Rule): void {
  if (!hasType(rule.keys, "upstream")) return;
  const edits: Keys = {};
  for (const [name, key] of COOKIE_TEXTS)
    for (const one of scope.inherited(name)) {
      const [from = "", to = ""] = one.args;
      const isSaid = from === "off" || (/^[\w./-]+$/.test(from) && /^[\w./-]+$/.test(to));
      if (isSaid) scope.ledger.carry(one);
      else noteCookies(scope, one);
      if (isSaid && from !== "off") sectionAt(edits, key)[from] = to;
    }
  for (const one of scope.inherited("proxy_cookie_flags")) {
    const [cookie = "", ...flags] = one.args;
    if (cookie !== "~" && cookie !== "off") {
      noteCookies(scope, one);
      continue;
    }
    scope.ledger.carry(one);
    for (const flag of flags) Object.assign(edits, COOKIE_FLAGS[flag.toLowerCase()]);
  }
  if (Object.keys(edits).length > 0) rule.keys.rewrite_cookies = edits;
}

function noteCookies(scope: Scope, one: Statement): void {
  scope.ledger.note(
    one,
    "expressions, variables and names of cookies have no counterpart: the cookies go on as they are",
    "set rewrite_cookies at the route",
  );
}

const COOKIE_TEXTS = [
  ["proxy_cookie_path", "path"],
  ["proxy_cookie_domain", "domain"],
] as const;
const COOKIE_FLAGS: Readonly<Record<string, Keys>> = {
  secure: { secure: true },
  nosecure: { secure: false },
  httponly: { http_only: true },
  nohttponly: { http_only: false },
  "samesite=strict": { same_site: "strict" },
  "samesite=lax": { same_site: "lax" },
  "samesite=none": { same_site: "none" },
  nosamesite: { same_site: "off" },
};

/** `limit_rate` of a response. */
export function limitRate(scope: Scope, rule: Rule): void {
  const one = scope.one("limit_rate");
  const bytes = nginxSize(one?.args[0] ?? "");
  if (one === null || bytes === null || scope.one("limit_rate_after") !== null) return;
  scope.ledger.carry(one);
  if (bytes > 0) rule.keys.limit_rate = bytes;
}

/** `autoindex` of a folder. */
export function listings(scope: Scope, rule: Rule): void {
  const one = scope.one("autoindex");
  if (one?.args[0] !== "on" || !hasType(rule.keys, "static")) return;
  scope.ledger.carry(one);
  if (rule.keys.rewrite === undefined) rule.keys.browse = true;
}
