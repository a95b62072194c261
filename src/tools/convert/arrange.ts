import { trimmedEnd } from "../../core/trimming.ts";
import { holdsMatch } from "./condition.ts";
import { EFFORT } from "./effort.ts";
import { escapedRegex } from "./expression.ts";
import type { Keys } from "./keys.ts";
import { type PathRule, ROOT } from "./path-rule.ts";
import { hasType, isPartial, type Rule, responseBy } from "./plan.ts";

/** A rule at a place of its own: a route, but for its hosts being merged with others. */
interface Placed {
  readonly rule: Rule;
  readonly index: number;
  readonly host: HostClass;
  readonly path: PathRule;
  /** The text that all paths begin with that its `regex` takes; "" if there is none, or it shows none. */
  readonly beginning: string;
}

/**
 * Makes of rules of which the first one that fits takes a request routes of which the most specific path does, then the most
 * specific host (docs/routing.md#which-route-wins). If the two orders disagree, the rules are repeated at the narrower host and path, in
 * their order, so that the same rule takes the same request.
 * @returns the routes in the order of the file, with keys of the place in front
 */
export function arrange(rules: readonly Rule[]): { readonly rule: Rule; readonly keys: Keys }[] {
  const cells: Cells = { all: new Map(), own: new Map(), paths: new Map() };
  const classesAt = hostClasses(rules);
  rules.forEach((rule, index) => {
    // No request has a longer path, or a longer host.
    if (rule.path.value.length > MAX_PATH) return;
    const path = keyOf(rule.path);
    const beginning = typeof rule.keys.regex === "string" ? literalBeginning(rule.keys.regex) : "";
    for (const host of classesAt(rule)) {
      EFFORT.take(STEPS_A_CELL);
      const one = { rule, index, host, path: rule.path, beginning };
      append(cells.all, `${host.id} ${path}`, one);
      append(cells.own, `${host.id} ${path}`, one);
      const paths = cells.paths.get(host);
      if (paths === undefined) cells.paths.set(host, new Map([[path, rule.path]]));
      else paths.set(path, rule.path);
    }
  });
  const hosts = [...cells.paths.keys()].sort((a, b) => a.wider.length - b.wider.length || a.rank - b.rank);
  for (const host of hosts) for (const path of pathsAt(host, cells.paths)) fill({ host, path }, cells);
  const placed = [...cells.all.values()].flatMap(untilCertain);
  return merged(withRefusals(placed));
}

/**
 * Files take GET and HEAD alone, and a request of another method goes on to the next route at the same path, of a wider host as well. If
 * such a route could take it, the files say that they are for these two, and a refusal of every other method stands behind them, as the
 * other gateways refuse it themselves. Methods have no list: PURGE and PROPFIND are refused, too.
 */
function withRefusals(placed: readonly Placed[]): Placed[] {
  // The last one at each host and path.
  const others = new Map<string, number>();
  for (const { rule, host, path, index } of placed) {
    const key = `${host.id} ${keyOf(path)}`;
    if (!hasType(rule.keys, "static")) others.set(key, Math.max(index, others.get(key) ?? 0));
  }
  return placed.flatMap((one) => {
    const { rule, host, path, index } = one;
    if (!hasType(rule.keys, "static") || rule.methods.length > 0 || rule.match.method !== undefined) return [one];
    const isNext = (at: HostClass): boolean => {
      const last = others.get(`${at.id} prefix ${path.value}`);
      return last !== undefined && (at !== host || last > index);
    };
    EFFORT.take(1 + host.wider.length);
    if (![host, ...host.wider].some(isNext)) return [one];
    const refusal = answeredBy(rule, { type: "respond", status: 405 });
    // Files of one path are a route of a prefix.
    if (path.kind === "exact") refusal.keys.regex = `^${escapedRegex(path.value)}$`;
    const files = { ...rule, match: { ...rule.match, method: FILE_METHODS } };
    return [
      { ...one, rule: files },
      { ...one, rule: refusal, index: index + 0.5, path: { kind: "prefix", value: path.value } },
    ];
  });
}

/** Hosts that the same rules name, and that the same wider patterns hold: what happens to one of them happens to all. */
interface HostClass {
  readonly id: number;
  /** With their places among all hosts of the file. */
  readonly hosts: readonly { readonly name: string; readonly at: number }[];
  /** Classes of the patterns that hold them, from narrow to wide. */
  readonly wider: readonly HostClass[];
  readonly rank: number;
}

/** Puts the hosts of all rules into classes. @returns the classes of the hosts of a rule, in their order */
function hostClasses(rules: readonly Rule[]): (rule: Rule) => readonly HostClass[] {
  const lists = new Map<readonly string[], readonly string[]>();
  const namedBy = new Map<string, number[]>();
  for (const { hosts } of rules) {
    if (lists.has(hosts)) continue;
    // No request has a longer host.
    const list = hosts.length === 0 ? [ANY] : [...new Set(hosts)].filter(({ length }) => length <= MAX_HOST);
    EFFORT.take(list.length);
    for (const host of list) {
      const by = namedBy.get(host);
      // All lists without a host are one.
      if (by === undefined) namedBy.set(host, [lists.size]);
      else if (host !== ANY) by.push(lists.size);
    }
    lists.set(hosts, list);
  }
  const places = new Map([...namedBy.keys()].map((name, at) => [name, at]));
  const known = new Map<string, HostClass>();
  const byKey = new Map<string, HostClass & { readonly hosts: HostClass["hosts"][number][] }>();
  // Wider ones come first.
  for (const host of [...places.keys()].sort((a, b) => hostRank(a) - hostRank(b))) {
    const wider = widerHosts(host)
      .slice(1)
      .flatMap((one) => known.get(one) ?? []);
    const key = `${host === ANY} ${namedBy.get(host)!.join()} ${wider.map(({ id }) => id).join()}`;
    const own = byKey.get(key) ?? { id: byKey.size, hosts: [], wider, rank: hostRank(host) };
    own.hosts.push({ name: host, at: places.get(host)! });
    byKey.set(key, own);
    known.set(host, own);
  }
  const classes = new Map<readonly string[], readonly HostClass[]>();
  for (const [hosts, list] of lists) classes.set(hosts, [...new Set(list.map((host) => known.get(host)!))]);
  return ({ hosts }) => classes.get(hosts)!;
}

/** What rules there are, by where they count. */
interface Cells {
  /** By host and path, those that `fill` has put there in the place of the host's and path's own. */
  readonly all: Map<string, readonly Placed[]>;
  /** By host and path, in the order of the rules. */
  readonly own: Map<string, readonly Placed[]>;
  /** Paths by host, and by their keys. */
  readonly paths: Map<HostClass, Map<string, PathRule>>;
}

/** Paths at which the rules of a host, or of its patterns, begin; from wide to narrow. */
function pathsAt(host: HostClass, paths: Cells["paths"]): PathRule[] {
  const found = new Map([host, ...host.wider].flatMap((wide) => [...(paths.get(wide) ?? [])]));
  return [...found.values()].sort((a, b) => pathRank(a) - pathRank(b));
}

function append(map: Map<string, readonly Placed[]>, key: string, one: Placed): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [one]);
  else (list as Placed[]).push(one);
}

/** Gives a cell the rules that count in it, where those of wider cells and its own would not do so in the right order. */
function fill(at: { readonly host: HostClass; readonly path: PathRule }, { all, own }: Cells): void {
  const hosts = [at.host, ...at.host.wider];
  const places = widerPaths(at.path);
  EFFORT.take(STEPS_A_CELL + places.length * (hosts.length + at.path.value.length / CHARS_A_STEP));
  const isFit = (one: Placed): boolean => !missesPath(one, at.path);
  const fitting = places.flatMap((path) => hosts.flatMap((host) => own.get(`${host.id} ${path}`) ?? [])).filter(isFit);
  EFFORT.take(fitting.length);
  // What comes after one that takes everything is not asked. A rule with several hosts that fit counts once.
  const last = fitting.reduce(
    (least, { rule, index }) => (index < least && isCertain(rule) ? index : least),
    Number.POSITIVE_INFINITY,
  );
  const asked = fitting.filter(({ index }) => index <= last);
  const unique = [...new Map(asked.map((one) => [one.index, { ...one, ...at }])).values()];
  const wanted = untilCertain(unique.sort((a, b) => a.index - b.index));
  const found: Placed[] = [];
  search: for (const path of places) {
    for (const host of hosts) {
      const cell = all.get(`${host.id} ${path}`);
      if (cell === undefined) continue;
      EFFORT.take(cell.length);
      found.push(...cell.filter(isFit));
      // A path whose routes lack the method is 405: the request goes to no wider path.
      if (cell.some(({ rule }) => isCertain(rule) || rule.methods.length > 0)) break search;
    }
  }
  const chosen = untilCertain(found);
  const isSame = chosen.length === wanted.length && chosen.every(({ index }, i) => index === wanted[i]!.index);
  if (!isSame) all.set(`${at.host.id} ${keyOf(at.path)}`, wanted);
}

/** Whether the `regex` of a rule fits no path of a cell, as far as the text shows it with which it begins. */
function missesPath({ beginning }: Placed, path: PathRule): boolean {
  const value = path.value.toLowerCase();
  return beginning !== "" && value !== ROOT.value && !beginning.startsWith(value) && !value.startsWith(beginning);
}

/** The text, in lower case, that everything begins with that an expression takes; "" if it shows none. */
function literalBeginning(expression: string): string {
  const regex = expression.startsWith("(?i)") ? expression.slice(4) : expression;
  if (!regex.startsWith("^") || hasAlternatives(regex)) return "";
  let text = "";
  for (let at = 1; at < regex.length; at++) {
    const isEscaped = regex[at] === "\\" && /[^\w\s]/.test(regex[at + 1] ?? "a");
    const char = isEscaped ? regex[at + 1]! : regex[at]!;
    if (!isEscaped && !/[\w/\-~%@!,:=&]/.test(char)) break;
    if (isEscaped) at++;
    // What may be left out is none of it.
    if ("?*{".includes(regex[at + 1] ?? "^")) break;
    text += char.toLowerCase();
  }
  return text;
}

/** Whether an expression has alternatives outside of all groups, or may have. */
export function hasAlternatives(regex: string): boolean {
  let depth = 0;
  for (let at = 0; at < regex.length; at++) {
    const char = regex[at];
    if (char === "\\") at++;
    // What is in a class is not told apart from the rest here.
    else if (char === "[") return regex.includes("|");
    else if (char === "(") depth++;
    else if (char === ")") depth--;
    else if (char === "|" && depth === 0) return true;
  }
  return false;
}

/** A host, and all patterns that hold it, from narrow to wide. */
export function widerHosts(host: string): string[] {
  if (host === ANY) return [ANY];
  const labels = host.replace(/^\*\./, "").split(".");
  return [host, ...labels.slice(1).map((_, i) => `*.${labels.slice(i + 1).join(".")}`), ANY];
}

/** The keys of a path, and of all that hold it, from narrow to wide. */
function widerPaths({ kind, value }: PathRule): string[] {
  const segments = trimmedEnd(value, "/").split("/");
  const prefixes = segments.map((_, i) => `prefix ${segments.slice(0, segments.length - i).join("/") || "/"}`);
  return kind === "exact" ? [`exact ${value}`, ...prefixes] : prefixes;
}

/** The rules up to the one that lets nothing through, without those of which another one takes all requests. */
function untilCertain(list: readonly Placed[]): Placed[] {
  const end = list.findIndex(({ rule }) => isCertain(rule));
  const reached = end < 0 ? list : list.slice(0, end + 1);
  EFFORT.take(reached.length > MAX_COMPARED ? 0 : (reached.length * reached.length) / 2);
  return reached.length > MAX_COMPARED
    ? [...reached]
    : reached.filter(({ rule }, at) => !reached.slice(0, at).some((before) => takesAll(before.rule, rule)));
}

/** Whether a rule takes all that a later one of the same place would. */
function takesAll(before: Rule, { match, methods }: Rule): boolean {
  if (isPartial(before) || !holdsMatch(before.match, match)) return false;
  return before.methods.length === 0 || (methods.length > 0 && methods.every((one) => before.methods.includes(one)));
}

function isCertain(rule: Rule): boolean {
  return Object.keys(rule.match).length === 0 && rule.methods.length === 0 && !isPartial(rule);
}

/** One route of what differs in its host alone. */
function merged(placed: readonly Placed[]): { rule: Rule; keys: Keys }[] {
  const routes = new Map<
    string,
    { rule: Rule; index: number; path: PathRule; hosts: Set<HostClass>; taken: string[] }
  >();
  const cells = new Map<string, string[]>();
  const matched = new Map<string, number>();
  for (const one of placed)
    if (Object.keys(one.rule.match).length > 0 || isPartial(one.rule))
      matched.set(cellOf(one), Math.max(one.index, matched.get(cellOf(one)) ?? 0));
  for (const before of placed) {
    EFFORT.take(STEPS_A_CELL);
    const cell = cellOf(before);
    // Routes with match or regex are asked before all others: one for some methods that comes first here asks for all clients.
    const isBefore = before.rule.methods.length > 0 && before.index < (matched.get(cell) ?? -1);
    const isBare = Object.keys(before.rule.match).length === 0;
    const one = isBefore && isBare ? { ...before, rule: { ...before.rule, match: { share: "100%" } } } : before;
    const used = cells.get(cell) ?? [];
    EFFORT.take(used.length);
    const isPlain = Object.keys(one.rule.match).length === 0 && !isPartial(one.rule);
    const taken = isPlain && used.length > 0 ? used : [];
    if (isPlain && one.rule.methods.length > 0) cells.set(cell, [...used, ...one.rule.methods]);
    const key = `${one.index} ${keyOf(one.path)} ${taken.join()} ${isAny(one.host)} ${isBefore}`;
    const route = routes.get(key) ?? { ...one, hosts: new Set(), taken };
    route.hosts.add(one.host);
    routes.set(key, route);
  }
  const files = new Set(placed.filter(({ rule }) => hasType(rule.keys, "static")).map(cellOf));
  return [...routes.values()]
    .sort((a, b) => a.index - b.index || pathRank(a.path) - pathRank(b.path))
    .flatMap(({ rule, path, hosts, taken }) => {
      if (rule.methods.length > 0 && rule.methods.every((method) => taken.includes(method))) return [];
      const isBeside = path.kind === "exact" && [...hosts].some((host) => files.has(cellOf({ host, path })));
      const plain = keysOf(rule, path, hostsOf(hosts), taken);
      const keys = isBeside ? besideFile(plain, path) : plain;
      const own = { rule, keys };
      return isFileAlone(keys, path) ? [{ rule, keys: belowFile(keys, path) }, own] : [own];
    });
}

/** Files of one path are a route of a prefix: beside it, a route for the path that other methods have would answer GET with 405. */
function besideFile(keys: Keys, { value }: PathRule): Keys {
  const { type, path: _path, methods, ...rest } = keys;
  const isForOthers = Array.isArray(methods) && !methods.some((one) => takes(["GET"], String(one)));
  if (!isForOthers || keys.regex !== undefined || hasType(keys, "static")) return keys;
  return { type, prefix: value, ...rest, methods, regex: `^${escapedRegex(value)}$` };
}

/** Whether a route for one path would have all files below it as well: it is a folder, as far as its name tells. */
function isFileAlone(keys: Keys, { kind, value }: PathRule): boolean {
  return kind === "exact" && hasType(keys, "static") && !value.endsWith("/") && !FILE_NAME.test(value);
}

/** A name with an ending. A dot at its beginning, or one letter behind its dot, is often a folder's: `.git`, `conf.d`. */
const FILE_NAME = /\/[^/.][^/]*\.[a-z]{2,5}$/i;

/** What refuses the paths below that of a route of files, which other routes had, or none. */
function belowFile({ prefix, host, match }: Keys, { value }: PathRule): Keys {
  return {
    type: "respond",
    prefix,
    ...(host === undefined ? {} : { host }),
    ...(match === undefined ? {} : { match }),
    regex: `^${escapedRegex(value)}/`,
    status: 404,
  };
}

function answeredBy(rule: Rule, keys: Keys): Rule {
  const own = { ...rule };
  responseBy(own, keys);
  return own;
}

/** HEAD is allowed wherever GET is. */
function takes(methods: readonly string[], one: string): boolean {
  return methods.includes(one) || (one === "HEAD" && methods.includes("GET"));
}

function cellOf({ host, path }: Pick<Placed, "host" | "path">): string {
  return `${host.id} ${keyOf(path)}`;
}

function keysOf(rule: Rule, path: PathRule, hosts: readonly string[], taken: readonly string[]): Keys {
  const { type, ...rest } = rule.keys;
  // Of two routes of one place, the first one has the methods that both name.
  const own = rule.methods.filter((one) => !taken.includes(one));
  const methods = own.length > 0 ? own : taken.length > 0 ? METHODS.filter((one) => !takes(taken, one)) : [];
  const isFile = hasType(rule.keys, "static");
  // Files are for GET and HEAD: a rule of other methods would send them nowhere else.
  if (isFile && methods.length > 0 && !methods.includes("GET"))
    return keysOf(answeredBy(rule, { type: "respond", status: 405 }), path, hosts, taken);
  const isPage = isFile && path.kind === "exact" && path.value.endsWith("/");
  // A route has one expression.
  if (isPage && rest.regex !== undefined)
    return keysOf(answeredBy(rule, { type: "respond", status: 503 }), path, hosts, taken);
  const named = hosts.filter((host) => host !== ANY);
  return {
    type,
    [path.kind === "exact" && !isFile ? "path" : "prefix"]: path.value,
    ...(named.length === 0 ? {} : { host: named.length === 1 ? named[0] : named }),
    ...(methods.length === 0 || isFile ? {} : { methods }),
    ...(Object.keys(rule.match).length === 0 ? {} : { match: rule.match }),
    ...(keyOf(path) === keyOf(rule.path) && !(isFile && path.kind === "exact") ? rest : moved(rule, path, rest)),
    // The page of a folder, and no file of it.
    ...(isPage ? { regex: `^${escapedRegex(path.value)}$` } : {}),
  };
}

/** The keys of a route that is at another path than its rule: what goes upstream, or is looked up, stays the same. */
export function moved(rule: Rule, path: PathRule, keys: Keys): Keys {
  const isForwarded = hasType(rule.keys, "upstream");
  const isStripped = keys.strip_prefix !== false && rule.path.kind === "prefix";
  // A path that the expression does not fit goes on as it came, whatever the new place would take off.
  if (isForwarded && isStripped && rule.path.value === "/" && hasExpression(keys.rewrite))
    return { ...keys, strip_prefix: false };
  if ("rewrite" in keys || (!isForwarded && !hasType(rule.keys, "static")) || (isForwarded && !isStripped)) return keys;
  const own = rule.path.kind === "exact" ? "" : rule.path.value.replace(/\/$/, "");
  if (own === "") return isForwarded ? { ...keys, strip_prefix: false } : { ...keys, rewrite: { path: "{path}" } };
  if (path.kind === "exact" && path.value === own) return { ...keys, rewrite: { path: "/" } };
  return { ...keys, rewrite: { regex: `^${escapedRegex(own)}/(.*)$`, to: "/{match.1}" } };
}

/** Whether a change of the path is for some paths alone. */
function hasExpression(rewrite: unknown): boolean {
  return typeof rewrite === "object" && rewrite !== null && "regex" in rewrite;
}

function keyOf({ kind, value }: PathRule): string {
  return `${kind} ${value}`;
}

function isAny({ hosts: [host] }: HostClass): boolean {
  return host!.name === ANY;
}

/** The hosts of classes, in the order of the file. */
function hostsOf(classes: ReadonlySet<HostClass>): string[] {
  const hosts = [...classes].flatMap((one) => one.hosts);
  EFFORT.take(hosts.length);
  return hosts.sort((a, b) => a.at - b.at).map(({ name }) => name);
}

/** From wide to narrow. */
function pathRank({ kind, value }: PathRule): number {
  return kind === "exact" ? Number.MAX_SAFE_INTEGER : value === ROOT.value ? 0 : value.length;
}

function hostRank(host: string): number {
  if (host === ANY) return 0;
  return host.startsWith("*.") ? host.length : 1_000_000 + host.length;
}

/** Whether every host of the narrow pattern is one of the wide one. */
export function holdsHost(wide: string, narrow: string): boolean {
  EFFORT.take(1);
  if (wide === ANY || wide === narrow) return true;
  if (!wide.startsWith("*.")) return false;
  return narrow.replace(/^\*/, "").endsWith(wide.slice(1)) && narrow.replace(/^\*\./, "") !== wide.slice(2);
}

/** Whether every path of the narrow rule is one of the wide one. */
export function holdsPath(wide: PathRule, narrow: PathRule): boolean {
  EFFORT.take(1);
  if (wide.reading?.isAnyCase === true) {
    const { reading: _reading, ...plain } = wide;
    return holdsPath(
      { ...plain, value: plain.value.toLowerCase() },
      { kind: narrow.kind, value: narrow.value.toLowerCase() },
    );
  }
  if (wide.kind === "exact") return narrow.kind === "exact" && wide.value === narrow.value;
  return wide.value === "/" || narrow.value === wide.value || narrow.value.startsWith(`${wide.value}/`);
}

const ANY = "";
const FILE_METHODS: readonly string[] = ["GET", "HEAD"];
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const MAX_PATH = 8192;
const MAX_HOST = 255;
/** Rules of one place of which each is compared with those before it. */
const MAX_COMPARED = 300;
/** What a rule at a place of its own takes. */
const STEPS_A_CELL = 20;
/** Characters that are compared in a step. */
const CHARS_A_STEP = 64;

/** Sites with full names first, then patterns, then every host; within one of these the order stays. */
export function siteRank([host]: readonly string[]): number {
  return host === undefined ? 0 : host.startsWith("*.") ? host.length : 1_000_000;
}
