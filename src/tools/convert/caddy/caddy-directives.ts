import { refuseRule } from "../access.ts";
import { holdsPath } from "../arrange.ts";
import { byPaths } from "../by-paths.ts";
import { beginningOf, type Condition, EVERYTHING } from "../condition.ts";
import { EFFORT } from "../effort.ts";
import { withoutExceptions } from "../exceptions.ts";
import { escapedRegex } from "../expression.ts";
import { type Keys, sectionAt } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import { applied, excepting, isApart, joined, type Modifier, noteUnused, refusal } from "../modifiers.ts";
import { type PathRule, ROOT } from "../path-rule.ts";
import { closed, hasType, isPartial, type Rule, responseBy, ruleOf } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { endsRequest, goesOn } from "./caddy-ends.ts";
import {
  changedFields,
  filesOf,
  hiddenPaths,
  isPlainTry,
  isUnknownHandler,
  mayHideFiles,
  ofOwnFields,
  takenOut,
} from "./caddy-guards.ts";
import { type ClientFacts, type FoundMatcher, type Matcher, Matchers } from "./caddy-matchers.ts";
import { MODIFIERS } from "./caddy-modifiers.ts";
import { inCaddyOrder } from "./caddy-order.ts";
import { isLostImport } from "./caddy-parser.ts";
import { beforePathChanges, EARLY, partRule, type Stripped, strippedFrom, withoutPart } from "./caddy-paths.ts";
import { proxyKeys, takesOff } from "./caddy-proxy.ts";
import { scriptKeys } from "./caddy-scripts.ts";
import { caddyTemplate, groups } from "./caddy-values.ts";

/** Where directives count. */
interface Context extends Stripped {
  readonly ledger: Ledger;
  readonly matchers: Matchers;
  /** What the blocks around ask of requests. */
  readonly condition: Condition;
  /** Fields that have been changed by now. */
  readonly changed: readonly string[];
  /** `root`, with the paths for which it counts. */
  readonly root: string;
  /** The files of the configuration, which are never sent. */
  readonly ownFiles: readonly string[];
  /** Directives that end a request, in the order in which they are asked. */
  readonly order: readonly string[];
}

/** What a site is converted with. */
interface SiteFacts {
  readonly ledger: Ledger;
  readonly clients: ClientFacts;
  /** As the user named it. */
  readonly file: string;
  /** Directives that end a request, in the order in which they are asked. */
  readonly order: readonly string[];
}

/** The rules of a site's directives, in the order in which Caddy asks them. docs/migrate-caddy.md */
export function rulesOf(site: Statement, { ledger, clients, file, order }: SiteFacts): Rule[] {
  const statements = site.block ?? [];
  const context: Context = {
    ledger,
    matchers: new Matchers([], null, clients),
    condition: EVERYTHING,
    stripped: "",
    isMaybeStripped: false,
    changed: [],
    root: "",
    ownFiles: filesOf(statements, file),
    order,
  };
  const rest = (): Rule =>
    ruleOf(site, `${site.file}:${site.line} ${site.text}: all other paths`, { type: "respond", status: 200 });
  return convertBlock(statements, context, { rest });
}

/** How a block is converted. */
interface BlockKind {
  /** Whether directives run in the order of the file, as in `route`. */
  readonly isInOrder?: boolean;
  /** What takes the requests that no directive of the block ends. */
  readonly rest: () => Rule;
}

function convertBlock(
  statements: readonly Statement[],
  outer: Context,
  { isInOrder = false, rest }: BlockKind,
): Rule[] {
  const { ledger } = outer;
  // The last one counts.
  const roots = statements.filter(({ name, args }) => name === "root" && (args.length === 1 || args[0] === "*"));
  const root = roots.at(-1);
  ledger.carry(...roots);
  const context = {
    ...outer,
    matchers: new Matchers(statements, outer.matchers, outer.matchers.facts),
    changed: [...outer.changed, ...changedFields(statements)],
    root: root?.args.at(-1) ?? outer.root,
  };
  for (const one of statements) if (one.name === "import" && !isLostImport(one)) ledger.carry(one);
  const changes = pathChanges(statements, context);
  const inner = { ...context, ...changes.context };
  const early = new Set(isInOrder ? beforePathChanges(statements) : statements.filter(({ name }) => EARLY.has(name)));
  const around = (one: Statement): Context => (early.has(one) ? context : inner);
  const own = statements.flatMap((one) => modifierOf(one, around(one)));
  const ordered = isInOrder ? statements.filter((one) => endsRequest(one, context)) : inCaddyOrder(statements, inner);
  const found = ordered.flatMap((one, i) =>
    terminalOf(one, around(one), { siblings: statements, later: ordered.slice(i + 1) }),
  );
  if (!found.some((rule) => isSame(rule, outer.condition))) found.push(rest());
  const rules = withoutExceptions([...changes.closed, ...found], ledger);
  if (changes.rewrite !== null) for (const rule of rules) rewritten(rule, changes.rewrite, inner);
  const changed = applied(rules, own);
  noteUnused(own, changed, ledger);
  return changed;
}

function rewritten(rule: Rule, rewrite: Keys, { ledger, stripped }: Context): void {
  if (hasType(rule.keys, "upstream")) {
    // The new path takes the place of the one of which a part has been removed, but not of a path that an inner block has set.
    const isOwn = rule.keys.rewrite !== undefined;
    if (!isOwn || JSON.stringify(rule.keys.rewrite) === JSON.stringify(withoutPart(rule.path, stripped)))
      rule.keys.rewrite = rewrite;
  }
  if (!hasType(rule.keys, "static")) return;
  closed(rule);
  ledger.note(
    rule.origin,
    "files of a rewritten path are not carried over: the route is closed",
    "see dir and rewrite",
  );
}

interface PathChanges {
  readonly context: Partial<Context>;
  readonly rewrite: Keys | null;
  /** What is in the place of changes that are left out. */
  readonly closed: readonly Rule[];
}

/** `uri strip_prefix` and `rewrite` without a matcher; others close what they are for, and so do those in front of matchers. */
function pathChanges(statements: readonly Statement[], context: Context): PathChanges {
  const { ledger, condition } = context;
  let stripped: Partial<Context> = {};
  let rewrite: Keys | null = null;
  const shut: Rule[] = [];
  const isReadOnce = (one: Statement): boolean =>
    one.name !== "redir" && one.name !== "root" && !one.name.startsWith("@");
  const hasMatchers = (list: readonly Statement[]): boolean => list.some(hasMatcher);
  const hasMatcher = (one: Statement): boolean =>
    isReadOnce(one) && (/^[/@]/.test(one.args[0] ?? "") || hasMatchers(one.block ?? []));
  const [first, second] = statements.filter(hasMatcher);
  const isWhole = context.stripped === "";
  const isOwnPart = !context.isMaybeStripped && condition.path?.value === context.stripped;
  for (const one of statements) {
    if (!/^(uri|rewrite|root|try_files)$/.test(one.name)) continue;
    const args = one.args[0] === "*" ? one.args.slice(1) : one.args;
    const path =
      one.name === "rewrite" && /^\/[^?]*$/.test(args[0] ?? "")
        ? caddyTemplate(args[0]!.replace("{uri}", "{path}"))
        : null;
    const isRead = (first === one ? second : first) !== undefined;
    const isLast = !isRead && Object.keys(stripped).length === 0 && rewrite === null;
    const prefix = `/${(args[1] ?? "").replace(/^\/|\/$/g, "")}`;
    const isStrip = one.name === "uri" && args[0] === "strip_prefix" && args.length === 2 && context.stripped === "";
    const isFirst = rewrite === null && stripped.stripped === undefined;
    if (isStrip && isFirst && (condition.path === null || condition.path.value === prefix))
      stripped = { stripped: prefix, isMaybeStripped: condition.path === null };
    else if (isLast && isWhole && one.name === "uri" && args[0] === "path_regexp" && args.length === 3)
      rewrite = { regex: args[1], to: groups(args[2]!) };
    else if (isLast && args.length === 1 && path !== null && (isWhole || !path.includes("{"))) rewrite = { path };
    else if (isLast && args.length === 1 && path !== null && isOwnPart)
      rewrite = {
        regex: `^${escapedRegex(context.stripped)}/?(.*)$`,
        to: path.replaceAll("{path}", "/{match.1}").replaceAll("//", "/"),
      };
    else {
      shut.push(...pathGuard(one, context, isRead));
      continue;
    }
    ledger.carry(one);
  }
  return { context: stripped, rewrite, closed: shut };
}

/** Closes what a change of the path that is left out was for. */
function pathGuard(one: Statement, context: Context, isRead: boolean): Rule[] {
  const { name, args } = one;
  if (name === "root" && (args.length === 1 || args[0] === "*")) return [];
  if (name === "try_files" && !keepsOutFallback(one, context)) {
    if (isPlainTry(one) || one.parent?.all("file_server").length !== 0) return [];
  }
  const found = name === "try_files" ? null : context.matchers.of(args[0]);
  context.ledger.note(
    one,
    isRead && found === null
      ? "it changes the path that other directives compare: its routes are closed"
      : "this change of the path has no counterpart: its routes are closed",
    "see rewrite at the route: docs/routing.md#rewrite",
  );
  return shutRules(one, placedIn(found?.matcher ?? [EVERYTHING], context), context);
}

/** Whether `try_files` leads requests to a directive that keeps clients out, or past one: those after it see the file that it has found. */
function keepsOutFallback({ args, parent }: Statement, { matchers }: Context): boolean {
  const last: PathRule = { kind: "exact", value: args.at(-1) ?? "" };
  const isOfPath = ({ path, regex, notAny }: Condition): boolean => path !== null || regex !== "" || notAny.length > 0;
  const isAsked = (one: Condition): boolean => isOfPath(one) && (one.path === null || holdsPath(one.path, last));
  const isGuard = (one: Statement): boolean => ACCESS.has(one.name) || refuses(one) || isUnknown(one);
  const isUnknown = (one: Statement): boolean => isUnknownHandler(one) && !endsRequest(one);
  const holdsGuard = (list: readonly Statement[]): boolean =>
    list.some((one) => isGuard(one) || holdsGuard(BLOCKS.has(one.name) ? (one.block ?? []) : []));
  EFFORT.take(parent?.block?.length ?? 0);
  const others = (parent?.block ?? []).flatMap((one) => {
    const found = one.name === "try_files" ? null : matchers.of(one.args[0]);
    return found === null ? [] : [{ one, matcher: found.matcher }];
  });
  const fits = (matcher: Matcher, test: (condition: Condition) => boolean): boolean =>
    "fault" in matcher || matcher.some(test);
  const guards = others.filter(({ one }) => holdsGuard([one]));
  if (guards.some(({ one, matcher }) => !one.name.startsWith("@") && fits(matcher, isAsked))) return true;
  return (
    guards.length > 0 && others.some(({ one, matcher }) => endsRequest(one) && !refuses(one) && fits(matcher, isOfPath))
  );
}

/** Routes that are closed in the place of a directive that cannot be said. */
function shutRules(statement: Statement, matcher: Matcher, context: Context): Rule[] {
  return ("fault" in matcher ? matcher.wider : matcher).flatMap((own): Rule[] => {
    if (isApart(context.condition, own)) return [];
    const rule = placed(statement, joined({ ...context.condition, notAny: [] }, own) ?? context.condition);
    closed(rule);
    return [own.notAny.length === 0 ? rule : { ...rule, notAny: own.notAny }];
  });
}

/** A matcher as it compares the client's own path, where a part of that has been removed before. */
function placedIn(matcher: Matcher, { stripped, isMaybeStripped }: Context): Matcher {
  if (stripped === "") return matcher;
  // What is excepted with the part is more than what is excepted without it.
  const isLess = ({ regex, notAny }: Condition): boolean => regex !== "" || notAny.length > 0;
  if (isMaybeStripped && !("fault" in matcher) && matcher.some(isLess))
    return { fault: "the other gateway removes a part of the path before it compares it", wider: [EVERYTHING] };
  const moved = (one: Condition): Condition[] => {
    if (one.path === null && one.regex === "" && one.notAny.length === 0) return [one];
    const path =
      one.path === null
        ? null
        : { ...one.path, value: one.path.value === "/" ? stripped : `${stripped}${one.path.value}` };
    const regex = one.regex.replace(/^(\(\?i\))?\^/, (_all, flags = "") => `${flags}^${escapedRegex(stripped)}`);
    const changed = { ...one, path, regex, notAny: one.notAny.flatMap(moved) };
    // No path that begins with the part keeps it.
    const isLost = holdsPath(partRule(stripped), one.path ?? beginningOf(one.regex, ROOT));
    return isMaybeStripped && (path !== null || regex !== one.regex) && !isLost ? [one, changed] : [changed];
  };
  return "fault" in matcher ? { ...matcher, wider: matcher.wider.flatMap(moved) } : matcher.flatMap(moved);
}

/** What else is in the block of a directive that ends requests. */
interface Beside {
  readonly siblings: readonly Statement[];
  /** Further directives that end requests, in their order. */
  readonly later: readonly Statement[];
}

/** The rules of one directive that ends requests. */
function terminalOf(statement: Statement, context: Context, beside: Beside): Rule[] {
  const { ledger } = context;
  const found = matcherOf(statement, context);
  const args = found === null ? statement.args : statement.args.slice(1);
  if (refusalOf(statement, context) !== null) return [];
  const asked = found?.matcher ?? [EVERYTHING];
  const matcher = answersByPath(statement) ? asked : onlyPaths(asked);
  if ("fault" in matcher) return unsaid(statement, matcher, context);
  ledger.carry(...(found?.statements ?? []));
  const isBlock = BLOCKS.has(statement.name);
  const rules = matcher.flatMap((own): Rule[] => {
    if (isApart(context.condition, own)) return [];
    const condition = joined({ ...context.condition, notAny: [] }, own);
    if (condition === null)
      return unsaid(statement, { fault: "its matcher and those around it cannot be joined", wider: [own] }, context);
    const at = { ...context, condition, ...strippedFrom(context, condition.path) };
    const excepted = (rule: Rule): Rule =>
      own.notAny.length === 0 ? rule : { ...rule, notAny: [...(rule.notAny ?? []), ...own.notAny] };
    if (isBlock) return blockRules(statement, own, at).map(excepted);
    const rule = placed(statement, condition);
    const before = contentOf(statement, args, { rule, beside, context: at });
    return [...before, rule].map(excepted);
  });
  if (isBlock) ledger.carry(statement);
  return rules;
}

const BLOCKS: ReadonlySet<string> = new Set(["handle", "handle_path", "route"]);
const OPEN_TARGETS = "its targets, or its changes of responses, have no counterpart in a route: it is closed";
const BY_REGEX = "routes go by paths, not by expressions";

/** The matcher of a directive, as it compares the client's own path. */
function matcherOf(statement: Statement, context: Context): FoundMatcher | null {
  const own = context.matchers.of(statement.args[0]);
  const found = own !== null && endsRequest(statement, context) ? ofOwnFields(own, context.changed) : own;
  return found === null ? null : { ...found, matcher: placedIn(found.matcher, context) };
}

/** Whether a directive is a redirect, a response or a proxy, which become routes with expressions. */
function answersByPath({ name, block }: Statement): boolean {
  if (BLOCKS.has(name))
    return block?.every((one) => ANSWERS.has(one.name) && !/^[@/]/.test(one.args[0] ?? "")) === true;
  return ANSWERS.has(name);
}

const ANSWERS: ReadonlySet<string> = new Set(["redir", "respond", "error", "abort", "reverse_proxy"]);

/** A matcher by paths, if it has an expression that says such. */
function onlyPaths(matcher: Matcher): Matcher {
  if ("fault" in matcher || matcher.every(({ regex }) => regex === "")) return matcher;
  return byPaths(matcher) ?? { fault: BY_REGEX, wider: matcher };
}

/** A directive of which the matcher cannot be said: what it may be for is closed. */
function unsaid(
  statement: Statement,
  matcher: { readonly fault: string; readonly wider: readonly Condition[] },
  context: Context,
): Rule[] {
  context.ledger.noteWhole(
    statement,
    `${matcher.fault}: what it may be for is closed`,
    "write routes with match for its requests, and remove the route with 503",
  );
  return shutRules(statement, matcher, context);
}

/** Whether a directive does nothing but refuse requests. */
function refuses({ name, args, block }: Statement): boolean {
  if (BLOCKS.has(name)) {
    const ends = (block ?? []).filter((one) => endsRequest(one));
    return ends.length > 0 && ends.every(refuses);
  }
  return name === "abort" || (/^(respond|error)$/.test(name) && args.some((word) => /^[45]\d\d$/.test(word)));
}

function blockRules(statement: Statement, own: Condition, context: Context): Rule[] {
  const isStripped = statement.name === "handle_path" && own.path !== null && own.path.kind === "prefix";
  const stripped = isStripped ? own.path!.value : context.stripped;
  const rest = (): Rule => {
    const rule = placed(statement, context.condition);
    responseBy(rule, { type: "respond", status: 200 });
    if (goesOn(statement)) {
      closed(rule);
      context.ledger.note(
        statement,
        "what no directive of the block ends goes on to those after it: it is closed",
        "end the block with the directive that is meant for these requests",
      );
    }
    return rule;
  };
  const isMaybeStripped = context.isMaybeStripped && !isStripped;
  return convertBlock(
    statement.block ?? [],
    { ...context, stripped, isMaybeStripped },
    { isInOrder: statement.name === "route", rest },
  );
}

function isSame(rule: Rule, { path, match, methods, regex }: Condition): boolean {
  const place = path ?? ROOT;
  if (regex !== "") return rule.keys.regex === regex;
  return (
    rule.path.value === place.value &&
    rule.path.kind === place.kind &&
    Object.keys(rule.match).length === Object.keys(match).length &&
    !isPartial(rule) &&
    rule.methods.join() === methods.join() &&
    rule.notAny === undefined
  );
}

/** A rule that takes what the condition says. */
function placed(statement: Statement, { path, hosts, methods, match, regex }: Condition): Rule {
  const rule = ruleOf(statement, `${statement.file}:${statement.line} ${statement.text}`, {});
  rule.path = path ?? ROOT;
  rule.hosts = hosts;
  rule.methods = [...methods];
  rule.match = { ...match };
  if (regex !== "") {
    rule.keys.regex = regex;
    rule.path = beginningOf(regex, rule.path);
  }
  return rule;
}

/** What a directive does with the requests of a rule. @returns rules that come before it */
function contentOf(
  statement: Statement,
  args: readonly string[],
  { rule, beside, context }: { readonly rule: Rule; readonly beside: Beside; readonly context: Context },
): Rule[] {
  const { ledger } = context;
  const { regex } = rule.keys;
  rule.keys = {};
  let before: Rule[] = [];
  const kind = statement.name;
  if (kind === "redir") redirect(statement, args, rule, context);
  else if (kind === "respond" || kind === "error") respond(statement, args, rule, context);
  else if (kind === "reverse_proxy") proxied(statement, args, rule, context);
  else if (kind === "php_fastcgi") scripts(statement, args, rule, { later: beside.later, context });
  else if (kind === "file_server") before = fileServer(statement, rule, { siblings: beside.siblings, context });
  else if (kind === "abort") {
    rule.keys = { type: "respond", status: 403 };
    ledger.note(statement, "every request has a response: 403 in its place", "nothing");
  } else if (kind === "metrics" || kind === "acme_server") {
    rule.keys = { type: "respond", status: 404 };
    ledger.note(
      statement,
      kind === "metrics" ? "the gateway has its own metrics" : "the gateway is no certificate authority",
      kind === "metrics" ? "read /metrics" : "keep it where it is",
    );
  } else {
    closed(rule);
    ledger.noteWhole(
      statement,
      "it has no counterpart: the route is closed",
      "put the application behind an HTTP server of its own, and name it as target",
    );
  }
  if (regex === undefined) return before;
  if (!(["redirect", "respond", "upstream"] as const).some((type) => hasType(rule.keys, type)))
    throw new Error(`${statement.file}:${statement.line}: an expression for the path is at no route that has one`);
  const { type, ...others } = rule.keys;
  rule.keys = { type, regex, ...others };
  return before;
}

function redirect(statement: Statement, args: readonly string[], rule: Rule, context: Context): void {
  const { ledger } = context;
  const [to = "", code = "302"] = args;
  const template = caddyTemplate(to);
  const status = code === "permanent" ? 301 : code === "temporary" ? 302 : Number(code);
  const isClear = template !== null && /^(\/|https?:\/\/([\w.-]|\{host\})|\{(uri|path)\})/.test(template);
  if (!isClear || ![301, 302, 303, 307, 308].includes(status)) {
    closed(rule);
    ledger.note(
      statement,
      "its address or status has no counterpart in a redirect: the route is closed",
      "write the address with placeholders: docs/answers.md",
    );
    return;
  }
  rule.keys = { type: "redirect", to: template, status };
  ledger.carry(statement);
  noteWholePath(statement, template, context);
}

function respond(statement: Statement, args: readonly string[], rule: Rule, context: Context): void {
  const { ledger } = context;
  const block = statement.block ?? [];
  const bodyLine = block.find(({ name }) => name === "body");
  const words = statement.name === "error" ? [...args].filter((one) => /^\d{3}$/.test(one)) : args;
  const isStatus = words.length === 1 && /^\d{3}$/.test(words[0]!);
  const status = Number(isStatus ? words[0] : (words[1] ?? (statement.name === "error" ? 500 : 200)));
  const body = caddyTemplate(isStatus ? (bodyLine?.args[0] ?? "") : (words[0] ?? bodyLine?.args[0] ?? ""));
  if (body === null || status < 200 || status > 599) {
    closed(rule);
    ledger.note(
      statement,
      "its body has a placeholder without a counterpart: the route is closed",
      "see docs/placeholders.md",
    );
    return;
  }
  rule.keys = { type: "respond", status, ...(body === "" ? {} : { body, content_type: "text/plain; charset=utf-8" }) };
  ledger.carry(statement, bodyLine ?? null);
  noteWholePath(statement, body, context);
}

/** A placeholder is the whole path of the request, also behind `handle_path`. */
function noteWholePath(statement: Statement, template: string, { ledger, stripped }: Context): void {
  if (stripped === "" || !/\{(uri|path)\}/.test(template)) return;
  ledger.note(statement, `its path has ${stripped} in front, which Caddy removes before`, "write to with a regex");
}

function proxied(statement: Statement, args: readonly string[], rule: Rule, context: Context): void {
  const keys = proxyKeys(statement, args, context.ledger);
  if (keys === null) {
    context.ledger.noteWhole(statement, OPEN_TARGETS, "write their addresses as targets");
    return closed(rule);
  }
  context.ledger.carry(statement);
  rule.keys = keys;
  const { value, kind } = rule.path;
  const rewrite = withoutPart(rule.path, context.stripped);
  if (rewrite !== null) rule.keys.rewrite = rewrite;
  else if (context.stripped === "" && kind === "prefix" && value !== "/") rule.keys.strip_prefix = false;
}

function scripts(
  statement: Statement,
  args: readonly string[],
  rule: Rule,
  { later, context }: { readonly later: readonly Statement[]; readonly context: Context },
): void {
  const { ledger, root, stripped } = context;
  const keys = scriptKeys(statement, args, root, ledger);
  if (keys === null) {
    ledger.noteWhole(statement, OPEN_TARGETS, "write their addresses as targets");
    return closed(rule);
  }
  ledger.carry(statement);
  rule.keys = keys;
  const { value, kind } = rule.path;
  if (kind === "prefix" && value !== "/" && stripped !== value) rule.keys.strip_prefix = false;
  if (sendsAllFiles(later)) return;
  sectionAt(rule.keys, "fastcgi").check_files = false;
  ledger.note(
    statement,
    "no file_server comes next that sends every file: no file is sent, and every path goes to the index",
    "remove check_files if clients may get all files below the root, and the scripts there are to run: docs/php.md",
  );
}

/** Whether the files that `php_fastcgi` leaves to what follows are all sent: nothing comes between that may refuse them. */
function sendsAllFiles(later: readonly Statement[]): boolean {
  const next = later.find(({ name }) => name !== "php_fastcgi");
  return next?.name === "file_server" && next.args.length === 0 && next.all("hide").length === 0;
}

function fileServer(
  statement: Statement,
  rule: Rule,
  { siblings, context }: { readonly siblings: readonly Statement[]; readonly context: Context },
): Rule[] {
  const { ledger, stripped } = context;
  const block = statement.block ?? [];
  const root = block.find(({ name }) => name === "root")?.args[0] ?? context.root;
  const { value, kind } = rule.path;
  const below = kind === "exact" || value === "/" ? "" : value.slice(stripped.length);
  rule.keys = { type: "static", dir: `${root === "" ? "." : root.replace(/(.)\/$/, "$1")}${below}` };
  ledger.carry(statement);
  for (const one of block) {
    if (one.name === "root" || one.name === "hide") ledger.carry(one);
    else
      ledger.noteWhole(
        one,
        one.name === "browse" ? "folders are not listed" : "files are served by their path, index.html for a folder",
        "see docs/files.md",
      );
  }
  if (statement.args.includes("browse"))
    ledger.note(statement, "folders are not listed", "serve a page made by the application");
  if (kind === "exact" && !value.endsWith("/"))
    ledger.note(statement, "the files below its path are 404 here, whatever comes after it", "write a route for them");
  tried(rule, siblings, context);
  const odd = context.isMaybeStripped ? [statement] : block.filter(mayHideFiles);
  const inner = block.find(({ name }) => name === "hide");
  const hidden = hiddenPaths({
    root,
    stripped,
    fallback: String(rule.keys.fallback ?? ""),
    patterns: block.filter(({ name }) => name === "hide").flatMap(({ args }) => args),
    ownFiles: context.ownFiles,
  });
  if (hidden !== null && odd.length === 0) return hidden.map((regex) => takenOut(rule, regex, 404));
  if (rule.keys.status === 503) return [];
  closed(rule);
  ledger.note(
    odd[0] ?? inner ?? statement,
    "its rule about files has no counterpart: the route is closed",
    "write a respond route with regex for them: docs/answers.md#responses",
  );
  return [];
}

/** `try_files` beside `file_server`. */
function tried(rule: Rule, siblings: readonly Statement[], { ledger, stripped }: Context): void {
  const { value } = rule.path;
  const tries = siblings.find(({ name }) => name === "try_files");
  if (tries === undefined) return;
  const last = tries.args.at(-1) ?? "";
  const isPlain = tries.args
    .slice(0, -1)
    .every((one) => one === "{path}" || one === "{path}/" || one === "{http.request.uri.path}");
  const from = value === "/" ? "" : value.slice(stripped.length);
  if (isPlain && /^\/[\w./-]+$/.test(last) && (from === "" || last.startsWith(`${from}/`))) {
    Object.assign(rule.keys, { spa: true, fallback: last.slice(from.length + 1) });
    ledger.carry(tries);
    return;
  }
  const isClosed = !isPlainTry(tries);
  if (isClosed) closed(rule);
  ledger.note(
    tries,
    `edge looks up files by their path, then serves one fallback${isClosed ? ": the route is closed" : ""}`,
    "see spa and fallback of static routes",
  );
}

/** A directive that changes what the others do; an empty list if it is none. */
function modifierOf(statement: Statement, context: Context): Modifier[] {
  const { ledger } = context;
  const refused = refusalOf(statement, context);
  if (refused !== null) return refused;
  const isUnknown = isUnknownHandler(statement) && !endsRequest(statement, context);
  const make = isUnknown ? closing : MODIFIERS[statement.name];
  if (make === undefined) return [];
  // What follows the name of a plugin's directive may be no matcher.
  const isOfPlugin = isUnknown && !/^[@*]/.test(statement.args[0] ?? "");
  const found = isOfPlugin ? null : matcherOf(statement, context);
  const args = found === null ? statement.args : statement.args.slice(1);
  const isAccess = isUnknown || ACCESS.has(statement.name);
  const matcher = found?.matcher ?? [EVERYTHING];
  const places = "fault" in matcher ? null : byPaths(matcher);
  const fault = "fault" in matcher ? matcher.fault : BY_REGEX;
  const wider = ("fault" in matcher ? byPaths(matcher.wider) : null) ?? [EVERYTHING];
  const apply = make(statement, args, ledger);
  if (apply === null) return [];
  if (places === null && !isAccess) {
    // A field that the client must not choose is removed for all.
    const strips = statement.name === "request_header" ? taking(statement, args) : null;
    ledger.noteWhole(
      statement,
      strips === null ? fault : `${fault}: edge removes its fields from all requests`,
      "set it at a route with match",
    );
    return strips === null ? [] : [{ statement, conditions: wider, apply: strips }];
  }
  if (places === null)
    ledger.note(
      statement,
      `${fault}: it counts for all requests that it may be for`,
      "set it at the routes that it is for",
    );
  else ledger.carry(...(found?.statements ?? []));
  ledger.carry(statement);
  return excepting({ statement, conditions: places ?? wider, isRefusal: isAccess, apply });
}

/** Directives that ask who a client is. */
const ACCESS: ReadonlySet<string> = new Set(["basic_auth", "basicauth", "forward_auth"]);

/** What an unknown directive that keeps clients out closes. */
function closing(statement: Statement, _args: readonly string[], ledger: Ledger): (rule: Rule) => void {
  ledger.noteWhole(
    statement,
    "the gateway has no such directive, and it may decide about access or responses: its routes are closed",
    "set auth or ip_rules at them in the place of ip_rules",
  );
  return refuseRule;
}

/** Takes the fields of `request_header` off requests. */
function taking(statement: Statement, [field]: readonly string[]): (rule: Rule) => void {
  const edits: Keys = {};
  for (const name of [...(field === undefined ? [] : [field]), ...(statement.block ?? []).map((one) => one.name)])
    takesOff(edits, name);
  return ({ keys }) => {
    if (!hasType(keys, "upstream") || edits.remove === undefined) return;
    const own = sectionAt(keys, "headers", "request");
    own.remove = [...new Set([...((own.remove as string[] | undefined) ?? []), ...(edits.remove as string[])])];
  };
}

/** `abort @others` where @others has exceptions: all clients but some, all requests without a key. */
function refusalOf(statement: Statement, context: Context): Modifier[] | null {
  const { ledger } = context;
  if (BLOCKS.has(statement.name) || !refuses(statement)) return null;
  const found = matcherOf(statement, context);
  if (found === null) return null;
  const { matcher, statements } = found;
  if ("fault" in matcher) return null;
  const conditions = byPaths(matcher);
  if (conditions === null || conditions.every(({ notAny }) => notAny.length === 0)) return null;
  ledger.carry(statement, ...statements);
  const rank = (one: Statement): number => context.order.indexOf(one.name === "handle_path" ? "handle" : one.name);
  EFFORT.take(statement.parent?.block?.length ?? 0);
  if (statement.parent?.block?.some((one) => endsRequest(one, context) && rank(one) < rank(statement)) === true)
    ledger.note(
      statement,
      "Caddy asks another directive before it: here it refuses the requests of that one as well",
      "remove the refusals that you do not want",
    );
  const status = Number(statement.args.find((word) => /^[45]\d\d$/.test(word)) ?? 403);
  return refusal(statement, conditions, { status });
}
