import { isIP } from "node:net";
import { resolveAcme, resolveTls } from "./certificate-resolution.ts";
import { quote } from "./config-fault.ts";
import type { ConfiguredFiles } from "./configured-file.ts";
import type { FaultLog } from "./fault-log.ts";
import { didYouMean } from "./nearest-name.ts";
import { isHostName } from "./origin.ts";
import type { Section, Spot } from "./piece.ts";
import type {
  CacheConfig,
  CorsConfig,
  Http3Config,
  ProxyProtocolConfig,
  RateLimitConfig,
  ServerConfig,
  TlsConfig,
  WafConfig,
} from "./runtime-config.ts";
import { rateLimit, type serverEntries } from "./server-schema.ts";

/** `server:` as the schema gives it. */
export type ServerValues = Section<typeof serverEntries>;

/**
 * Turns the checked values of `server:` into its resolved form and notes what contradicts itself.
 * `knownWafRules` are the rule names that `disabled_rules` may hold; an empty list leaves that check out.
 */
export function resolveServer(
  values: ServerValues,
  log: FaultLog,
  files: ConfiguredFiles,
  knownWafRules: readonly string[],
): ServerConfig {
  if (values.trusted_proxies.some(({ text }) => text.endsWith("/0"))) {
    log.warn(["server", "trusted_proxies"], "trusts everybody: any client may say whom its requests come from");
  }
  const tls = resolveTls(values.tls, values.acme.enabled, log, files);
  return {
    host: resolveHost(values.host, ["server", "host"], log),
    port: values.port,
    workers: values.workers,
    headerTimeoutMs: values.header_timeout,
    readTimeoutMs: values.read_timeout,
    minBodyRate: values.min_body_rate,
    maxConnections: values.max_connections,
    maxConnectionsPerIp: values.max_connections_per_ip,
    writeTimeoutMs: values.write_timeout,
    idleTimeoutMs: values.idle_timeout,
    halfCloseGraceMs: values.half_close_grace,
    shutdownTimeoutMs: values.shutdown_timeout,
    drainDelayMs: values.drain_delay,
    maxHeaderBytes: values.max_header_bytes,
    maxHeaderFields: values.max_header_fields,
    maxBodyBytes: values.max_body_bytes,
    maxUnsentBytes: values.max_unsent_bytes,
    inboundChunkedMode: values.inbound_chunked_mode || "normalize",
    requestTrailers: values.request_trailers,
    trustedProxies: values.trusted_proxies,
    ipRules: values.ip_rules,
    tls,
    http2: {
      enabled: values.http2.enabled,
      maxConcurrentStreams: values.http2.max_concurrent_streams,
      maxHeaderListBytes: values.http2.max_header_list_bytes,
      unknownPseudoHeaders: values.http2.unknown_pseudo_headers,
      extendedConnect: values.http2.extended_connect,
    },
    http3: resolveHttp3(values, tls, log),
    proxyProtocol: resolveProxyProtocol(values, log),
    waf: resolveWaf(values.waf, log, knownWafRules),
    cache: resolveCache(values.cache, log),
    acme: resolveAcme(values.acme, values.tls.enabled, log, files),
    cors: resolveCors(values.cors, log),
    securityHeaders: {
      enabled: values.security_headers.enabled,
      frameOptions: values.security_headers.frame_options,
      referrerPolicy: values.security_headers.referrer_policy,
      hsts: values.security_headers.hsts,
    },
    rateLimit: resolveRateLimit(values.rate_limit, "server", { path: ["server", "rate_limit"], log, files }),
    accessLog: values.access_log,
  };
}

/** An address to listen on, without brackets. */
export function resolveHost(host: string, path: readonly string[], log: FaultLog): string {
  const bare = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const isNumeric = /^[\d.]+$/.test(bare);
  if (isIP(bare) === 0 && (isNumeric || !isHostName(bare))) {
    const cure = bare === "*" || bare === "" ? ' (did you mean "0.0.0.0"?)' : "; the port has a key of its own";
    log.fault(path, `expected an IP address or host name to listen on, found ${quote(host)}${cure}`);
  }
  return bare;
}

/** A token bucket of the server or of a route. */
export function resolveRateLimit(
  values: ServerValues["rate_limit"],
  scope: RateLimitConfig["scope"],
  spot: Spot,
): RateLimitConfig {
  return { ...rateLimit.resolve(values, spot), scope };
}

function resolveHttp3(values: ServerValues, tls: TlsConfig, log: FaultLog): Http3Config {
  const path = ["server", "http3"];
  if (values.http3.enabled && !tls.enabled && !log.isFaulty(["server", "tls"])) {
    log.fault(path, "HTTP/3 always runs over TLS: switch server.tls on, or remove http3", true);
  }
  // The runtime's QUIC can require certificates; it cannot merely ask for them, and clients would be anonymous over HTTP/3.
  if (values.http3.enabled && tls.enabled && tls.clientAuth === "request") {
    log.fault(
      path,
      "with tls.client_auth: request clients could not show certificates: say require, or remove http3",
      true,
    );
  }
  return { enabled: values.http3.enabled, port: values.http3.port <= 0 ? tls.port : values.http3.port };
}

function resolveProxyProtocol(values: ServerValues, log: FaultLog): ProxyProtocolConfig {
  const own = values.proxy_protocol;
  const trusted = own.trusted.length > 0 ? own.trusted : values.trusted_proxies;
  const isKnown =
    !log.isFaulty(["server", "proxy_protocol", "trusted"]) && !log.isFaulty(["server", "trusted_proxies"]);
  if (own.enabled && trusted.length === 0 && isKnown) {
    log.fault(
      ["server", "proxy_protocol"],
      "needs trusted: the networks of the load balancers that send PROXY headers",
      true,
    );
  }
  return { enabled: own.enabled, trusted };
}

function resolveWaf(values: ServerValues["waf"], log: FaultLog, knownRules: readonly string[]): WafConfig {
  const path = ["server", "waf"];
  const check = (rule: string, at: readonly (string | number)[]): string => {
    if (knownRules.length > 0 && !knownRules.includes(rule)) {
      log.fault(at, `expected the name of a WAF rule, found ${quote(rule)}${didYouMean(rule, knownRules)}`);
    }
    return rule;
  };
  return {
    enabled: values.enabled,
    mode: values.mode,
    anomalyThreshold: values.anomaly_threshold,
    maxInspectBodyBytes: values.max_inspect_body_size,
    overLimit: values.over_limit,
    disabledRules: values.disabled_rules.map((rule, i) => check(rule, [...path, "disabled_rules", i])),
    allowedIps: values.allowed_ips,
    exclusions: values.exclusions.map((one, i) => ({
      rule: check(one.rule, [...path, "exclusions", i, "rule"]),
      path: one.path,
      param: one.param,
    })),
  };
}

function resolveCache(values: ServerValues["cache"], log: FaultLog): CacheConfig {
  if (values.enabled && values.max_payload_size > values.max_bytes) {
    log.warn(["server", "cache", "max_payload_size"], "is above max_bytes: answers of that size are never stored");
  }
  return {
    enabled: values.enabled,
    defaultTtlMs: values.default_ttl,
    maxEntries: values.max_entries,
    maxPayloadBytes: values.max_payload_size,
    maxBytes: values.max_bytes,
    cookies: values.cookies,
  };
}

function resolveCors(values: ServerValues["cors"], log: FaultLog): CorsConfig {
  const path = ["server", "cors"];
  if (values.enabled && values.allowed_origins.length === 0 && !log.isFaulty([...path, "allowed_origins"])) {
    log.fault(path, "needs allowed_origins, such as [https://app.example.com]", true);
  }
  // Fetch §3.2.5: with credentials "*" is no wildcard, so browsers would refuse what the operator meant to allow.
  const starred = (["allowed_origins", "allowed_headers", "exposed_headers"] as const).filter((key) =>
    values[key].includes("*"),
  );
  if (values.enabled && values.allow_credentials) {
    for (const key of starred) {
      log.fault([...path, key], 'expected every name written out: "*" cannot go together with allow_credentials: true');
    }
  }
  const origins = values.allowed_origins.map((origin) => origin.toLowerCase());
  return {
    enabled: values.enabled,
    allowedOrigins: origins.includes("*") ? ["*"] : origins,
    allowedMethods: values.allowed_methods,
    allowedHeaders: values.allowed_headers.includes("*") ? ["*"] : values.allowed_headers,
    exposedHeaders: values.exposed_headers.includes("*") ? ["*"] : values.exposed_headers,
    allowCredentials: values.allow_credentials,
    maxAgeSeconds: Math.floor(values.max_age / 1000),
  };
}
