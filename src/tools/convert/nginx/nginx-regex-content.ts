import { hasAlternatives } from "../arrange.ts";
import { contentExpressionOf } from "../expression.ts";
import type { PathRule } from "../path-rule.ts";
import { type Rule, ruleOf } from "../plan.ts";
import { statementTitle } from "../statement.ts";
import { content } from "./nginx-contents.ts";
import { applyOptions } from "./nginx-options.ts";
import { hasNested, type Located } from "./nginx-places.ts";
import type { Scope } from "./nginx-scope.ts";
import type { Site } from "./nginx-site.ts";
import { nginxTargets } from "./nginx-upstreams.ts";

/**
 * A location by an expression as a route with `regex`: an origin, or files by the ends of their names. docs/routing.md#routes-by-expressions
 * @returns null if no route does the same
 */
export function contentRule(site: Site, one: Located, within: PathRule): Rule | null {
  const { statement, scope, kind, path } = one;
  const regex = contentExpressionOf(path);
  if (regex === null || scope.here(...OWN_COURSE).length > 0 || hasNested(one) || mayRunScripts(site, one)) return null;
  if (scope.here("deny").some(({ args }) => args[0] === "all") && scope.here("allow").length === 0) return null;
  const rule = ruleOf(statement, statementTitle(statement), {});
  rule.path = within;
  const [pass] = scope.here("proxy_pass", "grpc_pass", "uwsgi_pass", "scgi_pass");
  if (pass === undefined) {
    const root = filesOf(one);
    if (root === null) return null;
    scope.value("root");
    scope.ledger.carry(...scope.inherited("try_files"));
    const below = within.value === "/" ? "" : within.value;
    rule.keys = { type: "static", dir: `${root.replace(/\/$/, "")}${below}` || "/" };
  } else {
    const found = nginxTargets(site.http, scope, pass);
    // A path in the address has no place that an expression says.
    if (found === null || found.path !== null) return null;
    content(site, scope, rule);
  }
  scope.ledger.carry(statement);
  applyOptions(scope, rule);
  const { type, ...others } = rule.keys;
  rule.keys = { type, regex: (kind === "~*" ? "(?i)" : "") + regex, ...others };
  return rule;
}

/** What chooses among the requests of a location, or ends them. */
const OWN_COURSE: readonly string[] = ["if", "rewrite", "limit_except", "return", "internal", "fastcgi_pass", "alias"];

/** The root of a location that says no more than which files there are, how they are sent, and to whom; null for others. */
function filesOf({ scope, path }: Located): string | null {
  const root = scope.one("root")?.args[0] ?? null;
  if (root === null || root.includes("$") || !isByExtension(path) || hasAlias(scope)) return null;
  if (!scope.children.every(({ name }) => SENDING_OPTIONS.test(name) || FILES.test(name))) return null;
  const tries = scope.inherited("try_files").at(-1)?.args ?? ["$uri", "=404"];
  const isPlain = tries[0] === "$uri" && tries.slice(1, -1).every((word) => word === "$uri/");
  return isPlain && tries.at(-1) === "=404" ? root : null;
}

function hasAlias(scope: Scope): boolean {
  return scope.here("alias").length > 0 || (scope.outer !== null && hasAlias(scope.outer));
}

/** Whether all paths of an expression end with one of some extensions, so that no folder is among them. */
function isByExtension(regex: string): boolean {
  const end = regex.search(NAME_EXTENSIONS);
  return end >= 0 && !hasAlternatives(regex.slice(0, end));
}

/** Whether a path of the expression may be that of a script, which the location for scripts runs. */
function mayRunScripts({ scripts, scope }: Site, { statement, path }: Located): boolean {
  if (scripts == null) return false;
  const all = scope.here("location");
  const isBefore = all.indexOf(statement) < all.indexOf(scripts.statement);
  const isOfFiles = isByExtension(path) && !/ph/i.test(NAME_EXTENSIONS.exec(path)?.[0] ?? "");
  return !isOfFiles || (!isBefore && scripts.path !== "\\.php$");
}

/** An expression for the ends of names of files. */
export const NAME_EXTENSIONS: RegExp = /\\\.(\w+|\((\?:)?[\w|]+\))\$$/;

/** Says how files are sent. */
export const SENDING_OPTIONS: RegExp =
  /^(expires|add_header|access_log|log_not_found|error_log|etag|gzip\w*|brotli\w*|open_file_cache\w*|sendfile|tcp_\w+|charset|types|default_type|aio|directio|if_modified_since|max_ranges)$/;

/** Says which files they are, and who gets them. */
const FILES = /^(root|try_files|allow|deny|satisfy|auth_basic|auth_basic_user_file|auth_request|limit_req|error_page)$/;
