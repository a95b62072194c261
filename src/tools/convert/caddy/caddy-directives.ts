import { noteTwo, refuse, requireAuth } from "../access.ts";
import { beginningOf, type Condition, EVERYTHING } from "../condition.ts";
import { withoutExceptions } from "../exceptions.ts";
import type { Ledger } from "../ledger.ts";
import { applied, excepting, joined, type Modifier, noteUnused, refusal } from "../modifiers.ts";
import {
  closed,
  durationText,
  hasType,
  type Keys,
  type PathRule,
  prefixOf,
  ROOT,
  type Rule,
  ruleOf,
  section,
} from "../plan.ts";
import type { Statement } from "../statement.ts";
import { byPaths, type Matcher, Matchers } from "./caddy-matchers.ts";
import { headerEdit, proxyKeys } from "./caddy-proxy.ts";
import { scriptKeys } from "./caddy-scripts.ts";
import { goDuration, humanSize, templateOf } from "./caddy-values.ts";

/** Where directives count. */
interface Context {
  readonly ledger: Ledger;
  readonly matchers: Matchers;
  /** What the blocks around ask of requests. */
  readonly condition: Condition;
  /** The part of the path that has been taken off, or "". */
  readonly stripped: string;
  /** `root`, with the paths for which it counts. */
  readonly root: string;
  /** What counts for every rule within, from the blocks around. */
  readonly modifiers: readonly Modifier[];
}

/** The rules of a site's directives, in the order in which Caddy asks them. docs/migrate.md#caddy */
export function rulesOf(statements: readonly Statement[], ledger: Ledger): Rule[] {
  const context = {
    ledger,
    matchers: new Matchers(statements, null),
    condition: EVERYTHING,
    stripped: "",
    root: "",
    modifiers: [],
  };
  return convertBlock(statements, context);
}

/** @param isInOrder whether directives run in the order of the file, as in `route` */
function convertBlock(statements: readonly Statement[], outer: Context, isInOrder = false): Rule[] {
  const root = statements.find(({ name, args }) => name === "root" && (args.length === 1 || args[0] === "*"));
  if (root !== undefined) outer.ledger.carry(root);
  const context = {
    ...outer,
    matchers: new Matchers(statements, outer.matchers),
    root: root?.args.at(-1) ?? outer.root,
  };
  for (const one of statements) if (one.name === "import") outer.ledger.carry(one);
  const changes = pathChanges(statements, context);
  const inner = { ...context, ...changes.context };
  const own = statements.flatMap((one) => modifierOf(one, inner));
  const modifiers = [...inner.modifiers, ...own];
  const ordered = isInOrder ? statements.filter(isTerminal) : inCaddyOrder(statements, inner);
  const found = ordered.flatMap((one) => terminalOf(one, { ...inner, modifiers }, statements));
  const rules = withoutExceptions(found, outer.ledger);
  for (const rule of rules)
    if (changes.rewrite !== null && hasType(rule.keys, "upstream")) rule.keys.rewrite ??= changes.rewrite;
  const changed = applied(rules, own);
  noteUnused(own, changed, outer.ledger);
  return changed;
}

/** `uri strip_prefix` and `rewrite` without a matcher. */
function pathChanges(
  statements: readonly Statement[],
  { ledger, condition }: Context,
): { context: Partial<Context>; rewrite: Keys | null } {
  let context: Partial<Context> = {};
  let rewrite: Keys | null = null;
  for (const one of statements) {
    const args = one.args[0] === "*" ? one.args.slice(1) : one.args;
    if (one.name === "uri" && args[0] === "strip_prefix" && args.length === 2) {
      const prefix = `/${args[1]!.replace(/^\/|\/$/g, "")}`;
      if (condition.path === null || condition.path.value === prefix) context = { stripped: prefix };
      else continue;
    } else if (one.name === "uri" && args[0] === "path_regexp" && args.length === 3)
      rewrite = { regex: args[1], to: groups(args[2]!) };
    else if (one.name === "rewrite" && args.length === 1 && /^\/[^?]*$/.test(args[0]!)) {
      const path = templateOf(args[0]!.replace("{uri}", "{path}"));
      if (path === null) continue;
      rewrite = { path };
    } else continue;
    ledger.carry(one);
  }
  return { context, rewrite };
}

/** `$1` and `${1}` as groups of an expression. */
function groups(text: string): string {
  return text.replace(/\$\{?(\d)\}?/g, "{match.$1}");
}

/** Directives in the order in which Caddy runs them: by name, then by how much their path says. */
function inCaddyOrder(statements: readonly Statement[], { matchers }: Context): Statement[] {
  const rank = (one: Statement): number => ORDER.indexOf(one.name === "handle_path" ? "handle" : one.name);
  const length = (one: Statement): number => {
    const matcher = matchers.of(one.args[0])?.matcher;
    if (matcher === undefined) return -1;
    if ("fault" in matcher) return 0;
    const [first] = matcher;
    const path = first?.path ?? null;
    return path === null ? (one.args[0] === "*" ? -1 : 0) : 2 * path.value.length + (path.kind === "exact" ? 1 : 0);
  };
  return statements.filter(isTerminal).sort((a, b) => rank(a) - rank(b) || length(b) - length(a));
}

/** Whether a directive ends requests. */
function isTerminal({ name }: Statement): boolean {
  return ORDER.includes(name) || name === "handle_path";
}

/** Directives that end a request, in Caddy's order. */
const ORDER: readonly string[] = [
  "redir",
  "handle",
  "route",
  "abort",
  "error",
  "respond",
  "metrics",
  "reverse_proxy",
  "php_fastcgi",
  "file_server",
  "acme_server",
];

/** The rules of one directive that ends requests. */
function terminalOf(statement: Statement, context: Context, siblings: readonly Statement[]): Rule[] {
  const { ledger } = context;
  const found = context.matchers.of(statement.args[0]);
  const args = found === null ? statement.args : statement.args.slice(1);
  if (refusalOf(statement, context) !== null) return [];
  const matcher = placesOf(statement, found?.matcher ?? [EVERYTHING]);
  if ("fault" in matcher) return unsaid(statement, matcher.fault, ledger);
  ledger.carry(...(found?.statements ?? []));
  const isBlock = BLOCKS.has(statement.name);
  const rules = matcher.flatMap((own): Rule[] => {
    const condition = joined({ ...context.condition, notAny: [] }, own);
    if (condition === null) return unsaid(statement, "its matcher and those around it cannot be joined", ledger);
    if (condition.regex !== "" && !isBlock && statement.name !== "redir") return unsaid(statement, BY_REGEX, ledger);
    const at = { ...context, condition };
    const excepted = (rule: Rule): Rule =>
      own.notAny.length === 0 ? rule : { ...rule, notAny: [...(rule.notAny ?? []), ...own.notAny] };
    if (isBlock) return blockRules(statement, own, at).map(excepted);
    const rule = placed(statement, condition);
    contentOf(statement, args, { rule, siblings, context: at });
    if (refuses(statement)) noteSpelling(statement, rule.path, found?.statements ?? [], ledger);
    return [excepted(rule)];
  });
  if (isBlock) ledger.carry(statement);
  return rules;
}

const BLOCKS: ReadonlySet<string> = new Set(["handle", "handle_path", "route"]);
const BY_REGEX = "routes go by paths, not by expressions";

/** A matcher by paths, where it has an expression that says such; only redirects have expressions of their own. */
function placesOf(statement: Statement, matcher: Matcher): Matcher {
  if ("fault" in matcher || matcher.every(({ regex }) => regex === "")) return matcher;
  const isRedirect = ({ name, block }: Statement): boolean =>
    name === "redir" || (BLOCKS.has(name) && block?.every(isRedirect) === true);
  return isRedirect(statement) ? matcher : (byPaths(matcher) ?? { fault: BY_REGEX });
}

/** A directive of which the matcher cannot be said. */
function unsaid(statement: Statement, fault: string, ledger: Ledger): Rule[] {
  ledger.noteWhole(
    statement,
    `${fault}: its requests go to the other routes${refuses(statement) ? ", which let them in" : ""}`,
    "write a route with match for them",
  );
  return [];
}

/** Whether a directive does nothing but refuse requests. */
function refuses({ name, args, block }: Statement): boolean {
  if (BLOCKS.has(name)) {
    const ends = (block ?? []).filter(isTerminal);
    return ends.length > 0 && ends.every(refuses);
  }
  return name === "abort" || (/^(respond|error)$/.test(name) && args.some((word) => /^4\d\d$/.test(word)));
}

/** What a refusal for paths does not take here, and takes there. */
function noteSpelling(statement: Statement, path: PathRule, matchers: readonly Statement[], ledger: Ledger): void {
  if (path.value === "/") return;
  const words = [statement, ...matchers].flatMap(({ args }) => args);
  if (words.some((word) => /^\/.*[^/]\*$/.test(word)))
    ledger.note(
      statement,
      "a prefix takes whole segments of a path: what only begins with these letters gets in",
      "write another route for such paths, if there are any",
    );
  ledger.note(
    statement,
    "paths are compared with their letter case: what is spelled otherwise gets in",
    "refuse such spellings at the origin, where it takes them for the same path",
  );
}

function blockRules(statement: Statement, own: Condition, context: Context): Rule[] {
  const stripped =
    statement.name === "handle_path" && own.path !== null && own.path.kind === "prefix"
      ? own.path.value
      : context.stripped;
  const inner = convertBlock(
    statement.block ?? [],
    { ...context, stripped, modifiers: [] },
    statement.name === "route",
  );
  const covers = inner.some((rule) => isSame(rule, context.condition));
  if (covers) return inner;
  // A block without a directive that ends the request answers 200 with nothing.
  const rule = placed(statement, context.condition);
  rule.keys = { type: "respond", status: 200 };
  return [...inner, rule];
}

function isSame(rule: Rule, { path, match, methods }: Condition): boolean {
  const place = path ?? ROOT;
  return (
    rule.path.value === place.value &&
    rule.path.kind === place.kind &&
    Object.keys(rule.match).length === Object.keys(match).length &&
    !rule.isPartial &&
    rule.methods.join() === methods.join()
  );
}

/** A rule that takes what the condition says. */
function placed(statement: Statement, { path, hosts, methods, match, regex }: Condition): Rule {
  const rule = ruleOf(statement, `${statement.file}:${statement.line} ${statement.text}`, {});
  rule.path = path ?? ROOT;
  rule.hosts = [...hosts];
  rule.methods = [...methods];
  rule.match = { ...match };
  if (regex !== "") {
    rule.isPartial = true;
    rule.keys.regex = regex;
    rule.path = beginningOf(regex, rule.path);
  }
  return rule;
}

/** What a directive does with the requests of a rule. */
function contentOf(
  statement: Statement,
  args: readonly string[],
  {
    rule,
    siblings,
    context,
  }: { readonly rule: Rule; readonly siblings: readonly Statement[]; readonly context: Context },
): void {
  const { ledger } = context;
  const { regex } = rule.keys;
  rule.keys = {};
  const kind = statement.name;
  if (kind === "redir") redirect(statement, args, rule, { regex: String(regex ?? ""), ledger });
  else if (kind === "respond" || kind === "error") respond(statement, args, rule, ledger);
  else if (kind === "reverse_proxy") proxied(statement, args, rule, context);
  else if (kind === "php_fastcgi") scripts(statement, args, rule, { siblings, context });
  else if (kind === "file_server") fileServer(statement, rule, { siblings, context });
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
  if (regex !== undefined && !hasType(rule.keys, "redirect"))
    throw new Error(`${statement.file}:${statement.line}: an expression for the path is at no redirect`);
}

function redirect(
  statement: Statement,
  args: readonly string[],
  rule: Rule,
  { regex, ledger }: { readonly regex: string; readonly ledger: Ledger },
): void {
  const [to = "", code = "302"] = args;
  const template = templateOf(to);
  const status = code === "permanent" ? 301 : code === "temporary" ? 302 : Number(code);
  const isClear = template !== null && /^(\/|https?:\/\/([\w.-]|\{host\})|\{(uri|path)\})/.test(template);
  if (!isClear || ![301, 302, 303, 307, 308].includes(status)) {
    closed(rule);
    ledger.note(
      statement,
      "its address or status cannot be said as a redirect: the route is closed",
      "write the address with placeholders: docs/answers.md",
    );
    return;
  }
  rule.keys = { type: "redirect", ...(regex === "" ? {} : { regex }), to: template, status };
  ledger.carry(statement);
}

function respond(statement: Statement, args: readonly string[], rule: Rule, ledger: Ledger): void {
  const block = statement.block ?? [];
  const bodyLine = block.find(({ name }) => name === "body");
  const words = statement.name === "error" ? [...args].filter((one) => /^\d{3}$/.test(one)) : args;
  const isStatus = words.length === 1 && /^\d{3}$/.test(words[0]!);
  const status = Number(isStatus ? words[0] : (words[1] ?? (statement.name === "error" ? 500 : 200)));
  const body = templateOf(isStatus ? (bodyLine?.args[0] ?? "") : (words[0] ?? bodyLine?.args[0] ?? ""));
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
  for (const one of block) if (one.name === "close") ledger.standard(one);
}

function proxied(statement: Statement, args: readonly string[], rule: Rule, context: Context): void {
  const keys = proxyKeys(statement, args, context.ledger);
  if (keys === null) {
    context.ledger.noteWhole(
      statement,
      "its targets have placeholders or are found at run time: the route is closed",
      "write their addresses as targets",
    );
    return closed(rule);
  }
  context.ledger.carry(statement);
  rule.keys = keys;
  forward(rule, context.stripped);
}

function scripts(
  statement: Statement,
  args: readonly string[],
  rule: Rule,
  { siblings, context }: { readonly siblings: readonly Statement[]; readonly context: Context },
): void {
  const { ledger, root, stripped } = context;
  const keys = scriptKeys(statement, args, root, ledger);
  if (keys === null) {
    ledger.noteWhole(
      statement,
      "its targets have placeholders or are found at run time: the route is closed",
      "write their addresses as targets",
    );
    return closed(rule);
  }
  ledger.carry(statement);
  rule.keys = keys;
  const { value, kind } = rule.path;
  if (kind === "prefix" && value !== "/" && stripped !== value) rule.keys.strip_prefix = false;
  if (siblings.some(({ name }) => name === "file_server")) return;
  ledger.note(
    statement,
    "files below the root that are no scripts are sent",
    "keep what clients must not get outside of the root",
  );
}

/** Which part of the path goes on: all of it, but for what has been stripped. */
function forward(rule: Rule, stripped: string): void {
  const { value, kind } = rule.path;
  if (stripped === "") {
    if (kind === "prefix" && value !== "/") rule.keys.strip_prefix = false;
  } else if (kind === "exact") rule.keys.rewrite = { path: value === stripped ? "/" : value.slice(stripped.length) };
  else if (value !== stripped)
    rule.keys.rewrite = { regex: `^${stripped.replace(/[.+]/g, "\\$&")}(/.*)$`, to: "{match.1}" };
}

function fileServer(
  statement: Statement,
  rule: Rule,
  { siblings, context }: { readonly siblings: readonly Statement[]; readonly context: Context },
): void {
  const { ledger, stripped } = context;
  const block = statement.block ?? [];
  const root = block.find(({ name }) => name === "root")?.args[0] ?? context.root;
  const { value, kind } = rule.path;
  const below = kind === "exact" || value === "/" ? "" : value.slice(stripped.length);
  rule.keys = { type: "static", dir: `${root === "" ? "." : root.replace(/(.)\/$/, "$1")}${below}` };
  ledger.carry(statement);
  for (const one of block) {
    if (one.name === "root") ledger.carry(one);
    else if (one.name === "precompressed" || one.name === "disable_canonical_uris") ledger.standard(one);
    else
      ledger.noteWhole(
        one,
        one.name === "browse" ? "folders are not listed" : "files are served by their path, index.html for a folder",
        "see docs/files.md",
      );
  }
  if (statement.args.includes("browse"))
    ledger.note(statement, "folders are not listed", "serve a page made by the application");
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
  } else
    ledger.note(
      tries,
      "files are looked up by their path, then one fallback is served",
      "see spa and fallback of static routes",
    );
}

/** A directive that changes what the others do; an empty list where it is none. */
function modifierOf(statement: Statement, context: Context): Modifier[] {
  const { ledger } = context;
  const refused = refusalOf(statement, context);
  if (refused !== null) return refused;
  const isUnknownGuard = UNKNOWN_GUARD.test(statement.name);
  const make = isUnknownGuard ? closing : MODIFIERS[statement.name];
  if (make === undefined) return [];
  const found = context.matchers.of(statement.args[0]);
  const args = found === null ? statement.args : statement.args.slice(1);
  const isAccess = isUnknownGuard || ACCESS.has(statement.name);
  const matcher = found?.matcher ?? [EVERYTHING];
  const places = "fault" in matcher ? null : byPaths(matcher);
  const fault = "fault" in matcher ? matcher.fault : BY_REGEX;
  if (places === null && !isAccess) {
    ledger.noteWhole(statement, fault, "set it at a route with match");
    return [];
  }
  if (places === null)
    ledger.note(statement, `${fault}: it counts for all requests of the block`, "set it at the routes that it is for");
  else ledger.carry(...(found?.statements ?? []));
  const apply = make(statement, args, ledger);
  if (apply === null) return [];
  ledger.carry(statement);
  return excepting({ statement, conditions: places ?? [EVERYTHING], isRefusal: isAccess, apply });
}

/** Directives that ask who a client is. */
const ACCESS: ReadonlySet<string> = new Set(["basic_auth", "basicauth", "forward_auth"]);
/** Directives of plugins that, by their names, decide who may come in. */
const UNKNOWN_GUARD =
  /^(?!@|.*(basic_?auth|forward_auth)$).*(auth|jwt|oidc|saml|crowdsec|appsec|forbid|firewall|geo_?fence|geoip|ip_?filter|block)/;

/** What an unknown directive that keeps clients out closes. */
function closing(statement: Statement, _args: readonly string[], ledger: Ledger): (rule: Rule) => void {
  ledger.noteWhole(
    statement,
    "the gateway has no such directive, and it may decide who gets in: its routes are closed",
    "set auth or ip_rules at them in the place of ip_rules",
  );
  return refuse;
}

/** `abort @others` where @others has exceptions: all clients but some, all requests without a key. */
function refusalOf(statement: Statement, { matchers, ledger }: Context): Modifier[] | null {
  if (BLOCKS.has(statement.name) || !refuses(statement)) return null;
  const found = matchers.of(statement.args[0]);
  if (found === null) return null;
  const { matcher, statements } = found;
  if ("fault" in matcher) {
    if (matcher.wider === undefined) return null;
    ledger.note(
      statement,
      `${matcher.fault}: the routes that it is for are closed`,
      "write a route with match for what gets in",
    );
    return [{ statement, conditions: byPaths(matcher.wider) ?? [EVERYTHING], isRefusal: true, apply: refuse }];
  }
  const conditions = byPaths(matcher);
  if (conditions === null || conditions.every(({ notAny }) => notAny.length === 0)) return null;
  ledger.carry(statement, ...statements);
  for (const { path } of conditions) if (path !== null) noteSpelling(statement, path, statements, ledger);
  const status = Number(statement.args.find((word) => /^4\d\d$/.test(word)) ?? 403);
  return refusal(statement, conditions, { status });
}

type MakeModifier = (statement: Statement, args: readonly string[], ledger: Ledger) => ((rule: Rule) => void) | null;

const MODIFIERS: Readonly<Record<string, MakeModifier>> = {
  header: (statement, args, ledger) => headers(statement, args, ledger, "response"),
  request_header: (statement, args, ledger) => headers(statement, args, ledger, "request"),
  encode: (statement, args, ledger) => encode(statement, args, ledger),
  basic_auth: (statement, args, ledger) => basicAuth(statement, args, ledger),
  basicauth: (statement, args, ledger) => basicAuth(statement, args, ledger),
  forward_auth: (statement, args, ledger) => forwardAuth(statement, args, ledger),
  request_body: (statement, _args, ledger) => {
    const size = (statement.block ?? []).find(({ name }) => name === "max_size");
    const bytes = humanSize(size?.args[0] ?? "");
    if (size === undefined || bytes === null) return null;
    ledger.carry(size);
    return (rule) => {
      rule.keys.max_body_bytes = bytes;
    };
  },
};

function headers(
  statement: Statement,
  args: readonly string[],
  ledger: Ledger,
  direction: "request" | "response",
): ((rule: Rule) => void) | null {
  const own = args.length > 0 ? [{ name: args[0]!, args: args.slice(1), statement }] : [];
  const list = [
    ...own,
    ...(statement.block ?? [])
      .filter(({ name }) => name !== "defer" && name !== "match")
      .map((one) => ({ name: one.name, args: one.args, statement: one })),
  ];
  const edits: Keys = {};
  for (const one of list) {
    const [value, ...more] = one.args;
    if (more.length === 0 && headerEdit(edits, one.name, value)) ledger.carry(one.statement);
    else
      ledger.note(
        one.statement,
        "fields are set, added or removed, with placeholders",
        "see headers at the route: docs/upstreams.md#header-edits",
      );
  }
  for (const one of statement.block ?? []) if (one.name === "defer") ledger.standard(one);
  if (Object.keys(edits).length === 0) return null;
  return (rule) => {
    const keys = section(rule.keys, "headers", direction);
    const before = JSON.parse(JSON.stringify(keys)) as Keys;
    for (const [kind, value] of Object.entries(edits)) {
      keys[kind] = Array.isArray(value)
        ? [...((before[kind] as string[]) ?? []), ...value]
        : { ...(before[kind] as Keys), ...(value as Keys) };
    }
  };
}

function encode(statement: Statement, args: readonly string[], ledger: Ledger): (rule: Rule) => void {
  const block = statement.block ?? [];
  const words = [...args, ...block.filter(({ name }) => /^(gzip|zstd|br)$/.test(name)).map(({ name }) => name)];
  const encodings = words.filter((word) => /^(gzip|zstd|br)$/.test(word));
  const smallest = Number(block.find(({ name }) => name === "minimum_length")?.args[0] ?? 512);
  for (const one of block) if (/^(gzip|zstd|br|minimum_length)$/.test(one.name)) ledger.carry(one);
  return (rule) => {
    if (!hasType(rule.keys, "redirect"))
      rule.keys.compression = {
        enabled: true,
        encodings: encodings.length > 0 ? encodings : ["zstd", "gzip"],
        min_bytes: smallest,
      };
  };
}

function basicAuth(statement: Statement, args: readonly string[], ledger: Ledger): (rule: Rule) => void {
  const users: Keys = {};
  for (const one of statement.block ?? []) {
    users[one.name] = one.args[0] ?? "";
    ledger.carry(one);
  }
  const realm = args.find((word) => word !== "bcrypt" && word !== "argon2id");
  return (rule) => {
    const auth = { basic: { users, realm: realm ?? "restricted" }, keep_authorization: true };
    if (!requireAuth(rule, auth)) noteTwo(ledger, statement);
  };
}

function forwardAuth(statement: Statement, args: readonly string[], ledger: Ledger): (rule: Rule) => void {
  const block = statement.block ?? [];
  const [address = ""] = args;
  const uri = block.find(({ name }) => name === "uri");
  const copied = block.filter(({ name }) => name === "copy_headers");
  const names = copied
    .flatMap((one) => [...one.args, ...(one.block ?? []).map(({ name }) => name)])
    .filter((name) => !name.includes(">"));
  ledger.carry(uri ?? null, ...copied, ...copied.flatMap((one) => one.block ?? []));
  const base = /^https?:\/\//.test(address) ? address : `http://${address.replace(/^:/, "localhost:")}`;
  const auth = {
    forward: { url: `${base}${uri?.args[0] ?? "/"}`, ...(names.length > 0 ? { response_headers: names } : {}) },
  };
  return (rule) => {
    if (!requireAuth(rule, auth)) noteTwo(ledger, statement);
  };
}

/** For `timeouts` of the global options. */
export function timeText(text: string): string | null {
  const ms = goDuration(text);
  return ms === null || ms === 0 ? null : durationText(ms);
}

export { prefixOf };
