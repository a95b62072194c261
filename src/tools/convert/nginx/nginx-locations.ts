import { holdsPath } from "../arrange.ts";
import { beginningOf, EVERYTHING } from "../condition.ts";
import { copied, EFFORT } from "../effort.ts";
import { escapedRegex, expressionOf, looksAround } from "../expression.ts";
import type { Keys } from "../keys.ts";
import { applied, partOf } from "../modifiers.ts";
import { type PathRule, prefixOf, ROOT } from "../path-rule.ts";
import { closed, hasType, isPartial, type Rule, responseBy, ruleOf } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { statementTitle } from "../statement.ts";
import { answer } from "./nginx-answers.ts";
import { beside, content, OTHER_CONTENT, tryFiles } from "./nginx-contents.ts";
import { withFolders } from "./nginx-folders.ts";
import { guardsKey } from "./nginx-guards.ts";
import { applyOptions, applyResponseFields, isEitherEnough } from "./nginx-options.ts";
import { exactPlace, hasNested, type Level, type Located, levelOf, regexPlaces } from "./nginx-places.ts";
import { contentRule, NAME_EXTENSIONS, SENDING_OPTIONS } from "./nginx-regex-content.ts";
import { scriptOf } from "./nginx-rewrites.ts";
import type { Scope } from "./nginx-scope.ts";
import { barredFolder, isForScripts } from "./nginx-scripts.ts";
import type { Site } from "./nginx-site.ts";
import { nginxTemplate } from "./nginx-values.ts";

/** Makes the rules of a server, but for their hosts. docs/migrate-nginx.md */
export function convertSite(site: Site): void {
  const script = scriptOf(site, site.scope, ROOT);
  const [returned] = site.scope.here("return");
  if (returned === undefined) locationRules(site);
  else site.rules.push(serverReturn(site, returned));
  site.rules.unshift(...script.rules);
  givePathsBack(site.rules);
  if (script.guards.length > 0) site.rules.splice(0, site.rules.length, ...applied(site.rules, script.guards));
}

/** What a server answers to whatever is asked. */
function serverReturn({ scope }: Site, found: Statement): Rule {
  const rule = ruleOf(scope.statement ?? found, statementTitle(scope.statement ?? found), {});
  answer(scope, found, rule);
  applyOptions(scope, rule);
  rule.scopes.push(found);
  return rule;
}

function locationRules(site: Site): void {
  const { scope } = site;
  const top = levelOf(scope);
  const scripts = top.regexes.find((one) => isForScripts(one, one.path)) ?? null;
  site.scripts = takesScripts(site, top) ? scripts : null;
  const barred = site.scripts === null ? [] : top.regexes.filter(isBarred);
  const regexes = top.regexes.filter((one) => one !== site.scripts && !barred.includes(one));
  const wide = top.prefixes.find(({ path }) => path === "/");
  site.filesAtRoot = wide === undefined ? scope.one("root") !== null : isOfFiles(wide.scope);
  const rest = wide === undefined ? withoutLocation(site) : [];
  const named = namedScripts(site, regexes);
  site.rules.push(...levelRules(site, { ...top, regexes }, { above: [], named, rest, within: ROOT, scope }), ...rest);
  site.rules.splice(0, site.rules.length, ...withFolders(site.rules, site.scope.ledger));
  if (site.scripts !== null) finishScripts(site, barred);
}

/** What is around the locations of a block. */
interface Around {
  /** Rules of expressions that are asked after those of the block. */
  readonly above: readonly Rule[];
  /** Rules in front of the block's expressions. */
  readonly named: readonly Rule[];
  /** What the block does with paths that no location of it takes. */
  readonly rest: readonly Rule[];
  /** The paths of the block. */
  readonly within: PathRule;
  readonly scope: Scope;
}

/**
 * The rules of the locations of a block, in the order in which nginx asks them: exact paths, then expressions, then prefixes; those
 * with ^~ have no expressions of their block before them, and the locations inside of one come before all that is around it.
 */
function levelRules(site: Site, level: Level, around: Around): Rule[] {
  const { above, named } = around;
  const rules = level.exact.flatMap((one) => convertLocation(site, one, level));
  const contents = new Map(level.prefixes.map((one) => [one, convertLocation(site, one, level)]));
  const own = fewOf([...named, ...expressionRules(site, level, contents, around)], level, around);
  const apart = level.prefixes.filter((one) => one.kind === "^~" || hasNested(one));
  const isApart = (one: Located): boolean => apart.some(({ path }) => one.path.startsWith(path));
  const special = apart.length === 0 ? [] : level.prefixes.filter(isApart);
  const isTooMuch = special.length * (own.length + above.length) > MAX_REPEATED;
  for (const one of special) {
    const before = isTooMuch
      ? []
      : [...(one.kind === "^~" ? [] : own), ...above].flatMap((rule) => withinOf(rule, one));
    const content = contents.get(one)!;
    if (isTooMuch) closeMany(content, one);
    const inner = levelOf(one.scope);
    rules.push(
      ...levelRules(site, inner, {
        above: before,
        named: [],
        rest: content,
        within: prefixOf(one.path),
        scope: one.scope,
      }),
      ...content,
    );
  }
  rules.push(...own, ...above);
  for (const one of level.prefixes) if (!special.includes(one)) rules.push(...contents.get(one)!);
  return rules;
}

function withinOf(rule: Rule, { path }: Located): Rule[] {
  const part = partOf(rule, { ...EVERYTHING, path: prefixOf(path) });
  return part === null ? [] : [part];
}

function closeMany(rules: readonly Rule[], { statement, scope }: Located): void {
  for (const rule of rules) closed(rule);
  scope.ledger.note(
    statement,
    "its expressions and those around it make too many routes: it is closed",
    "write its routes by hand",
  );
}

/** The rules of expressions; one that closes all paths where each of so many would be repeated at each of so many prefixes. */
function fewOf(own: readonly Rule[], { prefixes, regexes }: Level, { within }: Around): Rule[] {
  const [first] = regexes;
  if (first === undefined || own.length * prefixes.length <= MAX_TOGETHER) return [...own];
  const rule = ruleOf(first.statement, statementTitle(first.statement), {});
  closed(rule);
  rule.path = within;
  closeMany([rule], first);
  return [rule];
}

/** So many routes the expressions of a block may make. */
const MAX_TOGETHER = 100_000;

/** The rules of the expressions of a block. */
function expressionRules(
  site: Site,
  { regexes }: Level,
  contents: ReadonlyMap<Located, readonly Rule[]>,
  around: Around,
): Rule[] {
  const plain: Located[] = [];
  return regexes.flatMap((one) => {
    const carried = regexPlaces(one.path) === null || one.kind === "~*" ? contentRule(site, one, around.within) : null;
    if (carried !== null) return [carried];
    if (isPlainFiles(one)) {
      plain.push(one);
      return elsewhere(one, contents.size * regexes.length > MAX_COMPARED ? null : contents, around);
    }
    const rules = afterScripts(site, one, regexRules(site, one, around.within));
    if (plain.length * regexes.length > MAX_REPEATED)
      return rules.map((rule) => (isHarmless(rule) ? rule : shut(rule)));
    // The files of an expression before this one are no business of it.
    return rules.flatMap((rule) =>
      isHarmless(rule) ? [rule] : [...plain.map((other) => closedExpression(other, rule.path)), rule],
    );
  });
}

/** Whether a rule gives nothing. */
function isHarmless({ keys }: Rule): boolean {
  return hasType(keys, "redirect") || (hasType(keys, "respond") && Number(keys.status) >= 400);
}

function shut(rule: Rule): Rule {
  closed(rule);
  return rule;
}

/** Scripts of paths that an expression takes behind the one for scripts. */
function afterScripts({ scripts, scope }: Site, { statement }: Located, rules: readonly Rule[]): Rule[] {
  const all = scope.here("location");
  EFFORT.take(all.length / 16);
  if (scripts == null || all.indexOf(statement) < all.indexOf(scripts.statement)) return [...rules];
  return rules.flatMap((rule) => [...scriptsAt(scripts.statement, rule), rule]);
}

/** Closes the scripts below an origin: they are run by another location there. */
function scriptsAt(scripts: Statement, { path, keys }: Rule): Rule[] {
  if (path.kind === "exact" || !hasType(keys, "upstream") || keys.fastcgi !== undefined) return [];
  const rule = ruleOf(scripts, `${statementTitle(scripts)}: scripts below ${path.value}`, {});
  closed(rule);
  return [{ ...rule, path, keys: { ...rule.keys, regex: SCRIPT_PATHS } }];
}

/** So often rules of expressions are repeated in one block. */
const MAX_REPEATED = 2000;

/**
 * Where the location for scripts names them (`^/index\.php(/|$)`), no others run: uploads are among them. An internal one is 404 to clients,
 * and is run for other paths alone.
 */
function namedScripts(site: Site, regexes: readonly Located[]): Rule[] {
  const found = site.scripts;
  const places = found == null ? null : regexPlaces(found.path);
  if (found == null || places === null) return [];
  const own = places.map(({ value }) => {
    const rule = ruleOf(found.statement, statementTitle(found.statement), { type: "respond", status: 404 });
    rule.path = prefixOf(value);
    if (isInternal(found.statement)) found.scope.ledger.carry(...found.scope.here("internal"));
    else content(site, found.scope, rule);
    return rule;
  });
  if (regexes.some(({ path, statement }) => path === "\\.php$" && denies(statement))) return own;
  const others = ruleOf(found.statement, `${statementTitle(found.statement)}: no other script`, {
    type: "respond",
    status: 404,
    regex: SCRIPT_PATHS,
  });
  return [...own, others];
}

/** Whether some location of a site sends files: then its scripts are run beside them. */
function takesScripts({ scope }: Site, { prefixes }: Level): boolean {
  if (!prefixes.some(({ path }) => path === "/") && scope.one("root") !== null) return true;
  return prefixes.some((one) => one.kind === "" && isOfFiles(one.scope));
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

/** Locations that clients cannot ask for. */
function isInternal(statement: Statement): boolean {
  return statement.all("internal").length > 0;
}

/** Paths that no location takes: files of the server's root. */
function withoutLocation(site: Site): Rule[] {
  const { scope } = site;
  const root = scope.value("root");
  if (root === null || scope.statement === null) return [];
  const rule = ruleOf(scope.statement, `${statementTitle(scope.statement)}: files`, { type: "static", dir: root });
  tryFiles(scope, rule, root, site);
  beside(site, scope, rule, { root, isAlias: false });
  applyOptions(scope, rule);
  return [rule];
}

function convertLocation(site: Site, one: Located, level: Level): Rule[] {
  const { statement, scope, kind, path } = one;
  // What keeps clients from a script keeps them from the same one with more of a path behind it.
  const isScript = kind === "=" && path.endsWith(".php") && site.scripts != null && denies(statement);
  const place = kind === "=" && !isScript ? exactPlace(path) : prefixOf(path);
  if (isInternal(statement)) {
    noteInternal(one);
    return [refusalAt(statement, place), ...kinOf(site, one, level, [])];
  }
  scope.ledger.carry(statement);
  const rules = placeRules(site, one, place);
  const { scripts } = site;
  const others = scripts == null || kind !== "" ? [] : rules.flatMap((rule) => scriptsAt(scripts.statement, rule));
  return [...others, ...rules, ...kinOf(site, one, level, rules)];
}

/** The rules of a location at one of its places. */
function placeRules(site: Site, { statement, scope, kind, path }: Located, place: PathRule): Rule[] {
  const script = scriptOf(site, scope, place);
  const rule = ruleOf(statement, statementTitle(statement), {});
  rule.path = place;
  content(site, scope, rule);
  if (isFolderAlone(rule)) {
    // No route has the files of one path without those below it.
    const isBeside = place.value === "/" && site.filesAtRoot === true && !denies(statement);
    scope.ledger.note(
      statement,
      isBeside ? "the route of all other paths answers it" : "a folder has no route without its contents: it is closed",
      isBeside ? "nothing, if both say the same" : "write a redirect to the folder with a slash at its end",
    );
    if (isBeside) return applied(script.rules, script.guards);
    closed(rule);
  }
  if (script.rewrite !== null && hasType(rule.keys, "upstream")) {
    rule.keys.rewrite = script.rewrite;
    // A path that does not fit goes on whole.
    rule.keys.strip_prefix = false;
  }
  applyOptions(scope, rule);
  const isBelow = kind !== "=" && path.endsWith("/") && place.value !== "/";
  const isPassed = scope.children.some(({ name }) => name.endsWith("_pass"));
  if (isBelow && !isPassed && (hasType(rule.keys, "respond") || hasType(rule.keys, "redirect")))
    rule.givesBack = exactPlace(place.value);
  const rules = applied([...script.rules, ...fileAlone(rule), rule], script.guards);
  if (isBelow && hasType(rule.keys, "upstream")) rules.unshift(slashRedirect(statement, place));
  return rules;
}

/** A route for one file takes what is below its path as well, where something is in the place of files that are not there. */
function fileAlone(rule: Rule): Rule[] {
  const { path, keys, origin } = rule;
  if (path.kind !== "exact" || !hasType(keys, "static") || (keys.spa === undefined && keys.rewrite === undefined))
    return [];
  const below = refusalAt(origin, { kind: "prefix", value: path.value });
  below.keys.regex = `^${escapedRegex(path.value)}/`;
  return [below];
}

/** What a prefix without a slash at its end takes beside whole segments: `/api` takes `/apis`, which no prefix of a route does. */
function kinOf({ scripts }: Site, one: Located, level: Level, rules: readonly Rule[]): Rule[] {
  const { statement, scope, kind, path } = one;
  if (kind === "=" || kind.startsWith("~") || path.endsWith("/") || path === "") return [];
  const hasWider = level.prefixes.some((other) => other.path !== path && path.startsWith(other.path));
  if (!hasWider && scope.outer?.one("root") == null && scope.outer?.statement?.name !== "location") return [];
  const rule = ruleOf(statement, `${statementTitle(statement)}: what begins with these letters`, {});
  const own = rules.at(-1);
  rule.path = prefixOf(path.slice(0, path.lastIndexOf("/")));
  // What is the same for every path is the same here.
  const isSame = rules.length === 1 && own !== undefined && isWithoutPath(own);
  // Scripts are asked before it; what refuses may refuse them as well.
  if (isSame && scripts != null && !(hasType(own.keys, "respond") && Number(own.keys.status) >= 400)) return [];
  // Locations inside take some of them, and an alias is put in the place of the letters.
  const isPlain = rules.length === 1 && scripts == null && !hasNested(one) && scope.here("alias").length === 0;
  const wider = isPlain && !isSame ? widerKeys(own!, rule.path) : null;
  if (isSame) Object.assign(rule, { keys: copied(own.keys) });
  else if (wider !== null) Object.assign(rule, { keys: wider, scopes: [...own!.scopes], folders: own!.folders });
  else closed(rule);
  rule.keys.regex = `^${escapedRegex(path)}[^/]`;
  if (!isSame && wider === null)
    scope.ledger.note(
      statement,
      `${path} and all below it, as segments of the path: what only begins with these letters is closed`,
      "write another route for such paths, if there are any",
    );
  return [rule];
}

/** Whether a rule does the same for all its paths. */
function isWithoutPath({ keys, match, methods, hosts }: Rule): boolean {
  const isPlain = Object.keys(match).length + methods.length + hosts.length === 0;
  return isPlain && (hasType(keys, "respond") || (hasType(keys, "redirect") && keys.regex === undefined));
}

/** What a rule does with paths beside its own whole segments, such as /apix beside /api; null if no route does the same. */
function widerKeys(own: Rule, place: PathRule): Keys | null {
  const { keys, path, match, methods, hosts } = own;
  if (Object.keys(match).length + methods.length + hosts.length > 0 || keys.regex !== undefined) return null;
  if (hasType(keys, "upstream") && keys.fastcgi === undefined) {
    const isWhole = keys.strip_prefix === false && keys.rewrite === undefined;
    return isWhole || (keys.rewrite as Keys | undefined)?.regex !== undefined ? copied(keys) : null;
  }
  if (!hasType(keys, "static") || keys.spa !== undefined || keys.fallback !== undefined) return null;
  if (keys.rewrite !== undefined) return copied(keys);
  // The folder of the place, of which that of the rule is a part.
  const { dir } = keys as { dir: string };
  const below = path.value.slice(place.value === "/" ? 0 : place.value.length);
  return dir.endsWith(below) ? { ...copied(keys), dir: dir.slice(0, -below.length) || "/" } : null;
}

/**
 * Puts in front of rules that take too much what the rules after them do with it: `location /x/` does not take `/x`, the prefix
 * `/x` does. Folders are led to their slash anyway.
 */
function givePathsBack(rules: Rule[]): void {
  for (let at = rules.length - 1; at >= 0; at--) {
    const { givesBack } = rules[at]!;
    if (givesBack === undefined) continue;
    const wanted = { ...EVERYTHING, path: givesBack };
    const parts: Rule[] = [];
    EFFORT.take(rules.length - at);
    for (const later of rules.slice(at + 1)) {
      const part = holdsPath(later.path, givesBack) ? partOf(later, wanted) : null;
      if (part === null) continue;
      parts.push(part);
      if (!isPartial(part) && Object.keys(part.match).length + part.methods.length === 0) break;
    }
    const last = parts.at(-1);
    if (last === undefined || isPartial(last))
      parts.push({
        ...ruleOf(rules[at]!.origin, statementTitle(rules[at]!.origin), { type: "respond", status: 404 }),
        path: givesBack,
      });
    const isStatic = ({ keys }: Rule): boolean => hasType(keys, "static") || keys.fastcgi !== undefined;
    // A folder of files leads to its slash.
    const slash = (part: Rule): Rule => {
      responseBy(part, { type: "redirect", to: `${givesBack.value}/?{query}`, status: 301 });
      return part;
    };
    rules.splice(at, 0, ...parts.map((part) => (isStatic(part) ? slash(part) : part)));
  }
}

/** Whether a route for one path would have all files below it as well: it is a folder, as far as its name tells. */
function isFolderAlone({ path: { kind, value }, keys }: Rule): boolean {
  return kind === "exact" && hasType(keys, "static") && !/\/[^/]*\.\w+$/.test(value);
}

/** What clients cannot ask for is 404 to them. */
function noteInternal({ statement, scope: { ledger } }: Located): void {
  for (const one of statement.block ?? [])
    if (!ledger.isJudged(one) && one.name !== "internal")
      ledger.noteWhole(one, "clients cannot ask for it, and nothing that is carried over uses it", "nothing");
  ledger.carry(statement, ...statement.all("internal"));
}

function refusalAt(statement: Statement, path: PathRule, status = 404): Rule {
  return { ...ruleOf(statement, statementTitle(statement), { type: "respond", status }), path };
}

/** nginx sends the path without its slash to the one with it, where the location is proxied. */
function slashRedirect(statement: Statement, place: PathRule): Rule {
  const rule = ruleOf(statement, `${statementTitle(statement)}: the path without its slash`, {
    type: "redirect",
    to: `${place.value}/?{query}`,
    status: 301,
  });
  rule.path = { kind: "exact", value: place.value };
  return rule;
}

/** The rules of a location by an expression: as paths where it says no more, as responses to what fits it, else closed. */
function regexRules(site: Site, one: Located, within: PathRule): Rule[] {
  const { statement, scope, kind, path } = one;
  const isAnyCase = kind === "~*" && /[a-z]/i.test(path);
  const places = within.value !== "/" || hasNested(one) ? null : regexPlaces(path);
  const isResponse = scope.here("return").length > 0 || denies(statement) || isInternal(statement);
  if (places === null || (isAnyCase && isResponse)) return [expressionRule(site, one, within)];
  if (isInternal(statement)) {
    noteInternal(one);
    return places.map((place) => refusalAt(statement, place));
  }
  scope.ledger.carry(statement);
  const rules = places.flatMap((place) => placeRules(site, one, place));
  if (!isAnyCase) return rules;
  scope.ledger.note(
    statement,
    "paths are compared with their letter case: what is spelled otherwise is closed",
    "write another route for such paths, if there are any",
  );
  return [...rules, closedExpression(one, within)];
}

/** A location by an expression that says more than paths. A response can have it; all else is closed. */
function expressionRule({ scripts }: Site, one: Located, within: PathRule): Rule {
  const { statement, scope, kind, path } = one;
  const [found] = scope.here("return");
  const flags = kind === "~*" ? "(?i)" : "";
  // A script runs with more of a path behind it as well.
  const regex = expressionOf(scripts == null ? path : path.replace(/\\\.php\$$/, SCRIPT_PATHS), true);
  const hasMore = scope.here("if", "rewrite", "limit_except").length > 0 || hasNested(one);
  if (regex === null || hasMore) return closedExpression(one, within);
  const rule = ruleOf(statement, statementTitle(statement), { type: "respond", status: 404 });
  rule.path = kind === "~*" ? within : beginningOf(regex, within);
  if (isInternal(statement)) noteInternal(one);
  else if (found !== undefined) {
    scope.ledger.carry(statement);
    const [status = "", address = ""] = /^\d+$/.test(found.args[0] ?? "") ? found.args : ["302", ...found.args];
    if (/^30[12378]$/.test(status)) {
      const to = nginxTemplate(address, true);
      const own = expressionOf(path, false);
      if (to === null || own === null) return closedExpression(one, within);
      scope.ledger.carry(found);
      rule.keys = { type: "redirect", to, status: Number(status), regex: flags + own };
      rule.path = within;
      applyResponseFields(scope, rule);
      return rule;
    }
    answer(scope, found, rule);
    applyResponseFields(scope, rule);
  } else if (denies(statement)) denied(scope, statement, rule);
  else return closedExpression(one, within);
  // What is spared would be answered, too.
  if (!hasType(rule.keys, "respond") || (looksAround(path) && !isHarmless(rule))) closed(rule);
  if (looksAround(path))
    scope.ledger.note(
      statement,
      "routes have no expressions that look around themselves: what these spare is refused, too",
      "write a route with a prefix of its own for the exception",
    );
  rule.keys.regex = flags + regex;
  return rule;
}

/** The paths of an expression as a closed route; all paths if no route can have the expression. */
function closedExpression(one: Located, within: PathRule): Rule {
  const { statement, scope, kind, path } = one;
  const regex = expressionOf(path, true);
  const rule = ruleOf(statement, statementTitle(statement), {});
  closed(rule);
  rule.path = within;
  scope.ledger.noteWhole(
    statement,
    regex === null
      ? "no route can have its expression: all paths are closed that it could take"
      : "routes go by paths, not by expressions: the paths that fit are closed",
    "put its settings at a route with a prefix of its own",
  );
  if (regex === null) return rule;
  rule.keys.regex = (kind === "~*" ? "(?i)" : "") + regex;
  return rule;
}

/** A location that keeps clients out by its own rules. */
function denied(scope: Scope, statement: Statement, rule: Rule): void {
  const { ledger } = scope;
  rule.keys = { type: "respond", status: 403 };
  ledger.carry(statement);
  const own = scope.here("deny");
  if (own.some(({ args }) => args[0] === "all") && scope.here("allow").length === 0 && !isEitherEnough(scope))
    ledger.carry(...own);
  else
    ledger.note(
      statement,
      "a route for an expression has no rules about who comes in: it is closed",
      "write routes with prefix for the paths that are meant",
    );
}

/** Whether a location by an expression says no more than how files are sent that another route has as well. */
function isPlainFiles({ scope, statement, path }: Located): boolean {
  // Folders have no page with this one.
  if (scope.here("try_files").length > 0 && !NAME_EXTENSIONS.test(path)) return false;
  return (
    (statement.block ?? []).every(
      ({ name, args }) =>
        SENDING_OPTIONS.test(name) ||
        name === "root" ||
        (name === "try_files" && args[0] === "$uri" && args.slice(1, -1).every((word) => word === "$uri/")),
    ) && scope.one("root") !== null
  );
}

/** Closes the paths of such an expression at the routes that do not have the same files. */
function elsewhere(
  one: Located,
  contents: ReadonlyMap<Located, readonly Rule[]> | null,
  { rest, within, scope: outer }: Around,
): Rule[] {
  const { scope, statement } = one;
  const folder = (scope.one("root")?.args[0] ?? "").replace(/(.)\/$/, "$1");
  const key = guardsKey(scope);
  const isSame = (other: Scope, rules: readonly Rule[]): boolean => {
    const rule = rules.at(-1);
    if (rule === undefined || guardsKey(other) !== key) return false;
    const { fastcgi, dir } = rule.keys as { fastcgi?: Keys; dir?: string };
    if (fastcgi !== undefined) return fastcgi.root === folder && fastcgi.check_files !== false;
    const below = rule.path.value === "/" ? "" : rule.path.value;
    if (rule.keys.spa === true && !NAME_EXTENSIONS.test(one.path)) return false;
    return (
      hasType(rule.keys, "static") &&
      rule.keys.rewrite === undefined &&
      dir === `${folder === "/" ? "" : folder}${below}`
    );
  };
  const all = contents ?? new Map<Located, readonly Rule[]>();
  EFFORT.take(all.size);
  const different = [...all].filter(([other, rules]) => other.kind !== "^~" && !isSame(other.scope, rules));
  const isRestSame = [...all.keys()].some(({ path }) => path === "/") || isSame(outer, rest);
  const isMany = contents === null || different.length > MAX_DIFFERENT;
  const places = isRestSame && !isMany ? different.map(([{ path }]) => prefixOf(path)) : [within];
  scope.ledger.note(
    statement,
    "the routes of their folders send these files; how they are sent is not set by the extension",
    "set headers or cache_control at a route with a folder of its own",
  );
  const regex = expressionOf(one.path, true);
  if (regex === null && places.length > 0) return [closedExpression(one, within)];
  return places.map((path) => {
    const rule = ruleOf(statement, statementTitle(statement), {});
    closed(rule);
    Object.assign(rule.keys, { regex: (one.kind === "~*" ? "(?i)" : "") + regex });
    rule.path = path;
    return rule;
  });
}

/** Beyond, the paths of the expression are closed wherever they are. */
const MAX_DIFFERENT = 20;
/** So many locations are compared with expressions of a block. */
const MAX_COMPARED = 20_000;

/** Paths that run a script: docs/php.md#which-script-runs */
const SCRIPT_PATHS = "\\.php(?:/|$)";

/** Whether a location keeps clients out. */
function denies(statement: Statement): boolean {
  return statement.block!.some(
    ({ name, args }) =>
      name === "deny" ||
      (/^auth_|^access_by_lua/.test(name) && args[0] !== "off") ||
      (name === "return" && /^4\d\d$/.test(args[0] ?? "")),
  );
}
