import { type Advice, type AdviceRow, adviceIn } from "../advice.ts";
import { byPaths } from "../by-paths.ts";
import { beginningOf, type Condition } from "../condition.ts";
import { copied, EFFORT, STEPS_A_DIRECTIVE } from "../effort.ts";
import { withoutExceptions } from "../exceptions.ts";
import { type Keys, sectionAt } from "../keys.ts";
import { ROOT } from "../path-rule.ts";
import { closed, hasType, Plan, type Rule, ruleOf } from "../plan.ts";
import { sealed } from "../seal.ts";
import type { Statement } from "../statement.ts";
import { entryPointsOf, listedEntries } from "./traefik-listeners.ts";
import { HARMLESS, MIDDLEWARES } from "./traefik-middlewares.ts";
import { parseRule } from "./traefik-rules.ts";
import { child, serviceKeys, type TraefikServices } from "./traefik-services.ts";
import { convertTraefikTcp } from "./traefik-streams.ts";

/** What routers are converted with. */
interface Work {
  readonly plan: Plan;
  readonly services: TraefikServices;
  readonly middlewares: ReadonlyMap<string, Statement>;
  /** `tls.options`, by name. */
  readonly tlsOptions: ReadonlyMap<string, Statement>;
  /** Whether any router has TLS. */
  readonly hasTls: boolean;
}

/** Makes rules and settings of a file of Traefik's file provider. docs/migrate-traefik.md */
export function convertTraefik(statements: readonly Statement[]): Plan {
  const plan = new Plan("Traefik");
  const { ledger } = plan;
  for (const one of statements) ledger.enter(one);
  const http = statements.find(({ name }) => name === "http") ?? null;
  const named = (kind: string): ReadonlyMap<string, Statement> =>
    new Map((child(http, kind)?.block ?? []).map((one) => [one.name, one]));
  const routers = [...named("routers").values()];
  const services = { ledger, named: named("services"), transports: named("serversTransports") };
  const certificates = child(
    statements.find(({ name }) => name === "tls"),
    "certificates",
  );
  const hasTls = routers.some((one) => child(one, "tls") !== null) || certificates !== null;
  const options = child(
    statements.find(({ name }) => name === "tls"),
    "options",
  );
  const tlsOptions = new Map((options?.block ?? []).map((one) => [one.name, one]));
  const work = { plan, services, middlewares: named("middlewares"), tlsOptions, hasTls };
  const points = statements.find(({ name }) => name === "entryPoints") ?? null;
  const groups = listedEntries(plan, { routers, points, leads: (one) => leadsToTls(one, work) });
  const kept = groups === null ? ofMainEntry(routers, work) : groups.flatMap((group) => group.routers);
  listeners(plan, kept, certificates, hasTls || groups?.some(({ isTls }) => isTls) === true);
  if (groups === null) plan.rules.push(...rulesOf(kept, work));
  else {
    delete plan.config.server.port;
    const tls = plan.config.server.tls as Keys | undefined;
    if (tls !== undefined) {
      delete tls.port;
      // Without a file Traefik shows a certificate of its own.
      if (tls.cert_file === undefined && plan.config.server.acme === undefined) tls.internal = true;
    }
    for (const group of groups) {
      const rules = rulesOf(group.routers, { ...work, hasTls: false });
      plan.rules.push(...(groups.length === 1 ? rules : rules.map((rule) => ({ ...rule, listeners: group.names }))));
    }
  }
  entryPoints(plan, points);
  convertTraefikTcp(plan, statements.find(({ name }) => name === "tcp") ?? null);
  plan.config.server.max_body_bytes = "unlimited";
  if (plan.rules.some(({ keys }) => hasType(keys, "upstream")))
    sectionAt(plan.config.proxy, "transport").response_header_timeout = "10m";
  ledger.settle((one) => adviceIn(ADVICE, one, NO_KEY));
  return plan;
}

/** The rules of routers, in the order in which Traefik asks them. */
function rulesOf(routers: readonly Statement[], work: Work): Rule[] {
  const { ledger } = work.plan;
  const ranked = routers
    .map((statement) => ({
      statement,
      priority: Number(child(statement, "priority")?.args[0] || 0) || (child(statement, "rule")?.args[0] ?? "").length,
    }))
    .sort((a, b) => b.priority - a.priority);
  const rules = ranked.flatMap(({ statement }) => routerRules(statement, work));
  return sealed(withoutExceptions(rules, ledger), ledger);
}

/** What the entry points of a static configuration ask of all requests. */
function entryPoints(plan: Plan, points: Statement | null): void {
  for (const point of points?.block ?? []) {
    const guard = child(child(point, "http"), "middlewares");
    if (guard === null) continue;
    for (const rule of plan.rules) closed(rule);
    plan.ledger.note(
      guard,
      "middlewares of entry points count for all routers, which are closed",
      "set their work at the routes",
    );
  }
}

/** Which entry points a router has: those of the usual names are one, since clear text and TLS share the routes. */
function entryOf(router: Statement): string {
  const names = entryPointsOf(router);
  const odd = names.filter((one) => !USUAL.test(one));
  return names.length > odd.length || names.length === 0 ? "" : [...new Set(odd)].sort().join();
}

const USUAL = /^(web|websecure|http|https|web-?secure)$/i;

/** Routers of the entry points that are kept; those of others are left out, since routes do not go by the port. */
function ofMainEntry(routers: readonly Statement[], work: Work): Statement[] {
  const {
    hasTls,
    plan: { ledger },
  } = work;
  const entries = routers.map(entryOf);
  const main = entries.includes("") ? "" : entries[0];
  const isSecret = (one: Statement): boolean => child(one, "tls") !== null;
  const isGuarded = routers.some((one) => isSecret(one) && child(one, "middlewares") !== null);
  return routers.filter((router, at) => {
    const isElsewhere = entries[at] !== main;
    // In clear text, what the same rule asks with TLS would not be asked.
    const isShadowed = hasTls && isGuarded && !isSecret(router) && !leadsToTls(router, work);
    if (!isElsewhere && !isShadowed) return true;
    ledger.noteWhole(
      router,
      isElsewhere
        ? "routes do not go by the entry point: what others must not reach by the usual ones is left out"
        : "it is without TLS, and routes do not go by the port: what routers with TLS ask of clients would be passed by. It is left out",
      "serve it by a second gateway",
    );
    return false;
  });
}

/** Whether a router has a middleware that leads to TLS. */
function leadsToTls(router: Statement, { middlewares }: Work): boolean {
  const names = child(router, "middlewares")?.args ?? [];
  return names.some((name) => {
    const own = middlewares.get(name.replace(/@\w+$/, ""))?.block?.[0];
    return own?.name === "redirectScheme" && child(own, "scheme")?.args[0] === "https";
  });
}

function listeners(plan: Plan, routers: readonly Statement[], certificates: Statement | null, hasTls: boolean): void {
  const { server } = plan.config;
  const { ledger } = plan;
  server.port = 80;
  if (!hasTls) return;
  const tls = sectionAt(server, "tls");
  tls.port = 443;
  const pairs = (certificates?.block ?? []).flatMap((one) => {
    const cert = child(one, "certFile");
    const key = child(one, "keyFile");
    if (cert === null || key === null) return [];
    ledger.carry(certificates, one, cert, key);
    return [{ cert_file: cert.args[0]!, key_file: key.args[0]! }];
  });
  const [first, ...others] = pairs;
  if (first !== undefined) Object.assign(tls, first);
  if (others.length > 0) tls.certificates = others;
  const resolved = routers.filter((one) => child(child(one, "tls"), "certResolver") !== null);
  for (const one of resolved) ledger.carry(child(child(one, "tls"), "certResolver"));
  if (resolved.length > 0) server.acme = { enabled: true, domains: "auto" };
  for (const one of routers) ledger.carry(child(one, "tls"));
}

/** The rules of one router. */
function routerRules(statement: Statement, work: Work): Rule[] {
  const { plan, hasTls } = work;
  const { ledger } = plan;
  const rule = child(statement, "rule");
  const service = child(statement, "service");
  const names = namesIn(child(statement, "middlewares"));
  ledger.carry(child(statement, "priority"));
  const points = child(statement, "entryPoints");
  if (points !== null && plan.config.server.listeners !== undefined) ledger.carry(points);
  else if (points !== null) notePoints(points, plan);
  const chain = chainOf(statement, names, work);
  ledger.carry(child(statement, "middlewares"));
  const isClear = hasTls && child(statement, "tls") === null;
  // What only leads to TLS is a setting.
  if (
    isClear &&
    chain.some(({ kind, own }) => kind === "redirectScheme" && (child(own, "scheme")?.args[0] ?? "") === "https")
  ) {
    sectionAt(plan.config.server, "tls").redirect_http = true;
    ledger.carry(statement, rule, service);
    for (const { statement: named, own } of chain) ledger.carry(named, own, ...(own.block ?? []));
    return [];
  }
  if (isClear)
    ledger.note(
      statement,
      "routes do not go by the port: it is served over TLS as well",
      "nothing, or set server.tls.redirect_http",
    );
  const parsed = parseRule(rule?.args[0] ?? "");
  const { fault } = parsed;
  if (fault !== "")
    ledger.note(statement, `${fault}: what its rule may be for is closed`, "write routes with match for its requests");
  ledger.carry(statement, rule);
  const keys = service === null ? null : serviceKeys(service.args[0] ?? "", work.services);
  const places = byPaths(parsed.any);
  const isShut = fault !== "";
  return (places ?? parsed.any).map((condition) => {
    const made = placed(statement, condition);
    target(made, keys, service, work);
    for (const one of chain) apply(one, made, plan);
    if (needsCertificate(statement, work)) {
      closed(made);
      ledger.note(
        statement,
        "its clients need certificates (clientAuth): the route is closed",
        "set server.tls.client_auth with client_ca_file, and auth.mtls at the route",
      );
    }
    if (isShut) closed(made);
    if (condition.regex !== "") made.keys.regex = condition.regex;
    return made;
  });
}

/** A rule for what a condition asks, which does nothing yet. */
function placed(router: Statement, { path, hosts, methods, match, notAny, regex }: Condition): Rule {
  const made = ruleOf(router, `${router.file}:${router.line} router ${router.name}`, {});
  Object.assign(made, { path: path ?? ROOT, hosts, methods: [...methods], match: { ...match } });
  if (notAny.length > 0) made.notAny = notAny;
  if (regex !== "") made.path = beginningOf(regex, made.path);
  return made;
}

/** Whether the options of a router's TLS let in no client without a certificate. */
function needsCertificate(router: Statement, { tlsOptions }: Work): boolean {
  const tls = child(router, "tls");
  if (tls === null) return false;
  const name = (child(tls, "options")?.args[0] ?? "default").replace(/@\w+$/, "");
  const type = child(child(tlsOptions.get(name) ?? null, "clientAuth"), "clientAuthType")?.args[0] ?? "";
  return type.startsWith("Require");
}

function target(rule: Rule, keys: Keys | null, service: Statement | null, { plan: { ledger } }: Work): void {
  const name = service?.args[0] ?? "";
  if (keys === null && name === "noop@internal") rule.keys = { type: "respond", status: 404 };
  else if (keys === null && name.endsWith("@internal")) {
    ledger.note(service!, "the gateway has its own dashboard and metrics", "open /internal/, or read /metrics");
    rule.keys = { type: "respond", status: 404 };
    return;
  } else if (keys === null) {
    closed(rule);
    ledger.note(
      service ?? rule.origin,
      "the service is not in this file, or has no servers: the route is closed",
      "write its targets",
    );
    return;
  } else {
    rule.keys = copied(keys);
    if (rule.path.kind === "prefix" && rule.path.value !== "/") rule.keys.strip_prefix = false;
  }
  ledger.carry(service);
}

/** One step of a chain of middlewares. */
interface Step {
  readonly kind: string;
  /** With its name. */
  readonly statement: Statement;
  /** Its own section. */
  readonly own: Statement;
}

/** The middlewares of a router, chains taken apart. */
function chainOf(origin: Statement, names: readonly string[], work: Work, depth = 0): Step[] {
  EFFORT.take(1 + STEPS_A_DIRECTIVE * names.length);
  return names.flatMap((name) => {
    const statement = work.middlewares.get(name.replace(/@\w+$/, ""));
    const own = statement?.block?.[0];
    // One of several kinds is none for Traefik, and its routers are not served.
    if (statement === undefined || own === undefined || statement.block?.length !== 1 || depth > MAX_CHAINS) {
      work.plan.ledger.note(
        origin,
        `the middleware ${name} is not in this file, or is of several kinds, and may decide who gets in: the route is closed`,
        "convert both files as one, or set its work at the route",
      );
      return [{ kind: "", statement: origin, own: origin }];
    }
    if (own.name !== "chain") return [{ kind: own.name, statement, own }];
    work.plan.ledger.carry(statement, own, child(own, "middlewares"));
    return chainOf(origin, namesIn(child(own, "middlewares")), work, depth + 1);
  });
}

/** The names of a list, which may be one text with commas. */
function namesIn(list: Statement | null): string[] {
  return (list?.args ?? []).flatMap((one) => one.split(",")).map((one) => one.trim());
}

/** Chains within chains. */
const MAX_CHAINS = 8;

function apply({ kind, statement, own }: Step, rule: Rule, { ledger }: Plan): void {
  if (kind === "") return closed(rule);
  const make = Object.hasOwn(MIDDLEWARES, kind) ? MIDDLEWARES[kind] : undefined;
  if (!rule.scopes.includes(own)) rule.scopes.push(statement, own);
  const isDone = make?.(own, rule, ledger) === true;
  if (isDone) ledger.carry(statement, own);
  else if (!HARMLESS.has(kind) || rule.keys.status === 503) {
    closed(rule);
    ledger.noteWhole(
      statement,
      `${kind} is not carried over: the routes that have it are closed`,
      CURES[kind] ?? "set auth or ip_rules at them",
    );
  } else ledger.noteWhole(statement, `${kind} is not carried over`, CURES[kind] ?? "see edge help routes");
}

const CURES: Readonly<Record<string, string>> = {
  inFlightReq: "see rate_limit and server.max_connections_per_ip",
  circuitBreaker: "see circuit_breaker at the route: docs/upstreams.md",
  errors: "set errors at the route: docs/pages.md",
  stripPrefixRegex: "use rewrite with regex and to",
  redirectRegex: "write a route of type: redirect, with regex for the path",
  redirectScheme: "set server.tls.redirect_http",
};

/** Names of entry points are those of another file; all that are usual mean the usual ports. */
function notePoints(points: Statement, { ledger }: Plan): void {
  const odd = points.args.filter((one) => !/^(web|websecure|http|https|web-?secure)$/i.test(one));
  if (odd.length === 0) ledger.carry(points);
  else ledger.note(points, "which port the entry point is, another file says", "set server.port and server.tls.port");
}

const ADVICE: readonly AdviceRow[] = [
  [/^(tcp|udp)$/, "TCP and UDP are not converted", "write routes of the type tcp or udp: docs/streams.md"],
  [
    /^(entryPoints|providers|api|log|accessLog|metrics|tracing|certificatesResolvers|ping|global|serversTransport|experimental)$/,
    "this belongs to the static configuration, which is not converted",
    "see edge help config",
  ],
  [
    /^(options|stores|minVersion|cipherSuites|clientAuth|curvePreferences|sniStrict|domains|main|sans)$/,
    "this setting of TLS is not carried over",
    "see server.tls: docs/tls.md",
  ],
  [/^(routers|services|middlewares|http|loadBalancer|servers|serversTransports)$/, "no route uses it", "nothing"],
  [/^(accessControl.*|addVaryHeader)$/, "CORS is set for the whole gateway", "set server.cors"],
];

const NO_KEY: Advice = {
  why: "the gateway has no such key, or no route uses it",
  cure: "look for it in edge help config and edge help routes",
};
