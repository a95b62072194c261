import { type Cidr, isNetworkWithin, overlap } from "../config/cidr.ts";
import { quote } from "../config/config-fault.ts";
import { routeMethod } from "../config/http-syntax.ts";
import { match } from "../config/match-settings.ts";
import { didYouMean } from "../config/nearest-name.ts";
import { list, type Spot } from "../config/piece.ts";
import {
  below,
  block,
  type ConfigOf,
  type Fields,
  isFaultyAt,
  layered,
  type Row,
  type Rows,
  type Values,
} from "../config/row.ts";
import { chunkedMode, duration, flag, size, sizeOrUnlimited, text, UNLIMITED, word } from "../config/scalars.ts";
import { series } from "../core/number-text.ts";
import { type AuthConfig, auth, warnOfAuth } from "../features/auth/settings.ts";
import { botsAt, routeBots } from "../features/bots/settings.ts";
import { cacheKey } from "../features/cache/key-settings.ts";
import { ipRules } from "../features/client/settings.ts";
import { compressionAt, routeCompression } from "../features/compress/settings.ts";
import { concurrency } from "../features/concurrency/settings.ts";
import { checkCors, routeCors } from "../features/cors/settings.ts";
import { checkReach } from "../features/fleet/settings.ts";
import { checkCountries, checkPlaceRules } from "../features/geo/settings.ts";
import { limitsIn, type RateLimitConfig, rateLimit } from "../features/limit/settings.ts";
import { PRIORITIES } from "../features/overload/settings.ts";
import {
  ERROR_PAGES_EXAMPLE,
  type ErrorPages,
  errorPages,
  type MaintenanceConfig,
  maintenance,
} from "../features/pages/settings.ts";
import { rewriteBody } from "../features/rewrite/body-settings.ts";
import { routeSecurityHeaders } from "../features/security/settings.ts";
import { slo } from "../features/slo/settings.ts";
import { ssi } from "../features/ssi/settings.ts";
import { routeAccessLog } from "../features/telemetry/access-log-settings.ts";
import { routeWaf } from "../features/waf/settings.ts";
import { waitingRoom } from "../features/waiting/settings.ts";
import { demandOf } from "../settings/server-settings.ts";
import { explainHeaderEdits, type HeaderOperations, headerKeys } from "./header-operations.ts";
import { routeSpot } from "./route-spot.ts";

/** The key `methods`, at the types of routes whose handlers take every method. */
export const routeMethods = {
  type: list(routeMethod(), "methods", true),
  example: ["GET", "POST"],
  doc: "methods that clients may use; others get 405. Every method by default",
} as const satisfies Row;

const cache = block(
  {
    enabled: { type: flag(), default: true, doc: "false: edge stores nothing of this route" },
    default_ttl: {
      type: duration(0, Number.MAX_SAFE_INTEGER),
      absent: null,
      example: "5m",
      doc: "as server.cache.default_ttl by default",
    },
    key: { type: cacheKey, doc: "parts of the request that you add to the cache key or remove from it" },
  },
  { isSwitch: true, shorthand: "default_ttl" },
);

const headers = block(
  {
    request: { type: headerKeys("request"), doc: "fields that your upstream gets" },
    response: { type: headerKeys("response"), doc: "fields that your clients get" },
  },
  { notes: ["X-Forwarded-For, -Proto, -Host, X-Real-IP, X-Request-Id and Via are set on every request."] },
);

const rows = {
  // Absent, the route takes every request of its path, host and methods.
  match: {
    type: match,
    absent: null,
    doc: "further conditions, all of which must hold; a value, /an expression/, true or false",
  },
  listeners: {
    type: list(text("the name of a listener"), "names", true),
    example: ["public"],
    doc: "names of listeners that serve it; all by default",
  },
  inbound_chunked_mode: { type: chunkedMode(), default: "", doc: "as the transport by default" },
  max_body_bytes: { type: sizeOrUnlimited(), default: 0, doc: "largest request body, or unlimited; 0: as the server" },
  acme_challenge: {
    type: word("gateway", "upstream"),
    default: "gateway",
    doc: "upstream: HTTP-01 challenges below its path go to your ACME client behind it",
  },
  // Absent or `true` follows the server, `false` keeps this route's responses out of the cache.
  cache: { type: cache, doc: 'the cache of this route; or "cache: false"' },
  // Absent takes the server's.
  compression: {
    type: routeCompression,
    field: "",
    doc: 'keys of this route, the server gives the others; or "compression: false"',
  },
  rewrite_body: {
    type: rewriteBody,
    absent: null,
    doc: "replaces texts in the bodies of responses; or the list of rules alone",
  },
  ssi: {
    type: ssi,
    absent: null,
    doc: 'edge runs directives of pages, such as include virtual; or "ssi: true"',
  },
  // As compression.
  rate_limit: {
    type: rateLimit,
    field: "",
    example: { requests: 10 },
    doc: "the keys of server.rate_limit; or a list, of which all must allow a request",
  },
  priority: {
    type: word(...PRIORITIES),
    default: "normal",
    doc: "the priority: server.overload sheds low first, then normal, and high never",
  },
  slo: { type: slo, absent: null, doc: "your objective: burn rates in metrics, edge status and alerts" },
  concurrency: {
    type: concurrency,
    absent: null,
    doc: "most requests of the route at once, in all workers; others wait or get 503",
  },
  waiting_room: {
    type: waitingRoom,
    absent: null,
    doc: "most visitors of the route at once, in all workers; others wait on a page, first come, first served",
  },
  limit_rate: {
    type: size(0),
    default: 0,
    example: "512KiB",
    doc: "bytes per second for the body of each response; 0: no limit",
  },
  // Absent, these take the server's; of a section, each key that is left out.
  allowed_methods: {
    type: list(routeMethod(), "methods", true),
    absent: null,
    example: ["GET", "POST"],
    doc: "in place of server.allowed_methods; others get 405",
  },
  access_log: {
    type: routeAccessLog,
    absent: null,
    doc: 'keys of this route, the server gives the others; or "access_log: off"',
  },
  cors: { type: routeCors, absent: null, doc: 'keys of this route, the server gives the others; or "cors: off"' },
  security_headers: {
    type: routeSecurityHeaders,
    absent: null,
    doc: 'keys of this route, the server gives the others; or "security_headers: off"',
  },
  ip_rules: { type: ipRules, doc: "addresses that may use the route" },
  // Absent takes the server's.
  auth: {
    type: auth,
    field: "",
    example: { basic: { users_file: "./users" } },
    doc: "the keys of server.auth for this route; false: the route needs no sign-in",
  },
  // Absent takes the server's.
  bots: { type: routeBots, field: "", doc: 'keys of this route, the server gives the others; or "bots: false"' },
  // Absent takes the server's.
  waf: {
    type: routeWaf,
    absent: null,
    doc: "keys of this route, the server gives the others; or off, detection or enforce",
  },
  // Absent takes the server's.
  errors: {
    type: errorPages(),
    absent: null,
    example: ERROR_PAGES_EXAMPLE,
    doc: "your error pages in HTML, before the server's; intercept: also for errors of origins",
  },
  maintenance: {
    type: maintenance,
    absent: null,
    doc: "true, false or the name of a page; as the server by default",
  },
  headers: {
    type: headers,
    doc: "header fields that you change: remove, then set, then add; values may hold placeholders: docs/placeholders.md",
  },
} as const satisfies Rows;

/** THE keys of routes of every type, beside those that say where a route is, with what each inherits. */
export const ROUTE_OPTIONS = block(rows, {
  check(values, spot) {
    const { entry, server, log, path } = routeSpot(spot);
    if ("priority" in entry && values.priority !== "normal" && !server.overload.enabled)
      log.warn([...path, "priority"], "has no effect without server.overload");
    checkInternalTls(spot);
    if ("cache" in entry && values.cache.enabled && !server.cache.enabled) {
      log.warn([...path, "cache"], "has no effect while server.cache is off");
    }
  },
  finish(plain, values, spot) {
    const { entry, server, proxy } = routeSpot(spot);
    noteRefused(plain, spot);
    checkListeners(values.listeners, spot);
    noteNoBrowsers(spot);
    checkPolicies(plain, spot);
    checkPlaceRules(values.ip_rules, server.geo, below(spot, "ip_rules"));
    if (values.match !== null) checkCountries(values.match.country, server.geo, below(below(spot, "match"), "country"));
    const limit = rateLimitOf(values, spot);
    const who = authOf(values, spot);
    if (limit.scope === "route" && limitsIn(limit).some(({ key }) => key === "user") && !who.enabled) {
      spot.log.warn(
        [...spot.path, "rate_limit", "key"],
        "no user is known without auth: edge counts clients by address",
      );
    }
    return {
      inboundChunkedMode: plain.inboundChunkedMode || proxy.transport.inboundChunkedMode,
      // Resolved, 0 is no limit.
      maxBodyBytes: plain.maxBodyBytes === UNLIMITED ? 0 : plain.maxBodyBytes || server.maxBodyBytes,
      cache: {
        // A page with parts may be one client's.
        enabled: server.cache.enabled && plain.cache.enabled && plain.ssi?.enabled !== true,
        defaultTtlMs: plain.cache.defaultTtlMs ?? server.cache.defaultTtlMs,
        key: plain.cache.key,
      },
      compression: compressionAt(values.compression, server.compression, "compression" in entry),
      rateLimit: limit,
      auth: who,
      bots: botsAt(values.bots, server.bots, "bots" in entry, below(spot, "bots")),
    };
  },
  list(
    { compression, rateLimit: limit, auth: who, bots, listeners: some },
    { ip_rules, headers: edits, listeners, ...lines },
  ) {
    // The server's own limit is stated once, there: here it would become a second one. So are its users.
    const own = limit.scope === "route" ? { rate_limit: rateLimit.write(limit) } : {};
    const packing = compression.isOwn
      ? { compression: routeCompression.write({ ...compression, level: compression.level || null }) }
      : {};
    const ownAuth = who.scope === "route" ? { auth: who.enabled ? auth.write(who) : false } : {};
    const ownBots = bots.isOwn ? { bots: bots.enabled ? routeBots.write(bots) : false } : {};
    // No key stands for every listener.
    const served = some.length > 0 ? { listeners } : {};
    return { ...served, ...lines, ...packing, ...own, ip_rules, ...ownAuth, ...ownBots, headers: edits };
  },
});

/** `tls: internal` signs for names that clients send to a listener that speaks TLS. */
function checkInternalTls(spot: Spot): void {
  const { entry, server, log, path } = routeSpot(spot);
  const { tls, host, hosts } = entry as {
    tls?: { internal?: unknown } | string | null;
    host?: unknown;
    hosts?: unknown;
  };
  if (tls !== "internal" && (typeof tls !== "object" || tls?.internal !== true)) return;
  if (host === undefined && hosts === undefined)
    log.fault([...path, "tls"], "internal signs for the hosts of the route: name them with host", true);
  else if (!server.listeners.some((one) => one.tls) && !log.isFaulty(["server"]))
    log.warn([...path, "tls"], "has no effect: no listener speaks TLS (server.tls)");
}

/** A route that no listener serves is a fault. */
function checkListeners(names: readonly string[], spot: Spot): void {
  const { entry, server, log, path } = routeSpot(spot);
  if (!("listeners" in entry) || isFaultyAt(spot, "listeners") || log.isFaulty(["server", "listeners"])) return;
  if (names.length === 0) log.fault([...path, "listeners"], "names no listener, so that nothing serves the route");
  const known = server.listeners.map(({ name }) => name);
  for (const [i, name] of names.entries()) {
    if (known.includes(name)) continue;
    const there = known.length === 0 ? "there are none" : `there ${known.length === 1 ? "is" : "are"} ${series(known)}`;
    log.fault([...path, "listeners", i], `no listener has the name ${quote(name)}${didYouMean(name, known)}: ${there}`);
  }
}

/** Warns where every client that `match.client_ip` lets in is one that address rules refuse. */
function noteRefused({ match, ipRules: own }: Pick<Fields<typeof rows>, "match" | "ipRules">, spot: Spot): void {
  const { server, log, path } = routeSpot(spot);
  if (match === null || match.clientIp.length === 0) return;
  for (const [key, { allow, deny }] of [["ip_rules", own] as const, ["server.ip_rules", server.ipRules] as const]) {
    const isRefused = (network: Cidr) =>
      deny.some((one) => isNetworkWithin(network, one)) ||
      (allow.length > 0 && !allow.some((one) => overlap(network, one)));
    if (match.clientIp.every(isRefused))
      log.warn([...path, "match", "client_ip"], `no request is served: ${key} refuses all of these clients with 403`);
  }
}

/** Warns where a task is asked for at a route to which no browser goes by itself: there is no page then that could ask for it. */
function noteNoBrowsers(spot: Spot): void {
  const { entry, log, path } = routeSpot(spot);
  const { bots, methods } = entry as { bots?: { challenge?: unknown }; methods?: unknown };
  if (bots?.challenge !== "all" || !Array.isArray(methods) || methods.length === 0) return;
  if (methods.some((name) => ["GET", "POST"].includes(String(name).toUpperCase()))) return;
  log.warn([...path, "bots"], "browsers show no page for these methods: every request without a pass gets 403 in JSON");
}

/** Notes contradictions between the keys of a route and the server's that hold there. */
function checkPolicies({ cors }: Pick<Fields<typeof rows>, "cors">, spot: Spot): void {
  if (cors !== null && !isFaultyAt(spot, "cors"))
    checkCors(layered(cors, routeSpot(spot).server.cors), below(spot, "cors"));
}

function rateLimitOf(values: Values<typeof rows>, spot: Spot): RateLimitConfig {
  const { entry, server, cluster } = routeSpot(spot);
  if (!("rate_limit" in entry) || isFaultyAt(spot, "rate_limit")) return server.rateLimit;
  const at = below(spot, "rate_limit");
  const own = rateLimit.resolve(values.rate_limit, at);
  for (const limit of limitsIn({ ...own, scope: "route" })) checkReach(limit, cluster, at);
  return { ...own, scope: "route" };
}

function authOf(values: Values<typeof rows>, spot: Spot): AuthConfig {
  const { entry, server } = routeSpot(spot);
  if (!("auth" in entry) || isFaultyAt(spot, "auth")) return server.auth;
  const at = below(spot, "auth");
  const own = auth.resolve(values.auth, at);
  if (own.enabled) warnOfAuth(own, demandOf(server), at);
  return { ...own, scope: "route" };
}

/** What `/internal/api/routes` says of the options of a route. */
export function explainOptions(route: RouteOptions): object {
  return {
    ...(route.match === null ? {} : { match: match.write(route.match) }),
    ...(route.listeners.length === 0 ? {} : { listeners: route.listeners }),
    headers: explainHeaders(route.headers),
    ...(route.waf === null ? {} : { waf: routeWaf.write(route.waf) }),
    ...(route.errors === null ? {} : { errors: explainErrors(route.errors) }),
    ...(route.maintenance === null ? {} : { maintenance: explainMaintenance(route.maintenance) }),
    inbound_chunked_mode: route.inboundChunkedMode,
    max_body_bytes: route.maxBodyBytes,
    ...(route.acmeChallenge === "gateway" ? {} : { acme_challenge: route.acmeChallenge }),
    cache: { enabled: route.cache.enabled, default_ttl_ms: route.cache.defaultTtlMs },
    compression: explainCompression(route.compression),
    ...(route.rewriteBody === null ? {} : { rewrite_body: rewriteBody.write(route.rewriteBody) }),
    ...(route.ssi === null ? {} : { ssi: ssi.write(route.ssi) }),
    rate_limit: explainRateLimit(route.rateLimit),
    ...(route.priority === "normal" ? {} : { priority: route.priority }),
    ...(route.slo === null ? {} : { slo: slo.write(route.slo) }),
    ...(route.concurrency === null ? {} : { concurrency: concurrency.write(route.concurrency) }),
    ...(route.waitingRoom === null ? {} : { waiting_room: waitingRoom.show(route.waitingRoom) }),
    ...(route.limitRate === 0 ? {} : { limit_rate: route.limitRate }),
    ...(route.allowedMethods === null ? {} : { allowed_methods: route.allowedMethods }),
    ...(route.accessLog === null ? {} : { access_log: routeAccessLog.write(route.accessLog) }),
    ...(route.cors === null ? {} : { cors: routeCors.write(route.cors) }),
    ...(route.securityHeaders === null ? {} : { security_headers: routeSecurityHeaders.write(route.securityHeaders) }),
    auth: route.auth.methods.map(({ key }) => key),
    ...(route.bots.enabled ? { bots: { challenge: route.bots.challenge, difficulty: route.bots.difficulty } } : {}),
  };
}

function explainHeaders({ request, response }: HeaderOperations): object {
  return { request: explainHeaderEdits(request), response: explainHeaderEdits(response) };
}

function explainCompression({ enabled, encodings }: RouteOptions["compression"]): object {
  return enabled ? { enabled, encodings } : { enabled };
}

function explainRateLimit(limit: RateLimitConfig): object {
  const all = limitsIn(limit).map((one) => rateLimit.show(one));
  return all.length > 1 ? all : (all[0] ?? { enabled: false });
}

/** Without the names of files. */
function explainErrors({ pages, intercept }: ErrorPages): object {
  return { statuses: pages.map(({ status }) => status), intercept };
}

function explainMaintenance(config: MaintenanceConfig): object {
  const { page, ...shown } = maintenance.show(config) as { readonly page: string };
  return { ...shown, has_page: page !== "" };
}

/** What the keys of routes of every type say, with everything inherited. */
export type RouteOptions = ConfigOf<typeof ROUTE_OPTIONS>;
