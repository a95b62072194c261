import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { escapedRegex } from "../expression.ts";
import type { Keys } from "../keys.ts";
import { closed, hasType, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { answer } from "./nginx-answers.ts";
import { applicationPass, runApplication } from "./nginx-applications.ts";
import { applyOptions, isEitherEnough } from "./nginx-options.ts";
import type { Scope } from "./nginx-scope.ts";
import { runScripts, type ScriptFolder } from "./nginx-scripts.ts";
import type { Site } from "./nginx-site.ts";
import { nginxTargets } from "./nginx-upstreams.ts";

/** What a location does with its requests. */
export function content(site: Site, scope: Scope, rule: Rule): void {
  const [returned] = scope.here("return");
  if (returned !== undefined) return answer(scope, returned, rule);
  if (
    scope.here("deny").some(({ args }) => args[0] === "all") &&
    scope.here("allow").length === 0 &&
    !isEitherEnough(scope)
  ) {
    scope.ledger.carry(...scope.here("deny"));
    rule.keys = { type: "respond", status: 403 };
    return;
  }
  const [pass] = scope.here("proxy_pass", "grpc_pass");
  if (pass !== undefined) return proxy(site, scope, pass, rule);
  const application = applicationPass(scope);
  if (application !== undefined) return runApplication(site.http, scope, application, rule);
  if (scope.here("fastcgi_pass").length > 0) {
    const root = (scope.value("root") ?? "html").replace(/(.)\/$/, "$1");
    const frontController = rule.path.kind === "exact";
    runScripts(site.http, scope, rule, { root, frontController, index: "", isAlias: false, takesAll: true });
    return;
  }
  const other = scope.children.find(({ name }) => OTHER_CONTENT.test(name));
  if (other !== undefined) {
    scope.ledger.note(
      other,
      "this has no counterpart: the route is closed",
      "name an HTTP server as target, or write a function in TypeScript: docs/functions.md",
    );
    return closed(rule);
  }
  if (scope.here("stub_status").length > 0) {
    scope.ledger.note(
      scope.here("stub_status")[0]!,
      "the gateway has its own metrics",
      "read /metrics, or edge status",
    );
    rule.keys = { type: "respond", status: 404 };
    return;
  }
  files(site, scope, rule);
}

/** Directives that make a response by other means than files and HTTP origins. */
export const OTHER_CONTENT =
  /^((?!(proxy|grpc|fastcgi|uwsgi|scgi)_pass$)\w+_pass|content_by_lua.*|js_content|perl|echo.*|empty_gif|dav_methods|mp4|flv|hls|api|passenger_enabled|random_index)$/;

/** `proxy_pass` and `grpc_pass`. */
function proxy({ http }: Site, scope: Scope, pass: Statement, rule: Rule): void {
  const found = nginxTargets(http, scope, pass);
  if (found === null) {
    scope.ledger.note(
      pass,
      "the target has variables, or cannot be read: the route is closed",
      "write the address as target",
    );
    return closed(rule);
  }
  scope.ledger.carry(pass);
  rule.keys = { type: "upstream", ...found.keys };
  const { path } = found;
  const { value, kind } = rule.path;
  if (path === null) rule.keys.strip_prefix = false;
  else if (kind === "exact") rule.keys.rewrite = { path: path || "/" };
  else {
    // The location is replaced as a text: /x/ by /y makes /yz of /x/z.
    const written = pass.parent?.args.at(-1) ?? value;
    if (written.endsWith("/") === path.endsWith("/") || (value === "/" && path === "/"))
      targetBase(rule.keys, path.replace(/\/$/, ""));
    else rule.keys.rewrite = { regex: `^${escapedRegex(written)}(.*)$`, to: `${path}{match.1}`.replace(/^\/?/, "/") };
  }
}

/** Puts a path in front of what targets are asked for. */
function targetBase(keys: Keys, base: string): void {
  if (base === "") return;
  const withBase = (url: string): string => (url.startsWith("unix:") ? `${url}:${base}` : `${url}${base}`);
  if (typeof keys.target === "string") keys.target = withBase(keys.target);
  else for (const one of keys.targets as { url: string }[]) one.url = withBase(one.url);
}

/** Files of a folder, and `try_files`. */
function files(site: Site, scope: Scope, rule: Rule): void {
  const alias = scope.here("alias")[0];
  const root = scope.value("root");
  const variable = alias ?? scope.one("root");
  if (variable?.args[0]?.includes("$") === true) {
    scope.ledger.note(variable, "the folder has variables: the route is closed", "write a route for each folder");
    return closed(rule);
  }
  const { kind, value } = rule.path;
  const below = kind === "exact" || value === "/" ? "" : value;
  if (alias !== undefined) {
    scope.ledger.carry(alias);
    const path = alias.args[0] ?? "";
    rule.keys =
      kind === "exact"
        ? {
            type: "static",
            dir: path.replace(/\/[^/]*$/, "") || "/",
            rewrite: { path: path.slice(path.lastIndexOf("/")) },
          }
        : { type: "static", dir: path.replace(/(.)\/$/, "$1") };
  } else rule.keys = folderKeys((root ?? "html").replace(/\/$/, ""), below);
  rule.folders = foldersOf(scope, site.scripts != null);
  tryFiles(scope, rule, alias === undefined ? (root ?? "html") : null, site);
  const folder = alias === undefined ? (root ?? "html") : (alias.args[0] ?? "");
  if (kind === "prefix" || value === "/")
    beside(site, scope, rule, { root: folder.replace(/(.)\/$/, "$1"), isAlias: alias !== undefined });
}

/** Files of a path below a root. A folder that is not there may be one file, or nothing: the root is there all the same. */
function folderKeys(root: string, below: string): Keys {
  const isThere = below === "" || !isAbsolute(root) || isFolder(`${root}${below}`) || !isFolder(root);
  if (isThere) return { type: "static", dir: `${root}${below}` || "/" };
  return { type: "static", dir: root, rewrite: { path: "{path}" } };
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Whether folders have the page of the gateway: `index.html`, before which no script is asked. */
function foldersOf(scope: Scope, hasScripts: boolean): "served" | "closed" {
  const names = scope.inherited("index").flatMap(({ args }) => args);
  if (names.length === 0) return "served";
  const before = names.slice(0, names.indexOf("index.html"));
  const isServed = names.includes("index.html") && before.every((name) => /^[\w-]+\.html?$/.test(name));
  for (const one of scope.inherited("index"))
    if ((isServed && before.length === 0) || (hasScripts && one.args.includes("index.php"))) scope.ledger.standard(one);
    else
      scope.ledger.note(
        one,
        isServed ? "the page of a folder is index.html" : "the page of a folder is index.html: folders are closed",
        "rename it",
      );
  return isServed ? "served" : "closed";
}

/** Makes a route of files run the scripts beside them, where the site runs any: a static route would send their source. */
export function beside(
  { http, scripts }: Site,
  scope: Scope,
  rule: Rule,
  { root, isAlias }: Pick<ScriptFolder, "root" | "isAlias">,
): void {
  // What is closed, or goes to a named location, has no files.
  if (scripts == null || !hasType(rule.keys, "static") || scope.statement?.args[0] === "^~") return;
  const [tries] = scope.inherited("try_files");
  const front = /^\/([\w-]+\.php)(\$is_args\$args|\$request_uri|\?.*)?$/.exec(tries?.args.at(-1) ?? "");
  if (front !== null && tries !== undefined) {
    scope.ledger.carry(tries);
    if (!tries.args.includes("$uri/"))
      scope.ledger.note(
        tries,
        "folders have their index, after a redirect to the slash",
        "nothing, if the root has no folders with one",
      );
  }
  for (const one of scope.inherited("index")) if (one.args.includes("index.php")) scope.ledger.standard(one);
  runScripts(http, scripts.scope, rule, { root, isAlias, frontController: front !== null, index: front?.[1] ?? "" });
  if (hasType(rule.keys, "upstream")) rule.folders = "served";
}

/** @param root null where files are those of an alias */
export function tryFiles(scope: Scope, rule: Rule, root: string | null, site: Site | null = null): void {
  const [found] = scope.inherited("try_files");
  if (found === undefined) return;
  const last = found.args.at(-1) ?? "";
  const tries = found.args.slice(0, -1);
  const isPlain = tries.every((one) => one === "$uri" || one === "$uri/");
  const below = rule.path.value === "/" || rule.path.kind === "exact" ? "" : rule.path.value;
  const isStatus = /^=[45]\d\d$/.test(last);
  if (isStatus && !tries.includes("$uri/")) rule.folders = "closed";
  if (last === "=404" && isPlain && tries.includes("$uri")) scope.ledger.carry(found);
  else if (last.startsWith("@") && site !== null) named(site, scope, found, rule);
  else if (
    isPlain &&
    /^\/[\w./-]+\.html?$/.test(last) &&
    (below === "" || last.startsWith(`${below}/`)) &&
    root !== null
  ) {
    Object.assign(rule.keys, { spa: true, fallback: last.slice(below.length + 1) });
    scope.ledger.carry(found);
  } else if (site?.scripts == null || !/\.php\b/.test(last)) {
    const isClosed = !tries.includes("$uri") || tries.some((one) => !/^\$uri\/?$/.test(one)) || /\.php\b/.test(last);
    scope.ledger.note(
      found,
      isClosed
        ? "edge looks up files by their path alone: the route is closed"
        : "edge looks up files by their path, then serves one fallback",
      "see spa and fallback of static routes, or a route with another prefix for everything else",
    );
    if (isClosed) closed(rule);
  }
}

/** `try_files … @name`: files first is not said, the named location takes all. */
function named(site: Site, scope: Scope, found: Statement, rule: Rule): void {
  const target = site.scope.here("location").find(({ args }) => args.at(-1) === found.args.at(-1));
  if (target === undefined) {
    scope.ledger.note(found, "the named location is not there: the route is closed", "write what is meant");
    return closed(rule);
  }
  const inner = site.scope.inner(target);
  scope.ledger.carry(target);
  rule.scopes.push(target);
  const before = { ...rule.path };
  content(site, inner, rule);
  applyOptions(inner, rule);
  rule.path = before;
  scope.ledger.note(
    found,
    "edge does not look up files before it asks the application",
    "write a static route for each folder of files, such as prefix: /assets",
  );
}
