import { allowOnly, isLoopback, noteLocal, refuse, THIS_MACHINE } from "../access.ts";
import { type Condition, EVERYTHING } from "../condition.ts";
import { withoutExceptions } from "../exceptions.ts";
import { applied, type Modifier, noteUnused, partOf, refusal } from "../modifiers.ts";
import { closed, durationText, hasType, type Keys, Plan, ROOT, type Rule, ruleOf, section } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { adviceOf, isStandard } from "./haproxy-advice.ts";
import { backendKeys, Section } from "./haproxy-backends.ts";
import { Acls, type Asked, PASSWORDS } from "./haproxy-conditions.ts";
import { convertTcp } from "./haproxy-streams.ts";
import { formatOf, haproxyTime } from "./haproxy-values.ts";

/** What a section is converted with. */
interface Work {
  readonly plan: Plan;
  readonly backends: ReadonlyMap<string, Section>;
  /** Whether clear text leads to TLS. */
  isRedirected: boolean;
}

/** Makes rules and settings of a configuration of HAProxy. docs/migrate.md#haproxy */
export function convertHaproxy(sections: readonly Statement[]): Plan {
  const plan = new Plan("HAProxy");
  const { ledger } = plan;
  for (const one of sections) ledger.enter(one);
  const proxies: Section[] = [];
  let defaults: Statement | null = null;
  for (const one of sections) {
    if (one.name === "defaults") defaults = one;
    else if (/^(frontend|backend|listen)$/.test(one.name)) proxies.push(new Section(one, defaults));
  }
  const backends = new Map(
    proxies.filter(({ statement }) => statement.name !== "frontend").map((one) => [one.name, one]),
  );
  const entries = proxies.filter((one) => one.statement.name !== "backend" && isHttp(one, plan, backends));
  const work: Work = { plan, backends, isRedirected: false };
  listeners(plan, entries);
  for (const entry of entries) plan.rules.push(...entryRules(entry, work));
  if (work.isRedirected && plan.config.server.tls !== undefined)
    section(plan.config.server, "tls").redirect_http = true;
  serverWide(plan, entries, sections);
  for (const { statement } of ledger.account())
    if (!ledger.isJudged(statement) && isStandard(statement)) ledger.standard(statement);
  ledger.settle(adviceOf);
  return plan;
}

/** Those of `mode tcp` become streams. */
function isHttp(entry: Section, plan: Plan, backends: ReadonlyMap<string, Section>): boolean {
  const { ledger } = plan;
  const mode = entry.find("mode");
  if (mode?.args[0] === "tcp" && entry.statement.all("bind").length > 0) {
    convertTcp(plan, entry, backends);
    return false;
  }
  if (
    mode?.args[0] === "tcp" ||
    (mode === null &&
      entry.statement.all("http-request").length === 0 &&
      entry.statement.all("use_backend").length === 0 &&
      entry.statement.all("default_backend").length === 0 &&
      entry.statement.all("server").length === 0)
  ) {
    ledger.noteWhole(entry.statement, "TCP is not converted", "write a route of the type tcp: docs/streams.md");
    return false;
  }
  return true;
}

/** Ports and certificates. */
function listeners(plan: Plan, entries: readonly Section[]): void {
  const { server } = plan.config;
  const { ledger } = plan;
  const binds = entries.flatMap(({ statement }) => statement.all("bind"));
  const list = binds.map((statement) => {
    const [address = ""] = statement.args;
    const port = Number(/:(\d+)(?:-\d+)?$/.exec(address.split(",")[0]!)?.[1] ?? 0);
    return {
      statement,
      port,
      isTls: statement.args.includes("ssl"),
      host: address
        .replace(/:\d+.*$/, "")
        .replace(/^(ipv[46]@)/, "")
        .replace(/^(\*|\[::\]|::|0\.0\.0\.0)$/, ""),
    };
  });
  const clear = prefer(
    list.filter(({ isTls, port }) => !isTls && port > 0).map(({ port }) => port),
    80,
  );
  const tls = prefer(
    list.filter(({ isTls, port }) => isTls && port > 0).map(({ port }) => port),
    443,
  );
  server.port = clear ?? (tls === null ? 80 : "off");
  const hosts = [...new Set(list.map(({ host }) => host))];
  if (hosts.length === 1 && hosts[0] !== "" && /^[\w.:[\]-]+$/.test(hosts[0]!))
    server.host = hosts[0]!.replace(/^\[|\]$/g, "");
  if (tls !== null) section(server, "tls").port = tls;
  for (const { statement, port, isTls } of list) {
    const { args } = statement;
    if (isTls) certificates(plan, statement);
    if (port === 0 || args[0]!.includes(",") || port !== (isTls ? tls : clear))
      ledger.note(
        statement,
        `there is one port for clear text and one for TLS, here ${clear ?? "none"} and ${tls ?? "none"}`,
        "serve it by these, or start a second gateway",
      );
    else ledger.carry(statement);
    if (args.includes("accept-proxy"))
      ledger.note(statement, "PROXY protocol comes from named senders", "set server.proxy_protocol with trusted");
  }
}

function prefer(ports: readonly number[], usual: number): number | null {
  return ports.includes(usual) ? usual : (ports[0] ?? null);
}

/** `crt FILE`: certificate and key in one file. */
function certificates({ config }: Plan, { args }: Statement): void {
  const tls = section(config.server, "tls");
  args.forEach((word, at) => {
    const file = args[at + 1];
    if (word !== "crt" || file === undefined) return;
    const pair = { cert_file: file, key_file: file };
    if (tls.cert_file === undefined) Object.assign(tls, pair);
    else tls.certificates = [...((tls.certificates as object[] | undefined) ?? []), pair];
  });
  const after = (name: string): string | undefined => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
  const authorities = after("ca-file");
  const verify = after("verify");
  if (authorities !== undefined && verify !== undefined && verify !== "none")
    Object.assign(tls, { client_auth: verify === "required" ? "require" : "request", client_ca_file: authorities });
  const oldest = after("ssl-min-ver");
  if (oldest === "TLSv1.3" || oldest === "TLSv1.2") tls.min_version = oldest.slice(4);
}

/** The rules of a frontend, in the order in which HAProxy asks them. */
function entryRules(entry: Section, work: Work): Rule[] {
  const { ledger } = work.plan;
  const acls = new Acls(entry.defaults, entry.statement);
  ledger.carry(entry.statement);
  const { rules, edits } = requests(entry, acls, work);
  const ways: Rule[] = [];
  for (const one of entry.statement.all("use_backend")) ways.push(...useBackend(one, acls, work));
  const fallback = entry.find("default_backend");
  const name = fallback?.args[0] ?? (entry.statement.name === "listen" ? entry.name : null);
  if (name !== null) {
    ways.push(...backendRules(fallback ?? entry.statement, name, [], work));
    ledger.carry(fallback);
  }
  const all = withoutExceptions([...rules, ...ways], ledger);
  const changed = applied(all, edits);
  noteUnused(edits, changed, ledger);
  compression(entry, changed, work.plan);
  localOnly(entry, changed, work.plan);
  return changed;
}

/** A frontend that only this machine could reach stays so where the gateway listens at other addresses as well. */
function localOnly({ statement }: Section, rules: readonly Rule[], { config, ledger }: Plan): void {
  const binds = statement.all("bind");
  const isLocal = binds.length > 0 && binds.every(({ args }) => isLoopback((args[0] ?? "").replace(/:[\d-]+$/, "")));
  if (!isLocal || config.server.host !== undefined) return;
  for (const rule of rules) allowOnly(rule, THIS_MACHINE);
  for (const one of binds) noteLocal(ledger, one);
}

/** What the `http-request` rules of a section make, and those of its defaults before them. */
function requests(entry: Section, acls: Acls, work: Work): Made {
  const rules: Rule[] = [];
  const edits: Modifier[] = [];
  // A request that one of these takes is asked no further rule of its kind.
  const accepted = { tcp: [] as Condition[], http: [] as Condition[] };
  const shared = (entry.defaults?.block ?? []).filter(({ name }) => /^(http|tcp)-request$/.test(name));
  const all = [...shared, ...(entry.statement.block ?? [])];
  // Connections are judged before requests, wherever the lines are.
  const own = [
    ...all.filter(({ name }) => name === "tcp-request"),
    ...all.filter(({ name }) => name !== "tcp-request"),
  ];
  for (const one of own) {
    if (one.name === "monitor-uri") rules.push(monitor(one, work));
    if (!/^(http-request|redirect|http-response|http-after-response|tcp-request|block)$/.test(one.name)) continue;
    const list = one.name === "tcp-request" ? accepted.tcp : accepted.http;
    const made = request(one, acls, work, { accepted: list, spared: new Set(rules) });
    rules.push(...made.rules);
    edits.push(...made.edits);
  }
  return { rules, edits };
}

function monitor(statement: Statement, { plan }: Work): Rule {
  const rule = ruleOf(statement, titleOf(statement), { type: "respond", status: 200 });
  rule.path = { kind: "exact", value: statement.args[0] ?? "/" };
  plan.ledger.carry(statement);
  return rule;
}

/** Rules of a backend for the conditions of a `use_backend`; none is every request. */
function backendRules(
  origin: Statement,
  name: string,
  conditions: readonly Condition[],
  { backends, plan }: Work,
): Rule[] {
  const { ledger } = plan;
  const backend = backends.get(name);
  const keys = backend === undefined ? null : backendKeys(backend, ledger);
  const places: readonly (Condition | null)[] = conditions.length === 0 ? [null] : conditions;
  return places.flatMap((condition) => {
    const rule = ruleOf(origin, `${titleOf(origin)}${name === "" ? "" : ` (backend ${name})`}`, {});
    if (condition !== null) put(rule, condition);
    if (backend === undefined || keys === null) {
      closed(rule);
      ledger.note(
        origin,
        backend === undefined
          ? `there is no backend ${name}: the route is closed`
          : `the backend ${name} has no servers: the route is closed`,
        "write its targets",
      );
      return [rule];
    }
    ledger.carry(backend.statement);
    rule.scopes.push(backend.statement);
    rule.keys = structuredClone(keys);
    if (rule.path.kind === "prefix" && rule.path.value !== "/") rule.keys.strip_prefix = false;
    const own = backend.statement === origin ? [rule] : backendRequests(backend, rule, plan);
    compression(backend, own, plan);
    return own;
  });
}

/** `http-request` and `http-response` of a backend, for a rule that leads there. @returns the rule with those before it */
function backendRequests(backend: Section, rule: Rule, plan: Plan): Rule[] {
  const acls = new Acls(backend.defaults, backend.statement);
  const work = { plan, backends: new Map(), isRedirected: false };
  const { rules, edits } = requests(backend, acls, work);
  const { path, hosts, methods, match, notAny = [] } = rule;
  const place = { ...EVERYTHING, path, hosts, methods, match };
  const own = applied(rules, edits).flatMap((one) => {
    const part = partOf(one, place);
    return part === null ? [] : [{ ...part, notAny: [...(one.notAny ?? []), ...notAny] }];
  });
  const changed = [...own, ...applied([rule], edits)];
  noteUnused(edits, changed, plan.ledger);
  return changed;
}

function put(rule: Rule, { path, hosts, methods, match, notAny }: Condition): void {
  if (notAny.length > 0) rule.notAny = notAny;
  rule.path = path ?? ROOT;
  rule.hosts = [...hosts];
  rule.methods = [...methods];
  rule.match = { ...match };
}

function useBackend(statement: Statement, acls: Acls, work: Work): Rule[] {
  const [name = "", ...words] = statement.args;
  const { ledger } = work.plan;
  const asked = acls.asked(words);
  if (name.includes("%[") || !("any" in asked)) {
    ledger.note(
      statement,
      "fault" in asked
        ? `${asked.fault}: its requests go to the other routes`
        : "its condition, or the name of its backend, cannot be said as a route",
      "write a route with match for them",
    );
    return [];
  }
  ledger.carry(statement, ...acls.linesOf(words));
  noteSegments(statement, acls.linesOf(words), words, work.plan);
  return backendRules(statement, name, asked.any, work);
}

/** `path_beg /api` takes /apix too. */
function noteSegments(
  statement: Statement,
  lines: readonly Statement[],
  words: readonly string[],
  { ledger }: Plan,
): void {
  const tests = [...lines.map(({ args }) => args), words];
  const isOpen = tests.some(
    (list) => list.some((word) => /^path_beg/.test(word)) && list.some((word) => /^\/.*[^/]$/.test(word)),
  );
  if (isOpen)
    ledger.note(
      statement,
      "a prefix takes whole segments of a path: /api and /api/x, not /apix",
      "write another route for such paths, if there are any",
    );
}

/** What directives make: rules of their own, and changes of the others. */
interface Made {
  readonly rules: Rule[];
  readonly edits: Modifier[];
}

/** What has been read before a rule. */
interface Before {
  /** Requests that no further rule of this kind is asked about; added to by `allow` and `accept`. */
  readonly accepted: Condition[];
  /** Rules that take their requests before this one. */
  readonly spared: ReadonlySet<Rule>;
}

/** What `http-request`, `http-response`, `tcp-request` and `redirect` make: rules of their own, or a change of all rules. */
function request(statement: Statement, acls: Acls, work: Work, before: Before): Made {
  const { ledger } = work.plan;
  const words = wordsOf(statement);
  const at = words.findIndex((word) => word === "if" || word === "unless");
  const action = at < 0 ? words : words.slice(0, at);
  const condition = at < 0 ? [] : words.slice(at);
  const [kind = ""] = action;
  const none: Made = { rules: [], edits: [] };
  if (/^(set|add|del|replace)-(header|path|uri|pathq)$/.test(kind))
    return { rules: [], edits: changes(statement, action, condition, acls, work) };
  if (/^(capture|log|set-log-level|set-nice|no-op|disable-l7-retry|set-priority.*|inspect-delay)$/.test(kind)) {
    ledger.standard(statement);
    return none;
  }
  if (kind === "allow" || kind === "accept") {
    accept(statement, acls, condition, before, ledger);
    return none;
  }
  if (LET_IN.test(kind)) return refusals(statement, { action, condition }, acls, work, before);
  const asked = acls.asked(condition);
  if ("special" in asked && asked.special === "cleartext" && kind === "redirect" && action[1] === "scheme") {
    work.isRedirected = true;
    ledger.carry(statement, ...acls.linesOf(condition));
    return none;
  }
  const rules = answers(statement, action, asked, before.accepted, work);
  if (rules.length > 0) ledger.carry(...acls.linesOf(condition));
  return { rules, edits: [] };
}

/** The action of a directive, and what follows it. */
function wordsOf({ name, args }: Statement): readonly string[] {
  if (name === "redirect") return ["redirect", ...args];
  if (name === "block") return ["deny", ...args];
  return name === "tcp-request" && /^(connection|session|content)$/.test(args[0] ?? "") ? args.slice(1) : args;
}

/** Fields and paths that are changed. */
function changes(
  statement: Statement,
  action: readonly string[],
  condition: readonly string[],
  acls: Acls,
  { plan }: Work,
): Modifier[] {
  const { ledger } = plan;
  const asked = acls.asked(condition);
  const isResponse = statement.name === "http-response" || statement.name === "http-after-response";
  const made = (conditions: readonly Condition[]): Modifier[] => {
    const change = edit(statement, action, isResponse, plan);
    if (change === null) return [];
    // Responses of HAProxy's own pass no http-response.
    const isForwarded = statement.name === "http-response";
    const apply = (rule: Rule): void => {
      if (!isForwarded || hasType(rule.keys, "upstream")) change(rule);
    };
    return [{ statement, conditions, apply }];
  };
  if ("special" in asked && /x-forwarded-(proto|port|ssl)|x-scheme/i.test(action[1] ?? "")) {
    ledger.standard(statement);
    return [];
  }
  if (condition.length === 0 || ("special" in asked && asked.special === "tls")) return made([EVERYTHING]);
  if ("any" in asked && asked.any.every(({ notAny }) => notAny.length === 0)) {
    ledger.carry(...acls.linesOf(condition));
    return made(asked.any);
  }
  ledger.note(
    statement,
    "a change of a header or a path counts for whole routes",
    "set headers or rewrite at a route with match",
  );
  return [];
}

/** `allow` and `accept`: later rules of this kind do not count for these requests. */
function accept(
  statement: Statement,
  acls: Acls,
  condition: readonly string[],
  { accepted }: Before,
  ledger: Plan["ledger"],
): void {
  const asked = acls.asked(condition);
  if ("any" in asked && asked.any.every(({ notAny }) => notAny.length === 0)) {
    accepted.push(...asked.any);
    ledger.carry(statement, ...acls.linesOf(condition));
  } else
    ledger.note(
      statement,
      "its condition has no counterpart in a route: rules after it refuse its requests as well",
      "write a route with match for them",
    );
}

/** `deny`, `reject`, `auth` and the like. */
function refusals(
  statement: Statement,
  { action, condition }: { readonly action: readonly string[]; readonly condition: readonly string[] },
  acls: Acls,
  { plan: { ledger } }: Work,
  { accepted, spared }: Before,
): Made {
  const asked = acls.asked(condition, true);
  const isSecret = action[0] === "auth" || ("special" in asked && asked.special === "not-authenticated");
  if (!("any" in asked) && !isSecret) {
    ledger.note(
      statement,
      `${"fault" in asked ? asked.fault : "its condition has no counterpart in a route"}: what it refuses gets in`,
      "write a route with match, or ip_rules",
    );
    return { rules: [], edits: [] };
  }
  const any = "any" in asked ? asked.any : [EVERYTHING];
  const lines = acls.linesOf(condition);
  const wider = "any" in asked ? asked.wider : undefined;
  if (isSecret || wider === PASSWORDS)
    ledger.note(
      statement,
      `${PASSWORDS}: the routes are closed until there are such`,
      "make a users_file with edge passwd, and set auth.basic in the place of ip_rules",
    );
  else if (wider !== undefined)
    ledger.note(
      statement,
      `${wider}: the routes that it is for are closed`,
      "write a route with match for what gets in",
    );
  else ledger.carry(statement);
  ledger.carry(...lines);
  noteSpelling(statement, lines, condition, ledger);
  const conditions = any.map((one) => ({ ...one, notAny: [...one.notAny, ...accepted] }));
  if (isSecret || wider !== undefined)
    return { rules: [], edits: [{ statement, conditions: any, spared, isRefusal: true, apply: refuse }] };
  const { status } = actionKeys(action) as { status: number };
  if (conditions.some(({ notAny }) => notAny.length > 0))
    return { rules: [], edits: refusal(statement, conditions, { status, spared }) };
  const rules = conditions.map((one) => {
    const rule = ruleOf(statement, titleOf(statement), { type: "respond", status });
    put(rule, one);
    return rule;
  });
  return { rules, edits: [] };
}

/** What a refusal for paths does not take here, and takes there. */
function noteSpelling(
  statement: Statement,
  lines: readonly Statement[],
  words: readonly string[],
  ledger: Plan["ledger"],
): void {
  const tests = [...lines.map(({ args }) => args), words];
  const paths = tests.filter((list) => list.some((word) => /^(path|url)(_\w+)?$/.test(word)));
  if (
    paths.some(
      (list) =>
        list.some((word) => /^\/.*[^/]$/.test(word)) && list.some((word) => /_(beg|reg)$/.test(word) || word === "beg"),
    )
  )
    ledger.note(
      statement,
      "a prefix takes whole segments of a path: what only begins with these letters gets in",
      "write another route for such paths, if there are any",
    );
  if (paths.some((list) => list.includes("-i")))
    ledger.note(
      statement,
      "paths are compared with their letter case: what is spelled otherwise gets in",
      "refuse such spellings at the origin, where it takes them for the same path",
    );
}

/** `redirect` and `return` as rules. */
function answers(
  statement: Statement,
  action: readonly string[],
  asked: Asked,
  accepted: readonly Condition[],
  { plan }: Work,
): Rule[] {
  const { ledger } = plan;
  if (!("any" in asked)) {
    ledger.note(
      statement,
      "fault" in asked ? asked.fault : "its condition has no counterpart in a route",
      "write a route with match, or ip_rules",
    );
    return [];
  }
  const keys = actionKeys(action);
  if (keys === null) {
    ledger.note(statement, `${action.slice(0, 2).join(" ")} has no counterpart here`, adviceFor(action[0] ?? ""));
    return [];
  }
  ledger.carry(statement);
  return asked.any.map((condition) => {
    const rule = ruleOf(statement, titleOf(statement), { ...keys });
    put(rule, { ...condition, notAny: [...condition.notAny, ...accepted] });
    return rule;
  });
}

/** What keeps requests out. */
const LET_IN = /^(deny|reject|tarpit|silent-drop|auth)$/;

function adviceFor(action: string): string {
  if (/^(track-sc|sc-)/.test(action)) return "see rate_limit: docs/guards.md";
  if (/lua|spoe/.test(action)) return "move it to the application, or to auth.forward";
  return "see routes with match, headers and rewrite: docs/routing.md";
}

function actionKeys(action: readonly string[]): Keys | null {
  const after = (name: string): string | undefined =>
    action.includes(name) ? action[action.indexOf(name) + 1] : undefined;
  const [kind] = action;
  if (kind === "deny" || kind === "reject" || kind === "tarpit" || kind === "silent-drop")
    return { type: "respond", status: Number(after("deny_status") ?? after("status") ?? 403) };
  if (kind === "return") {
    const body = formatOf(after("string") ?? after("lf-string") ?? "");
    if (body === null || action.includes("file") || action.includes("errorfile")) return null;
    const type = after("content-type");
    return {
      type: "respond",
      status: Number(after("status") ?? 200),
      ...(body === "" ? {} : { body, content_type: type ?? "text/plain" }),
    };
  }
  if (kind !== "redirect") return null;
  const status = Number(after("code") ?? 302);
  const location = after("location");
  const prefix = after("prefix");
  const to = formatOf(location ?? (prefix === undefined ? "" : `${prefix.replace(/\/$/, "")}%[pathq]`));
  const isClear = to !== null && /^(\/|https?:\/\/[\w.-]|\{(uri|path)\})/.test(to);
  return isClear ? { type: "redirect", to, status } : null;
}

/** Changes of headers and paths. */
function edit(
  statement: Statement,
  action: readonly string[],
  isResponse: boolean,
  { ledger }: Plan,
): ((rule: Rule) => void) | null {
  const [kind = "", name = "", value = ""] = action;
  const isOwn =
    !isResponse && /^(x-forwarded-(for|proto|host|port)|x-real-ip|x-request-id|forwarded|via|connection)$/i.test(name);
  if (isOwn && kind.endsWith("header")) {
    ledger.standard(statement);
    return null;
  }
  const format = formatOf(value);
  const carried = (change: (rule: Rule) => void): ((rule: Rule) => void) => {
    ledger.carry(statement);
    return change;
  };
  const direction = isResponse ? "response" : "request";
  if (kind === "del-header" && action.length === 2)
    return carried(({ keys }) => {
      const edits = section(keys, "headers", direction);
      edits.remove = [...((edits.remove as string[] | undefined) ?? []), name];
    });
  if (kind === "set-header" && format !== null)
    return carried(({ keys }) => {
      section(keys, "headers", direction, "set")[name] = format;
    });
  if (kind === "add-header" && format !== null)
    return carried(({ keys }) => {
      section(keys, "headers", direction, "add")[name] = format;
    });
  const rewrite = isResponse ? null : rewriteOf(kind, name, value);
  if (rewrite !== null)
    return carried(({ keys }) => {
      if (hasType(keys, "upstream")) keys.rewrite = rewrite;
    });
  ledger.note(
    statement,
    "this change of a header or a path has no counterpart",
    "see headers and rewrite at the route: docs/upstreams.md#header-edits",
  );
  return null;
}

function rewriteOf(kind: string, first: string, second: string): Keys | null {
  if (kind === "set-path") {
    const path = formatOf(first);
    return path?.startsWith("/") === true || path === "{path}" ? { path } : null;
  }
  if (kind !== "replace-path" || second === "") return null;
  const to = second.replace(/\\(\d)/g, "{match.$1}");
  return to.startsWith("/") || to.startsWith("{match.") ? { regex: first.startsWith("^") ? first : first, to } : null;
}

function compression(entry: Section, rules: readonly Rule[], { ledger }: Plan): void {
  const algorithms = entry.find("compression", "algo") ?? entry.find("compression", "algo-res");
  if (algorithms === null) return;
  const types = entry.find("compression", "type") ?? entry.find("compression", "type-res");
  const encodings = algorithms.args.includes("gzip") ? ["gzip"] : [];
  ledger.carry(algorithms, types);
  if (encodings.length === 0) return;
  for (const { keys } of rules)
    if (!hasType(keys, "redirect"))
      keys.compression ??= {
        enabled: true,
        encodings,
        ...(types === null ? {} : { types: types.args.slice(1).map((one) => one.replace(/\/$/, "/*")) }),
      };
}

/** What counts for the whole gateway here. */
function serverWide(plan: Plan, entries: readonly Section[], sections: readonly Statement[]): void {
  const { server } = plan.config;
  for (const [name, keys] of CLIENT_TIMES) {
    const found = entries.map((entry) => entry.find("timeout", name)).find((one) => one !== null);
    const ms = haproxyTime(found?.args[1] ?? "");
    if (found === undefined || found === null || ms === null || ms === 0) continue;
    for (const key of keys) server[key] = durationText(ms);
    plan.ledger.carry(found);
  }
  const global = sections.find(({ name }) => name === "global");
  const connections = global?.all("maxconn")[0];
  if (connections !== undefined && Number(connections.args[0]) > 0) {
    server.max_connections = Number(connections.args[0]);
    plan.ledger.carry(connections);
  }
  const threads = global?.all("nbthread")[0];
  if (threads !== undefined && Number(threads.args[0]) > 0) {
    server.workers = Number(threads.args[0]);
    plan.ledger.carry(threads);
  }
  if (entries.some((entry) => entry.statement.all("bind").some(({ args }) => args.join(" ").includes("quic"))))
    server.http3 = { enabled: true };
  server.max_body_bytes = "unlimited";
}

const CLIENT_TIMES: readonly (readonly [string, readonly string[]])[] = [
  ["client", ["read_timeout", "write_timeout"]],
  ["http-request", ["header_timeout"]],
  ["http-keep-alive", ["idle_timeout"]],
];

function titleOf(statement: Statement): string {
  return `${statement.file}:${statement.line} ${statement.text}`;
}
