import { type Condition, EVERYTHING } from "../condition.ts";
import { applied, type Modifier } from "../modifiers.ts";
import { closed, durationText, hasType, type Keys, Plan, ROOT, type Rule, ruleOf, section } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { backendKeys, Section } from "./haproxy-backends.ts";
import { Acls, type Asked } from "./haproxy-conditions.ts";
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
  const entries = proxies.filter((one) => one.statement.name !== "backend" && isHttp(one, plan));
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

function isHttp(entry: Section, { ledger }: Plan): boolean {
  const mode = entry.find("mode");
  if (
    mode?.args[0] === "tcp" ||
    (mode === null &&
      entry.statement.all("http-request").length === 0 &&
      entry.statement.all("use_backend").length === 0 &&
      entry.statement.all("default_backend").length === 0 &&
      entry.statement.all("server").length === 0)
  ) {
    ledger.noteWhole(entry.statement, "only HTTP is served, and this is TCP", "keep it with HAProxy");
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
  const acls = new Acls(entry.statement);
  ledger.carry(entry.statement);
  const rules: Rule[] = [];
  const edits: Modifier[] = [];
  for (const one of entry.statement.block ?? []) {
    if (one.name === "monitor-uri") rules.push(monitor(one, work));
    else if (
      one.name === "http-request" ||
      one.name === "redirect" ||
      one.name === "http-response" ||
      one.name === "http-after-response"
    ) {
      const made = request(one, acls, work);
      rules.push(...made.rules);
      const { edit: change } = made;
      if (change === null) continue;
      // Responses of HAProxy's own pass no http-response.
      edits.push({
        statement: one,
        conditions: made.conditions,
        apply: (rule) => {
          if (one.name !== "http-response" || hasType(rule.keys, "upstream")) change(rule);
        },
      });
    }
  }
  for (const one of entry.statement.all("use_backend")) rules.push(...useBackend(one, acls, work));
  const fallback = entry.find("default_backend");
  const name = fallback?.args[0] ?? (entry.statement.name === "listen" ? entry.name : null);
  if (name !== null) {
    rules.push(...backendRules(fallback ?? entry.statement, name, [], work));
    ledger.carry(fallback);
  }
  const changed = applied(rules, edits);
  compression(entry, changed, work.plan);
  return changed;
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
    const own =
      backend.statement.name === "listen" && backend.statement === origin ? [] : backendRequests(backend, rule, plan);
    compression(backend, [rule], plan);
    return [...own, rule];
  });
}

/** `http-request` and `http-response` of a backend, for a rule that leads there. */
function backendRequests(backend: Section, rule: Rule, plan: Plan): Rule[] {
  const acls = new Acls(backend.statement);
  for (const one of backend.statement.block ?? []) {
    if (!/^http-(request|response|after-response)$/.test(one.name)) continue;
    const { edit, rules, conditions } = request(one, acls, { plan, backends: new Map(), isRedirected: false });
    if (edit !== null && conditions.every((each) => each === EVERYTHING)) edit(rule);
    else if (edit !== null)
      plan.ledger.note(
        one,
        "conditions within a backend are not asked: what it changes is not changed",
        "write it as a route with match",
      );
    if (rules.length > 0)
      plan.ledger.note(
        one,
        "rules of a backend that refuse or redirect are rules of its frontends here",
        "write them as routes",
      );
  }
  return [];
}

function put(rule: Rule, { path, hosts, methods, match }: Condition): void {
  rule.path = path ?? ROOT;
  rule.hosts = [...hosts];
  rule.methods = [...methods];
  rule.match = { ...match };
}

function useBackend(statement: Statement, acls: Acls, work: Work): Rule[] {
  const [name = "", ...words] = statement.args;
  const { ledger } = work.plan;
  const asked = acls.asked(words);
  if (name.includes("%[") || !("any" in asked) || asked.any.some(({ notFrom }) => notFrom.length > 0)) {
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

/** What a directive makes: rules, and a change of the rules that the conditions pick out. */
interface Made {
  readonly rules: Rule[];
  readonly edit: ((rule: Rule) => void) | null;
  readonly conditions: readonly Condition[];
}

/** What `http-request`, `http-response` and `redirect` make: rules of their own, or a change of all rules. */
function request(statement: Statement, acls: Acls, work: Work): Made {
  const { ledger } = work.plan;
  const words = statement.name === "redirect" ? ["redirect", ...statement.args] : statement.args;
  const at = words.findIndex((word) => word === "if" || word === "unless");
  const action = at < 0 ? words : words.slice(0, at);
  const condition = at < 0 ? [] : words.slice(at);
  const asked = acls.asked(condition);
  const made: Made = { rules: [], edit: null, conditions: [EVERYTHING] };
  const isResponse = statement.name !== "http-request" && statement.name !== "redirect";
  if (/^(set|add|del|replace)-(header|path|uri|pathq)$/.test(action[0]!)) {
    if ("special" in asked && /x-forwarded-(proto|port|ssl)|x-scheme/i.test(action[1] ?? ""))
      ledger.standard(statement);
    else if (condition.length === 0 || ("special" in asked && asked.special === "tls"))
      return { ...made, edit: edit(statement, action, isResponse, work.plan) };
    else if ("any" in asked && asked.any.every(({ notFrom }) => notFrom.length === 0)) {
      ledger.carry(...acls.linesOf(condition));
      return { ...made, edit: edit(statement, action, isResponse, work.plan), conditions: asked.any };
    } else
      ledger.note(
        statement,
        "a change of a header or a path counts for whole routes",
        "set headers or rewrite at a route with match",
      );
    return made;
  }
  if (/^(capture|log|set-log-level|set-nice|no-op|disable-l7-retry|set-priority.*)$/.test(action[0]!)) {
    ledger.standard(statement);
    return made;
  }
  if ("special" in asked && asked.special === "cleartext" && action[0] === "redirect" && action[1] === "scheme") {
    work.isRedirected = true;
    ledger.carry(statement, ...acls.linesOf(condition));
    return made;
  }
  if ("any" in asked && action[0] === "deny" && asked.any.every(({ notFrom }) => notFrom.length > 0)) {
    // All clients but some are refused: these are the ones that get in.
    const [first] = asked.any;
    const isOne = asked.any.every(({ notFrom }) => notFrom.join() === first!.notFrom.join());
    ledger.carry(statement, ...acls.linesOf(condition));
    return {
      ...made,
      conditions: asked.any.map((one) => ({ ...one, notFrom: [] })),
      edit: (rule) => allowOnly(rule, isOne ? first!.notFrom : []),
    };
  }
  if ("special" in asked && asked.special === "not-authenticated") return authentication(statement, work.plan);
  made.rules.push(...refusal(statement, action, asked, work));
  if (made.rules.length > 0) ledger.carry(...acls.linesOf(condition));
  return made;
}

/** Lets in clients of these networks alone; none where another rule already names others, or there are none. */
function allowOnly(rule: Rule, networks: readonly string[]): void {
  const isFirst = rule.keys.ip_rules === undefined && networks.length > 0;
  rule.keys.ip_rules = isFirst ? { allow: networks } : { deny: ["0.0.0.0/0", "::/0"] };
}

/** `http-request auth`: the hashes of a userlist are none that the gateway verifies. */
function authentication(statement: Statement, { ledger }: Plan): Made {
  ledger.note(
    statement,
    "passwords are hashed by bcrypt or argon2id: the routes are closed until there are such",
    "make a users_file with edge passwd, and set auth.basic in the place of ip_rules",
  );
  return {
    rules: [],
    conditions: [EVERYTHING],
    edit: (rule) => {
      rule.keys.ip_rules = { deny: ["0.0.0.0/0", "::/0"] };
    },
  };
}

/** `deny`, `redirect` and `return` as rules. */
function refusal(statement: Statement, action: readonly string[], asked: Asked, { plan }: Work): Rule[] {
  const { ledger } = plan;
  if (!("any" in asked) || asked.any.some(({ notFrom }) => notFrom.length > 0)) {
    ledger.note(
      statement,
      `${"fault" in asked ? asked.fault : "its condition has no counterpart in a route"}${LET_IN.test(action[0]!) ? ": what it refuses gets in" : ""}`,
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
    put(rule, condition);
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

/** Needs no setting: the gateway does it anyway, or has no such part. */
function isStandard({ name, args, parent }: Statement): boolean {
  const [first = ""] = args;
  if (name === "option")
    return /^(forwardfor|http-server-close|http-keep-alive|httpclose|forceclose|httplog|abortonclose|socket-stats|dontlognull|dontlog-normal|log-health-checks|log-separate-errors|splice-.*|tcp-smart-.*|tcpka|clitcpka|srvtcpka|redispatch|http-buffer-request|http-use-htx|prefer-last-server|contstats|tcplog|allbackups|http-ignore-probes|originalto)$/.test(
      first,
    );
  if (/^(no|mode|description|global|defaults)$/.test(name)) return true;
  if (name === "timeout") return /^(queue|tunnel|client-fin|server-fin|check|tarpit)$/.test(first);
  if (parent?.name === "global")
    return /^(daemon|user|group|chroot|pidfile|log|log-tag|nbproc|cpu-map|tune\..*|ssl-default-.*|ssl-dh-param-file|ca-base|crt-base|spread-checks|hard-stop-after|ulimit-n|quiet|node|expose-.*|insecure-.*|setenv|presetenv|stats|unix-bind|zero-warning|h1-case-adjust.*|master-worker|no.*|maxpipes|maxconnrate)$/.test(
      name,
    );
  return /^(log|log-tag|id|maxconn|backlog|fullconn|hash-type|unique-id-format|unique-id-header|capture|load-server-state-from-file|http-reuse|dispatch-off)$/.test(
    name,
  );
}

const ADVICE: readonly (readonly [RegExp, string, string])[] = [
  [/^stats$/, "the gateway has a dashboard of its own", "open /internal/, or see edge status"],
  [
    /^(stick-table|stick|tcp-request|tcp-response|tcp-check)$/,
    "there are no stick tables and no rules for connections",
    "see rate_limit, server.max_connections_per_ip and load_balancing",
  ],
  [
    /^(errorfile|errorloc|errorfiles|errorloc30[23]|http-error)$/,
    "pages of errors are HTML files that are named by their status",
    "set errors at the route or the server: docs/pages.md",
  ],
  [
    /^(log-format|log-format-sd|error-log-format)$/,
    "formats are json, common, combined or a template",
    "set server.access_log.format: docs/operations.md",
  ],
  [/^(userlist|user|group)$/, "passwords are hashed by bcrypt or argon2id", "make a users_file with edge passwd"],
  [
    /^(resolvers|nameserver|hold|resolve_retries|accepted_payload_size|parse-resolv-conf)$/,
    "names of origins are resolved by the system's name servers",
    "set proxy.transport.nameservers",
  ],
  [
    /^(peers|peer|mailers|mailer|program|ring|cache|fcgi-app|http-errors|log-forward|crt-store|lua-.*)$/,
    "this section has no counterpart",
    "see docs/README.md",
  ],
  [
    /^\.(if|elif|else|endif)$/,
    "conditions of the start are not asked: the lines of all branches are read",
    "remove the lines of the other branches",
  ],
  [/^acl$/, "no directive that is carried over uses it", "nothing, or a route with match"],
  [/^backend$/, "no frontend that is carried over uses it", "nothing, or write a route for it"],
  [/^(server|default-server|balance|cookie)$/, "its backend is used by no route", "nothing, or write a route for it"],
  [
    /^(req|rsp|block|reqrep|reqadd|rspadd)/,
    "HAProxy itself has dropped this directive",
    "write it as http-request first",
  ],
];

function adviceOf({ name }: Statement): { readonly why: string; readonly cure: string } {
  for (const [names, why, cure] of ADVICE) if (names.test(name)) return { why, cure };
  return { why: "the gateway has no such directive", cure: "look for it in edge help config and edge help routes" };
}

function titleOf(statement: Statement): string {
  return `${statement.file}:${statement.line} ${statement.text}`;
}
