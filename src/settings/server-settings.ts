import type { KeyPath } from "../config/config-fault.ts";
import type { FaultLog } from "../config/fault-log.ts";
import { foreignAdvice } from "../config/foreign-names.ts";
import { orWord } from "../config/form.ts";
import { listenHost } from "../config/host-kinds.ts";
import { identityField, routeMethod } from "../config/http-syntax.ts";
import { describe, type Kind, list, piece, resolved, type Spot, Wrong, written } from "../config/piece.ts";
import { below, block, type Fields, isFaultyAt, OFF, type Rows, type Values } from "../config/row.ts";
import {
  chunkedMode,
  duration,
  durationOr,
  flag,
  integer,
  peerNetwork,
  port,
  portOrOff,
  size,
  sizeOrUnlimited,
  word,
} from "../config/scalars.ts";
import { type TlsSettings, tls } from "../config/tls-settings.ts";
import { LENIENT_MEANING } from "../core/leniency.ts";
import { acme } from "../features/acme/settings.ts";
import { agents } from "../features/agents/settings.ts";
import type { TlsTerms as TlsDemand } from "../features/auth/mtls-settings.ts";
import { auth, warnOfAuth } from "../features/auth/settings.ts";
import { bans } from "../features/bans/settings.ts";
import { asksClients, bots } from "../features/bots/settings.ts";
import { cache } from "../features/cache/settings.ts";
import { ipRules } from "../features/client/settings.ts";
import { compression } from "../features/compress/settings.ts";
import { cors } from "../features/cors/settings.ts";
import { checkPlaceRules, geo } from "../features/geo/settings.ts";
import { rateLimit } from "../features/limit/settings.ts";
import { overload } from "../features/overload/settings.ts";
import { ERROR_PAGES_EXAMPLE, errorPages, maintenance } from "../features/pages/settings.ts";
import { securityHeaders } from "../features/security/settings.ts";
import { accessLog } from "../features/telemetry/access-log-settings.ts";
import { waf } from "../features/waf/settings.ts";
import { FOREIGN_SERVER_KEYS } from "./foreign-server-keys.ts";
import {
  listedListeners,
  listenerList,
  quicFault,
  type ServerListener,
  shortListeners,
  writtenListeners,
} from "./server-listeners.ts";

/** docs/wire.md#http2 */
const http2 = block({
  enabled: { type: flag(), default: true, doc: "false: clients get HTTP/1.1 alone" },
  max_concurrent_streams: {
    type: integer(1, 65_535),
    default: 128,
    doc: "most requests that a connection may have open",
  },
  max_header_list_bytes: {
    type: size(1024),
    default: "64KiB",
    doc: "most bytes of a request's header fields, more get 431",
  },
  unknown_pseudo_headers: {
    type: word("drop", "reject"),
    default: "drop",
    restart: "HTTP/3",
    doc: "pseudo-headers that edge does not know: drop or reject",
  },
  extended_connect: { type: flag(), default: false, doc: "true: WebSockets over HTTP/2" },
});

const http3 = block(
  {
    enabled: { type: flag(), default: true, restart: "everywhere", doc: "false: edge does not offer HTTP/3" },
    port: {
      type: port(0),
      absent: -1,
      restart: "everywhere",
      example: 8443,
      doc: "the UDP port; the port of tls by default",
    },
  },
  { absent: OFF },
);

const proxyProtocol = block(
  {
    enabled: { type: flag(), default: true, doc: "false: edge expects no PROXY header" },
    trusted: {
      type: list(peerNetwork(), "networks"),
      example: ["10.0.0.0/8"],
      doc: "load balancers that send a PROXY header; trusted_proxies by default",
    },
  },
  { absent: OFF },
);

const serverRows = {
  // Resolved, `host` is the first.
  host: {
    type: list(listenHost("0.0.0.0 or 127.0.0.1"), "addresses", true),
    default: "0.0.0.0",
    field: "hosts",
    doc: 'the address to listen on, or a list: "::" for IPv6 and IPv4, 127.0.0.1 for this machine only',
  },
  // Resolved, 0 lets the system choose one, and -1 is none.
  port: { type: portOrOff(), default: 8080, doc: "the port for clear text; off: edge listens with TLS only" },
  listeners: {
    type: listenerList,
    field: "",
    doc: "several addresses, UNIX sockets, TLS and PROXY headers by listener; leave out host, port and tls.port then",
  },
  route_order: {
    type: word("host_first", "path_first"),
    absent: "",
    example: "path_first",
    doc: "path_first: a longer path goes before the host that a route names; host_first by default",
  },
  // Resolved, 0 is `auto`; so is that of `max_connections`.
  workers: {
    type: countOrAuto("workers", 1024),
    default: "auto",
    restart: "everywhere",
    doc: "how many data workers: one per CPU by default",
  },
  header_timeout: {
    type: duration(1),
    default: "10s",
    restart: "HTTP/3",
    doc: "time for the whole head of a request; a slower client gets 408",
  },
  read_timeout: {
    type: duration(1),
    default: "30s",
    doc: "longest pause within a request's body; then the client gets 408",
  },
  write_timeout: {
    type: duration(1),
    default: "30s",
    doc: "longest time that a client may leave its response unread; then edge closes the connection",
  },
  idle_timeout: {
    type: duration(1),
    default: "120s",
    restart: "HTTP/3",
    doc: "how long an unused connection stays open",
  },
  // Resolved, -1 is `serve`.
  half_close_grace: {
    type: durationOr("serve"),
    default: "1s",
    doc: "time for the response after a client has half-closed its connection; serve: no limit",
  },
  shutdown_timeout: {
    type: duration(0),
    default: "30s",
    doc: "time that edge gives requests in progress after SIGTERM",
  },
  drain_delay: {
    type: duration(0),
    default: "0s",
    doc: "time before the shutdown in which /health answers 503 and edge still serves new connections",
  },
  max_header_bytes: {
    type: size(1024, 16_777_216),
    default: "64KiB",
    restart: "HTTP/3",
    doc: "most bytes of all header lines together, 8 KiB a line; more get 431",
  },
  max_header_fields: {
    type: integer(1, 10_000),
    default: 100,
    doc: "most header fields of a request, more get 431; all cookies over HTTP/2 and 3 count as one",
  },
  max_body_bytes: {
    // Resolved, 0 is no limit.
    type: resolved(sizeOrUnlimited(), (bytes) => Math.max(0, bytes)),
    default: "4MiB",
    doc: "largest request body, a larger one gets 413; 0 or unlimited: no limit",
  },
  min_body_rate: {
    type: size(0),
    default: 240,
    doc: "bytes per second that a body must reach in the mean after 10 s; a slower client gets 408; 0: off",
  },
  max_connections: {
    type: countOrAuto("connections", 10_000_000),
    default: "auto",
    doc: "most client connections, auto follows your limit of open files; further clients wait",
  },
  max_connections_per_ip: {
    type: integer(0, 10_000_000),
    default: 0,
    doc: "most connections of one address (IPv6: one /64), more get 503; 0: no limit",
  },
  max_unsent_bytes: {
    type: size(1_048_576),
    default: "128MiB",
    doc: "memory for bytes that slow peers have not read yet; beyond it edge closes the slowest",
  },
  inbound_chunked_mode: {
    type: resolved(chunkedMode(), (mode) => mode || "normalize"),
    default: "normalize",
    doc: "chunked request bodies: passthrough checks them as they stream, reject answers 501",
  },
  strict_origins: {
    type: flag(),
    default: true,
    doc: "false: edge accepts malformed responses of origins; a route's own key comes first",
  },
  request_trailers: {
    type: word("expose", "drop"),
    default: "expose",
    doc: "trailers of requests: expose turns valid ones into headers, drop discards them",
  },
  trusted_proxies: {
    type: list(peerNetwork(), "networks"),
    example: ["10.0.0.0/8"],
    doc: "your load balancers: edge trusts their X-Forwarded-For",
  },
  pass_identity_headers: {
    type: list(identityField(), "identity headers"),
    example: ["X-HTTP-Method-Override"],
    doc: "identity headers that edge passes on from every client; all others only from trusted proxies",
  },
  geo: {
    type: geo,
    doc: "databases for ip_rules, {geo.country}, {geo.asn} and the access log. Off without this section",
  },
  ip_rules: { type: ipRules, doc: "edge checks deny first; with an allow list all others get 403" },
  auth: { type: auth, guard: true, doc: "how your users sign in; others get 401. Off without this section" },
  bots: {
    type: bots,
    guard: true,
    doc: "proof of work for browsers; verified search engines pass. Off without this section",
  },
  bans: {
    type: bans,
    guard: true,
    doc: "keeps out clients that get many refusals or are on a list. Off without this section",
  },
  access_log: { type: accessLog, doc: "one line for each request" },
  debug_header: {
    type: flag(),
    default: false,
    doc: "true: X-Edge-Fault on refusals and gateway errors, for clients that internal_api lets in",
  },
  overload: {
    type: overload,
    doc: "sheds requests while edge itself runs out of CPU or memory. Off without this section",
  },
  rate_limit: {
    type: rateLimit,
    guard: true,
    doc: "a token bucket, which answers 429 with Retry-After; or a list of them. Off without this section",
  },
  allowed_methods: {
    type: list(routeMethod(), "methods", true),
    example: ["GET", "POST"],
    doc: "methods that clients may use; others get 405 on every route. Every method by default",
  },
  tls: { type: tls, guard: true, doc: "TLS and your certificates. Off without this section" },
  http2: { type: http2, doc: "by ALPN over TLS, by prior knowledge in clear text" },
  http3: { type: http3, guard: true, doc: "HTTP/3 over UDP. Off without this section" },
  proxy_protocol: { type: proxyProtocol, doc: "PROXY v1 and v2 from your load balancers. Off without this section" },
  waf: { type: waf, guard: true, doc: "the web application firewall. Off without this section" },
  agents: { type: agents, doc: "agents that sign their requests: Web Bot Auth. Off without this section" },
  cache: { type: cache, doc: "a response cache in memory, which all workers share" },
  compression: { type: compression, doc: "zstd, brotli and gzip for responses. Off without this section" },
  cors: { type: cors, doc: "CORS: what pages of other origins may do. Off without this section" },
  security_headers: {
    type: securityHeaders,
    doc: "header fields that protect browsers; edge keeps those of your upstream. Off without this section",
  },
  acme: { type: acme, doc: "certificates from Let's Encrypt or another CA, by ACME" },
  errors: {
    type: errorPages(),
    absent: null,
    example: ERROR_PAGES_EXAMPLE,
    doc: "your error pages in HTML; intercept: also for errors of origins",
  },
  maintenance: {
    type: maintenance,
    absent: null,
    doc: "503 for all but the built-in endpoints: true, the name of a page, or these keys",
  },
} as const satisfies Rows;

type ServerValues = Values<typeof serverRows>;
type ServerFields = Fields<typeof serverRows>;

/** A key of `server:`. */
export type ServerKey = keyof typeof serverRows;

/** The keys of `server:`. */
export const SERVER_KEYS: readonly string[] = Object.keys(serverRows);

/** The sections of config.yaml. */
export const SECTIONS = [
  "server",
  "proxy",
  "sidecar",
  "transcoder",
  "functions",
  "cluster",
  "telemetry",
  "providers",
  "internal_api",
] as const;

/** docs/configuration.md#sections */
export const server = block(serverRows, {
  misplaced: new Map([
    ...foreignAdvice(FOREIGN_SERVER_KEYS),
    ...SECTIONS.map((name) => [name, "belongs at the top of the file, beside server"] as const),
  ]),
  check: checkServer,
  finish: (plain, values, spot) => {
    const places = finishListeners(plain, values, spot);
    if (plain.auth.enabled) warnOfAuth(plain.auth, demandOf(places), below(spot, "auth"));
    return {
      ...places,
      // The buckets are the server's, shared by all routes without a limit of their own.
      rateLimit: { ...plain.rateLimit, scope: "server" as const },
      auth: { ...plain.auth, scope: "server" as const },
    };
  },
  list: ({ isListed, listeners: all }, { host, port, tls: secure, http3: quic, ...lines }) => {
    const hosts = host as readonly string[];
    if (!isListed) return { ...lines, host: hosts.length === 1 ? hosts[0] : hosts, port, tls: secure, http3: quic };
    const { port: _tls, redirect_http: _redirect, ...ofTls } = secure as Record<string, unknown>;
    const { port: _quic, ...ofQuic } = quic as Record<string, unknown>;
    return { ...lines, listeners: writtenListeners(all), tls: ofTls, http3: ofQuic };
  },
});

/** A challenge is that of bots. */
function checkAgents({ agents: signed, bots: people }: ServerValues, { path, log }: Spot): void {
  if (!signed.enabled || asksClients(people)) return;
  const message = "the challenge is that of server.bots, which is off: switch it on";
  for (const [i, { action }] of signed.rules.entries())
    if (action === "challenge") log.fault([...path, "agents", "rules", i, "action"], message);
  if (signed.unsigned === "challenge") log.fault([...path, "agents", "unsigned"], message);
}

function checkServer(values: ServerValues, spot: Spot): void {
  const { path, log } = spot;
  checkAgents(values, spot);
  const { country_db: countryDb, asn_db: asnDb } = values.geo;
  checkPlaceRules(values.ip_rules, { countryDb, asnDb }, below(spot, "ip_rules"));
  if (values.trusted_proxies.some(({ text }) => text.endsWith("/0")))
    log.warn(
      [...path, "trusted_proxies"],
      "trusts every address: any client can choose the address its requests seem to come from",
    );
  if (!values.strict_origins) {
    log.warn([...path, "strict_origins"], `is false for every route that does not say otherwise: ${LENIENT_MEANING}`);
  }
  const isListed = values.listeners.length > 0;
  const isSecure = isListed ? values.listeners.some((one) => one.tls.enabled) : values.tls.enabled;
  if (!isListed) checkCertificateSource(values, path, log);
  if (isListed && values.tls.enabled && !isSecure)
    log.warn([...path, "tls"], "no listener has tls: true, so nothing uses it");
  if (
    asksClients(values.bots) &&
    !isSecure &&
    values.trusted_proxies.length === 0 &&
    (isListed || !values.host.every((host) => LOOPBACK.test(host)))
  ) {
    log.warn([...path, "bots"], "passes go in clear text, and can be read on the way: switch server.tls on");
  }
  if (values.acme.enabled && !isSecure && !log.isFaulty([...path, "tls"])) checkAcmeUse(values, path, log);
}

/** TLS has its certificates from files or by ACME. */
function checkCertificateSource({ tls: own, acme: { enabled } }: ServerValues, path: KeyPath, log: FaultLog): void {
  const at = [...path, "tls"];
  const isBare =
    !own.internal &&
    own.cert_file === "" &&
    own.key_file === "" &&
    own.certificates.length === 0 &&
    own.hosts.every(({ cert_file }) => cert_file === "");
  const isMeant = ["cert_file", "key_file", "certificates", "hosts"].some((key) => log.isFaulty([...at, key]));
  if (own.enabled && isBare && !isMeant && !enabled && !log.isFaulty([...path, "acme"]))
    log.fault(
      at,
      "needs cert_file and key_file (or switch server.acme on, which obtains a certificate; or internal: true, for your own machines)",
      true,
    );
}

/** ACME without TLS. */
function checkAcmeUse(values: ServerValues, path: KeyPath, log: FaultLog): void {
  const at = [...path, "acme"];
  const ways = [values.acme.challenge_type, ...values.acme.certificates.map((one) => one.challenge_type)];
  if (ways.includes("tls-alpn-01")) {
    const message = "tls-alpn-01 is answered on the TLS port: switch server.tls on, or use http-01";
    log.fault([...at, "challenge_type"], message);
  } else log.warn(at, "certificates are obtained, but server.tls is off, so nothing uses them");
}

/**
 * The listeners. `host`, `port` and `tls.port` are then the first of each kind, and `tls` and `http3` are on if a listener has them.
 */
function finishListeners(plain: ServerFields, values: ServerValues, spot: Spot) {
  const proxyProtocol = finishProxyProtocol(values, below(spot, "proxy_protocol"));
  const hosts = plain.hosts.length > 0 ? plain.hosts : ["0.0.0.0"];
  const { port: clearPort, tls: secure, http2: two, http3: quic, acme: obtained } = plain;
  const defaults = {
    hosts,
    port: clearPort,
    tls: secure,
    http2: two,
    http3: quic,
    proxyProtocol,
    hasIssuer: obtained.enabled || secure.isInternal,
  };
  if (values.listeners.length === 0) {
    checkHttp3(plain, below(spot, "http3"));
    const http3 = { ...quic, port: quic.port <= 0 ? secure.port : quic.port };
    const short = { host: hosts[0]!, port: clearPort, tls: secure, http3, proxyProtocol };
    return { isListed: false, listeners: shortListeners(defaults), ...short };
  }
  const all = listedListeners(values.listeners, defaults, below(spot, "listeners"));
  const clear = all.filter((one) => !one.tls);
  const first = (some: readonly ServerListener[]) => some.find(({ socket }) => socket === "");
  const coded = all.filter((one) => one.tls);
  const udp = all.find((one) => one.http3);
  return {
    isListed: true,
    listeners: all,
    host: first(all)?.host ?? "",
    port: first(clear)?.port ?? -1,
    tls: {
      ...secure,
      enabled: coded.length > 0,
      port: first(coded)?.port ?? -1,
      redirectHttp: clear.length > 0 && clear.every(({ redirectsHttps }) => redirectsHttps),
    },
    http3: { enabled: udp !== undefined, port: udp?.http3Port ?? -1 },
    proxyProtocol: { ...proxyProtocol, enabled: all.some(({ proxies }) => proxies.length > 0) },
  };
}

/** The strictest demand of all listeners. */
export function demandOf(server: {
  readonly listeners: readonly ServerListener[];
  readonly tls?: TlsSettings;
}): TlsDemand {
  const sites = server.listeners.filter(({ tls: isOn }) => isOn).map(({ site }) => site ?? server.tls);
  const words = sites.flatMap((site) => (site === undefined ? [] : [site, ...site.hosts])).map((one) => one.clientAuth);
  const clientAuth = (["require", "request", "any"] as const).find((word) => words.includes(word)) ?? "none";
  return { enabled: sites.length > 0, clientAuth };
}

function checkHttp3({ http3: own, tls: secure }: ServerFields, { path, log }: Spot): void {
  if (own.enabled && !secure.enabled && !log.isFaulty(["server", "tls"]))
    log.fault(path, "HTTP/3 always runs over TLS: switch server.tls on, or remove http3", true);
  const fault = own.enabled && secure.enabled ? quicFault({ http3: true, site: null }, secure) : "";
  if (fault !== "") log.fault(path, fault, true);
}

function finishProxyProtocol({ proxy_protocol: own, trusted_proxies }: ServerValues, spot: Spot) {
  const trusted = own.trusted.length > 0 ? own.trusted : trusted_proxies;
  const isKnown = !isFaultyAt(spot, "trusted") && !spot.log.isFaulty(["server", "trusted_proxies"]);
  if (own.enabled && trusted.length === 0 && isKnown) {
    const message = "needs trusted: the networks of the load balancers that send PROXY headers";
    spot.log.fault(spot.path, message, true);
  }
  return { enabled: own.enabled, trusted };
}

/** `auto` or a number; resolved, 0 is `auto`. */
function countOrAuto(what: string, max: number): Kind<number> {
  const count = integer(0, max);
  const kind = piece<number>(
    (value) => {
      if (value === "auto") return 0;
      const result = count["~run"]({ value }, {});
      return result.issues === undefined
        ? (result.value as number)
        : new Wrong(`expected a number of ${what} from 1 to ${max}, or "auto", found ${describe(value)}`);
    },
    orWord({ is: "integer", min: 0, max }, "auto"),
  );
  return written(kind, (number) => (number === 0 ? "auto" : number));
}

/** No other machine can listen in. */
export const LOOPBACK = /^(localhost|127\..*|::1)$/;
