import { escapedRegex } from "../arrange.ts";
import { beginningOf, EVERYTHING } from "../condition.ts";
import { applied, partOf } from "../modifiers.ts";
import { closed, hasType, type Keys, type PathRule, prefixOf, ROOT, type Rule, ruleOf } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { applyOptions, isEitherEnough } from "./nginx-options.ts";
import { guardsOf, noteNoResponse, rewritesOf } from "./nginx-rewrites.ts";
import type { Scope } from "./nginx-scope.ts";
import { barredFolder, isForScripts, runScripts, type ScriptFolder, type ScriptLocation } from "./nginx-scripts.ts";
import { targetsOf } from "./nginx-upstreams.ts";
import { templateOf } from "./nginx-values.ts";

/** A server of nginx while its locations become rules. */
export interface Site {
  readonly scope: Scope;
  /** The block `http`, or the whole file: where upstreams are. */
  readonly http: Scope;
  /** Rules of the site, in the order in which nginx asks them. */
  readonly rules: Rule[];
  /** The location by whose expression scripts are run; null where there is none. */
  scripts?: (ScriptLocation & { readonly path: string }) | null;
  /** Whether the paths that no location has to itself are files. */
  filesAtRoot?: boolean;
}

/** Makes the rules of a server, but for their hosts. docs/migrate.md#nginx */
export function convertSite(site: Site): void {
  siteRules(site);
  const guards = guardsOf(site.scope);
  if (guards.length > 0) site.rules.splice(0, site.rules.length, ...applied(site.rules, guards));
}

function siteRules(site: Site): void {
  const { scope } = site;
  const first = serverReturn(site);
  const redirects = rewritesOf(scope, ROOT).redirects;
  if (first !== null) {
    site.rules.push(...redirects, first);
    return;
  }
  const found: Located[] = [];
  gather(scope, found);
  const exact = found.filter(({ kind }) => kind === "=");
  const scripts = found.find((one) => one.kind.startsWith("~") && isForScripts(one, one.path)) ?? null;
  site.scripts = takesScripts(site, found) ? scripts : null;
  const barred = site.scripts === null ? [] : found.filter(isBarred);
  const regexes = found.filter((one) => one.kind.startsWith("~") && one !== site.scripts && !barred.includes(one));
  const prefixes = found
    .filter(({ kind }) => kind === "" || kind === "^~")
    .sort((a, b) => b.path.length - a.path.length);
  const kept = prefixes.filter(({ kind }) => kind === "^~");
  const isFirm = (one: Located): boolean => kept.some(({ path }) => one.path.startsWith(path));
  const wide = prefixes.find(({ path }) => path === "/");
  site.filesAtRoot = wide === undefined ? scope.one("root") !== null : isOfFiles(wide.scope);
  const byExpression = [...namedScripts(site, regexes), ...regexes.flatMap((one) => convertLocation(site, one))];
  // Of the prefixes below one with ^~, those without it have expressions before them, too.
  const before = ({ kind, path }: Located): Rule[] =>
    kind === "^~" ? [] : byExpression.flatMap((rule) => partOf(rule, { ...EVERYTHING, path: prefixOf(path) }) ?? []);
  for (const one of exact) site.rules.push(...convertLocation(site, one));
  for (const one of prefixes.filter(isFirm)) site.rules.push(...before(one), ...convertLocation(site, one));
  site.rules.push(...byExpression);
  for (const one of prefixes) if (!isFirm(one)) site.rules.push(...convertLocation(site, one));
  site.rules.unshift(...redirects);
  if (!prefixes.some(({ path }) => path === "/")) site.rules.push(...withoutLocation(site));
  closeScripts(site, regexes);
  if (site.scripts !== null) finishScripts(site, barred);
}

/**
 * Where the location for scripts names them (`^/index\.php(/|$)`), no others run: uploads are among them. An internal one is 404 to clients,
 * and is run for other paths alone.
 */
function namedScripts(site: Site, regexes: readonly Located[]): Rule[] {
  const found = site.scripts;
  const places = found == null ? null : regexPlaces(found.path);
  if (found == null || places === null) return [];
  const own = places.map(({ value }) => {
    const rule = ruleOf(found.statement, titleOf(found.statement), { type: "respond", status: 404 });
    rule.path = prefixOf(value);
    if (isInternal(found.statement)) found.scope.ledger.carry(...found.scope.here("internal"));
    else content(site, found.scope, rule);
    return rule;
  });
  if (regexes.some(({ path, statement }) => path === "\\.php$" && denies(statement))) return own;
  const others = ruleOf(found.statement, `${titleOf(found.statement)}: no other script`, {
    type: "respond",
    status: 404,
    regex: SCRIPT_PATHS,
  });
  others.isPartial = true;
  return [...own, others];
}

/** Whether some location of a site sends files: then its scripts are run beside them. */
function takesScripts({ scope }: Site, located: readonly Located[]): boolean {
  const prefixes = located.filter(({ kind }) => kind === "");
  if (!prefixes.some(({ path }) => path === "/") && scope.one("root") !== null) return true;
  return prefixes.some((one) => isOfFiles(one.scope));
}

/** Whether a location says nothing of its own but where files are. */
function isOfFiles(scope: Scope): boolean {
  return !scope.children.some(({ name }) => name === "return" || /_pass$/.test(name) || OTHER_CONTENT.test(name));
}

function isBarred({ kind, path, statement }: Located): boolean {
  return kind.startsWith("~") && denies(statement) && barredFolder(path) !== "";
}

/** Puts folders without scripts into the routes that run scripts. */
function finishScripts({ scope, rules, scripts }: Site, barred: readonly Located[]): void {
  const folders = barred.map(({ path }) => barredFolder(path));
  const routes = rules.filter(({ keys }) => hasType(keys, "upstream") && keys.fastcgi !== undefined);
  for (const rule of routes) {
    const fastcgi = rule.keys.fastcgi as Keys;
    if (folders.length > 0 && fastcgi.no_scripts === undefined) fastcgi.no_scripts = [...new Set(folders)];
    // Who may run scripts, and for how long: what keeps clients from scripts keeps them from the files beside them, too.
    rule.scopes.push(scripts!.statement);
    applyOptions(scripts!.scope, rule);
  }
  for (const { statement } of barred) scope.ledger.carry(statement, ...(statement.block ?? []));
  if (routes.length > 0) scope.ledger.carry(scripts!.statement);
}

/** A location with its modifier. */
interface Located {
  readonly statement: Statement;
  readonly scope: Scope;
  /** `=`, `~`, `~*`, `^~`, or none. */
  readonly kind: string;
  readonly path: string;
}

function gather(scope: Scope, into: Located[]): void {
  for (const statement of scope.here("location")) {
    const { args } = statement;
    const written = /^(=|~\*?|\^~)(.+)$/.exec(args[0] ?? "");
    const kind = args.length > 1 ? args[0]! : (written?.[1] ?? "");
    const path = args.length > 1 ? args[1]! : (written?.[2] ?? args[0] ?? "");
    const inner = scope.inner(statement);
    if (path.startsWith("@")) continue;
    gather(inner, into);
    into.push({ statement, scope: inner, kind, path });
  }
}

/** Locations that clients cannot ask for. */
function isInternal(statement: Statement): boolean {
  return statement.all("internal").length > 0;
}

/** What a server answers to whatever is asked. */
function serverReturn({ scope }: Site): Rule | null {
  const [found] = scope.here("return");
  if (found === undefined) return null;
  const rule = ruleOf(scope.statement ?? found, titleOf(scope.statement ?? found), {});
  answer(scope, found, rule);
  applyOptions(scope, rule);
  rule.scopes.push(found);
  return rule;
}

/** Paths that no location takes: files of the server's root. */
function withoutLocation(site: Site): Rule[] {
  const { scope } = site;
  const root = scope.value("root");
  if (root === null || scope.statement === null) return [];
  const rule = ruleOf(scope.statement, `${titleOf(scope.statement)}: files`, { type: "static", dir: root });
  tryFiles(scope, rule, root, site);
  beside(site, scope, rule, { root, isAlias: false });
  applyOptions(scope, rule);
  return [rule];
}

function convertLocation(site: Site, { statement, scope, kind, path }: Located): Rule[] {
  // What keeps clients from a script keeps them from the same one with more of a path behind it.
  const isScript = kind === "=" && path.endsWith(".php") && site.scripts != null && denies(statement);
  const place = kind === "=" && !isScript ? exactPlace(path) : prefixOf(path);
  const isAnyCase = kind === "~*" && /[a-z]/i.test(path) && denies(statement) && isExpression(path);
  const places = isAnyCase ? null : kind.startsWith("~") ? regexPlaces(path) : [place];
  if (isInternal(statement)) return internalLocation(statement, places, scope);
  if (places === null) return regexLocation(site, statement, scope, path);
  scope.ledger.carry(statement);
  if (kind === "~*" && /[a-z]/i.test(path))
    scope.ledger.note(
      statement,
      "paths are compared with their letter case: what is spelled otherwise goes to other routes",
      denies(statement)
        ? "refuse such spellings at the origin, where it takes them for the same path"
        : "write another route for such paths, if there are any",
    );
  const rules: Rule[] = [];
  for (const place of places) {
    const rewrites = rewritesOf(scope, place);
    const rule = ruleOf(statement, titleOf(statement), {});
    rule.path = place;
    content(site, scope, rule);
    if (isFolderAlone(rule)) {
      // No route has the files of one path without those below it.
      const isBeside = place.value === "/" && site.filesAtRoot === true && !denies(statement);
      scope.ledger.note(
        statement,
        isBeside
          ? "the route of all other paths answers it"
          : "a folder has no route without what is below it: it is closed",
        isBeside ? "nothing, where both say the same" : "write a redirect to the folder with a slash at its end",
      );
      if (isBeside) continue;
      closed(rule);
    }
    if (rewrites.rewrite !== null && hasType(rule.keys, "upstream")) {
      rule.keys.rewrite = rewrites.rewrite;
      delete rule.keys.strip_prefix;
    }
    applyOptions(scope, rule);
    rules.push(...rewrites.redirects, rule);
    if (kind === "" && place.value !== "/" && !path.endsWith("/"))
      scope.ledger.note(
        statement,
        `${place.value} and all below it, as segments of the path: what only begins with these letters is not taken`,
        "write another route for such paths, if there are any",
      );
    if (kind !== "=" && path.endsWith("/") && place.value !== "/" && hasType(rule.keys, "upstream"))
      rules.unshift(slashRedirect(statement, place));
  }
  return applied(rules, guardsOf(scope));
}

/** Whether a route for one path would have all files below it as well: it is a folder, as far as its name tells. */
function isFolderAlone({ path: { kind, value }, keys }: Rule): boolean {
  return kind === "exact" && hasType(keys, "static") && !/\/[^/]*\.\w+$/.test(value);
}

/** What clients cannot ask for is 404 to them. */
function internalLocation(statement: Statement, places: readonly PathRule[] | null, { ledger }: Scope): Rule[] {
  for (const one of statement.block ?? [])
    if (!ledger.isJudged(one) && one.name !== "internal")
      ledger.noteWhole(one, "clients cannot ask for it, and nothing that is carried over uses it", "nothing");
  if (places === null) {
    ledger.note(statement, `${BY_PATHS}, where clients can ask for them`, "refuse these paths at the origin");
    return [];
  }
  ledger.carry(statement, ...statement.all("internal"));
  return places.map((path) => ({ ...ruleOf(statement, titleOf(statement), { type: "respond", status: 404 }), path }));
}

const BY_PATHS = "routes go by paths, not by expressions: its requests go to the route of their path";

/** nginx sends the path without its slash to the one with it, where the location is proxied. */
function slashRedirect(statement: Statement, place: PathRule): Rule {
  const rule = ruleOf(statement, `${titleOf(statement)}: the path without its slash`, {
    type: "redirect",
    to: `${place.value}/`,
    status: 301,
  });
  rule.path = { kind: "exact", value: place.value };
  return rule;
}

function exactPlace(path: string): PathRule {
  return { kind: "exact", value: path };
}

/** Paths that an expression means, where they can be said without it: `^/api/`, `^/(a|b)(/|$)`, `^/x$`. */
export function regexPlaces(regex: string): PathRule[] | null {
  if (!regex.startsWith("^/")) return null;
  const whole = /^\^(.*?)(\$|\/\?\$|\(\/\|\$\)|\/\(\.[*+]\)\$?|\/\.[*+]\$?|\/|\(\/\.\*\)\?\$?)$/.exec(regex);
  if (whole === null) return null;
  const texts = alternatives(whole[1]!.replace(/\\([./-])/g, "\0$1"));
  if (texts === null) return null;
  const end = whole[2]!;
  return texts.flatMap((text): PathRule[] => {
    const value = text.replaceAll("\0", "") || "/";
    if (end === "$") return [exactPlace(value)];
    if (end === "/?$") return [exactPlace(value), exactPlace(`${value}/`)];
    return [prefixOf(value)];
  });
}

/** The texts that one group of words makes; null where more than that is in it. */
function alternatives(text: string): string[] | null {
  const parts = /^([^()|]*)\((?:\?:)?([^()]*)\)([^()|]*)$/.exec(text);
  const texts = parts === null ? [text] : parts[2]!.split("|").map((word) => `${parts[1]}${word}${parts[3]}`);
  // A dot without a backslash is any character; everything else that is not a plain one says more than a text.
  return texts.length <= MAX_ALTERNATIVES && texts.every((one) => /^(?:\0[./-]|[\w\-~!@,:/=&])*$/.test(one))
    ? texts
    : null;
}

const MAX_ALTERNATIVES = 64;

/** A location by an expression that says more than paths. A redirect can have it; all else is noted. */
function regexLocation({ scripts }: Site, statement: Statement, scope: Scope, regex: string): Rule[] {
  const [found] = scope.here("return");
  const isRedirect = found !== undefined && /^30[12378]$/.test(found.args[0] ?? "");
  const flags = statement.args[0] === "~*" ? "(?i)" : "";
  if (isRedirect && isExpression(regex)) {
    const to = templateOf(found.args[1] ?? "", true);
    if (to !== null) {
      const rule = ruleOf(statement, titleOf(statement), {
        type: "redirect",
        regex: flags + regex,
        to,
        status: Number(found.args[0]),
      });
      rule.isPartial = true;
      scope.ledger.carry(statement, found);
      return [rule];
    }
  }
  if (isExpression(regex) && (found !== undefined || denies(statement))) {
    const refused = refusedPaths(scope, statement, found ?? null);
    // A script runs with more of a path behind it as well.
    const paths = scripts == null ? regex : regex.replace(/\\\.php\$$/, SCRIPT_PATHS);
    if (statement.args[0] !== "~*") refused.path = beginningOf(regex, ROOT);
    Object.assign(refused.keys, { regex: flags + paths });
    refused.isPartial = true;
    return [refused];
  }
  if (denies(statement)) {
    scope.ledger.noteWhole(
      statement,
      `${BY_PATHS}, which lets them in`,
      HIDDEN.test(regex)
        ? "nothing, for folders: files whose names begin with a dot are never served. For origins, deny such paths there"
        : /\\\.php/.test(regex)
          ? "write the folder that is meant into no_scripts: docs/php.md"
          : "deny these paths at the origin, or by a rule of the firewall",
    );
  } else scope.ledger.noteWhole(statement, BY_PATHS, "put what it says at a route with a prefix of its own");
  return [];
}

/** A location that keeps clients out, or has a response of its own, as a response to its paths. */
function refusedPaths(scope: Scope, statement: Statement, returned: Statement | null): Rule {
  const { ledger } = scope;
  const rule = ruleOf(statement, titleOf(statement), { type: "respond", status: 403 });
  ledger.carry(statement);
  if (
    scope.here("deny").some(({ args }) => args[0] === "all") &&
    scope.here("allow").length === 0 &&
    !isEitherEnough(scope)
  )
    ledger.carry(...scope.here("deny"));
  else if (returned === null)
    ledger.note(
      statement,
      "a route for an expression has no rules about who comes in: it is closed",
      "write routes with prefix for the paths that are meant",
    );
  if (returned === null) return rule;
  answer(scope, returned, rule);
  if (!hasType(rule.keys, "respond")) closed(rule);
  return rule;
}

/** Whether routes can have it: none that looks around itself or back, or keeps what it has. docs/routing.md#expressions */
function isExpression(regex: string): boolean {
  return !/\(\?(?:[=!>]|<[=!])|\\[1-9]|[*+?}]\+/.test(regex);
}

/** Paths that run a script: docs/php.md#which-script-runs */
const SCRIPT_PATHS = "\\.php(?:/|$)";

/** An expression that begins with a name with a dot in front, such as `/\.ht` or `(^|/)\.`. */
const HIDDEN = /^\^?(?:\/|\((?:\?:)?\^\|\/\))\\\./;

/**
 * Files that a location by an expression would have run are not sent as they are: with `location ~ \.php$`, routes with folders are closed.
 */
function closeScripts({ scope, rules }: Site, regexes: readonly Located[]): void {
  for (const { statement, path } of regexes) {
    const runs = (statement.block ?? []).some(({ name }) => name === "fastcgi_pass" || OTHER_CONTENT.test(name));
    if (!runs || regexPlaces(path) !== null) continue;
    const folders = rules.filter(({ keys }) => hasType(keys, "static"));
    if (folders.length === 0) continue;
    for (const rule of folders) {
      closed(rule);
      rule.scopes.push(statement);
    }
    scope.ledger.note(
      statement,
      "what it runs would be sent as files: the routes with folders are closed",
      "put the application behind an HTTP server of its own, and its other files into a folder without code",
    );
  }
}

/** Whether a location keeps clients out. */
function denies(statement: Statement): boolean {
  return statement.block!.some(
    ({ name, args }) =>
      name === "deny" ||
      (/^auth_|^access_by_lua/.test(name) && args[0] !== "off") ||
      (name === "return" && /^4\d\d$/.test(args[0] ?? "")),
  );
}

/** What a location does with its requests. */
function content(site: Site, scope: Scope, rule: Rule): void {
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
  if (scope.here("fastcgi_pass").length > 0) {
    const root = (scope.value("root") ?? "html").replace(/(.)\/$/, "$1");
    const frontController = rule.path.kind === "exact";
    runScripts(site.http, scope, rule, { root, frontController, index: "", isAlias: false, takesAll: true });
    const { fastcgi } = rule.keys as { readonly fastcgi?: Keys };
    if (fastcgi !== undefined && fastcgi.check_files === undefined)
      scope.ledger.note(
        scope.here("fastcgi_pass")[0]!,
        "files below the root that are no scripts are sent",
        "keep what clients must not get outside of the root",
      );
    return;
  }
  const other = scope.children.find(({ name }) => OTHER_CONTENT.test(name));
  if (other !== undefined) {
    scope.ledger.note(
      other,
      other.name === "fastcgi_pass"
        ? "FastCGI is not converted: the route is closed"
        : "this has no counterpart: the route is closed",
      other.name === "fastcgi_pass"
        ? "write a target fastcgi://… with the folder of the scripts: docs/php.md"
        : "name an HTTP server as target, or write a function in TypeScript: docs/functions.md",
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
const OTHER_CONTENT =
  /^((uwsgi|scgi|memcached|redis2|postgres|drizzle)_pass|content_by_lua.*|js_content|perl|echo.*|empty_gif|dav_methods|mp4|flv|hls|api|passenger_enabled|random_index)$/;

/** `return`: a redirect or a text. */
function answer(scope: Scope, found: Statement, rule: Rule): void {
  const [first = "", second = ""] = found.args;
  const status = /^\d+$/.test(first) ? Number(first) : 302;
  const text = /^\d+$/.test(first) ? second : first;
  if ([301, 302, 303, 307, 308].includes(status)) {
    const to = templateOf(text.replace("$uri$is_args$args", "$request_uri"), false);
    if (
      to !== null &&
      (to.startsWith("/") || /^https?:\/\/([\w.-]|\{host\})+(:\d+)?([/{]|$)/.test(to) || to.startsWith("{"))
    ) {
      if (/^\{scheme\}/.test(to)) {
        scope.ledger.note(found, "the scheme of an address is literal", "write https:// or http:// in to");
        rule.keys = { type: "redirect", to: to.replace("{scheme}", "https"), status };
        return;
      }
      rule.keys = { type: "redirect", to, status };
      scope.ledger.carry(found);
      return;
    }
    scope.ledger.note(
      found,
      "its address has parts that a redirect cannot have: the route is closed",
      "write the address with placeholders: docs/answers.md",
    );
    return closed(rule);
  }
  const body = templateOf(text);
  if (status === 444) noteNoResponse(scope, found);
  if (status === 444 || status < 200 || body === null) {
    if (status !== 444)
      scope.ledger.note(found, "it cannot be said as a response", "nothing, or another status at the route");
    rule.keys = { type: "respond", status: 403 };
    return;
  }
  const [type] = scope.inherited("default_type");
  rule.keys = { type: "respond", status };
  if (body !== "") Object.assign(rule.keys, { body }, { content_type: type?.args[0] ?? "text/plain" });
  scope.ledger.carry(found);
}

/** `proxy_pass` and `grpc_pass`. */
function proxy({ http }: Site, scope: Scope, pass: Statement, rule: Rule): void {
  const found = targetsOf(http, scope, pass);
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
  } else rule.keys = { type: "static", dir: `${(root ?? "html").replace(/\/$/, "")}${below}` || "/" };
  const [index] = scope.inherited("index");
  if (index?.args.includes("index.html") === true) scope.ledger.standard(index);
  tryFiles(scope, rule, alias === undefined ? (root ?? "html") : null, site);
  const folder = alias === undefined ? (root ?? "html") : (alias.args[0] ?? "");
  if (kind === "prefix" || value === "/")
    beside(site, scope, rule, { root: folder.replace(/(.)\/$/, "$1"), isAlias: alias !== undefined });
}

/** Makes a route of files run the scripts beside them, where the site runs any: a static route would send their source. */
function beside(
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
        "nothing, where the root has no folders with one",
      );
  }
  for (const one of scope.inherited("index")) if (one.args.includes("index.php")) scope.ledger.standard(one);
  runScripts(http, scripts.scope, rule, { root, isAlias, frontController: front !== null, index: front?.[1] ?? "" });
}

/** @param root null where files are those of an alias */
function tryFiles(scope: Scope, rule: Rule, root: string | null, site: Site | null = null): void {
  const [found] = scope.inherited("try_files");
  if (found === undefined) return;
  const last = found.args.at(-1) ?? "";
  const tries = found.args.slice(0, -1);
  const isPlain = tries.every((one) => one === "$uri" || one === "$uri/");
  const below = rule.path.value === "/" || rule.path.kind === "exact" ? "" : rule.path.value;
  if (last === "=404" && isPlain) scope.ledger.carry(found);
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
    scope.ledger.note(
      found,
      "files are looked up by their path, then one fallback is served",
      "see spa and fallback of static routes, or a route with another prefix for what is not a file",
    );
    if (/\.php\b/.test(last)) closed(rule);
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
    "files are not looked up before the application is asked",
    "write a static route for each folder of files, such as prefix: /assets",
  );
}

function titleOf(statement: Statement): string {
  return `${statement.file}:${statement.line} ${statement.text}`;
}
