import { NO_MATCH } from "../../config/match-settings.ts";
import { type OriginScheme, originOf, type TargetConfig } from "../../config/origin.ts";
import { NO_AUTH } from "../../features/auth/settings.ts";
import { NO_KEY_RULES } from "../../features/cache/key-settings.ts";
import type { TrafficSplit } from "../../features/sidecar/settings.ts";
import { NO_HEADER_EDITS } from "../header-operations.ts";
import type { ListenerRoute } from "../route-list.ts";
import type { RuntimeConfig } from "../runtime-config.ts";
import type { UpstreamRouteConfig } from "./upstream-config.ts";

/** The label of requests that come in, and of those that go out to where they say themselves. */
export const INGRESS_LABEL = "sidecar-ingress";
export const EGRESS_LABEL = "sidecar-egress";

/**
 * A sidecar's traffic as upstream routes, so that it goes the way of all other traffic: those of the application beside it, then one a
 * split.
 */
export function sidecarRoutes(config: RuntimeConfig): readonly UpstreamRouteConfig[] {
  const { sidecar } = config;
  if (!sidecar.enabled) return [];
  const outbound = sidecar.mode === "ingress" ? [] : sidecar.trafficSplits;
  return [...appRoutes(config), ...outbound.map((split) => sidecarRoute(config, split.prefix, split.backends, split))];
}

/** The routes of `sidecarRoutes`, for listings. */
export function listedSidecarRoutes(config: RuntimeConfig): readonly ListenerRoute[] {
  const inbound = appRoutes(config).length;
  return sidecarRoutes(config).map((route, i) => ({ listener: i < inbound ? INGRESS_LABEL : EGRESS_LABEL, route }));
}

/**
 * The routes to the application on the local interface, one a protocol that it is spoken to by: with `auto`, the second is for gRPC. None
 * if nothing comes in.
 */
export function appRoutes(config: RuntimeConfig): readonly UpstreamRouteConfig[] {
  const { mode, appPort, appProtocol } = config.sidecar;
  if (mode === "egress") return [];
  const schemes: readonly OriginScheme[] =
    appProtocol === "auto" ? ["http", "h2c"] : [appProtocol === "h2c" ? "h2c" : "http"];
  return schemes.map((scheme) => {
    const app = originOf(scheme, "127.0.0.1", appPort, "");
    return sidecarRoute(config, "/", [{ ...app, url: app.originKey, weight: 1, backup: false }]);
  });
}

/** The way out if no split takes a request: its targets are found when it comes. */
export function directRoute(config: RuntimeConfig): UpstreamRouteConfig {
  return sidecarRoute(config, "/", []);
}

const NO_EXPRESSION = { regex: "", isByRegex: false } as const;

/** Chances stay what the weights say, unless a split has a breaker. docs/sidecar.md#splits */
function sidecarRoute(
  config: RuntimeConfig,
  prefix: string,
  targets: readonly TargetConfig[],
  { hosts, match, timeouts, retryAttempts, circuitBreaker }: SplitTerms = USUAL,
): UpstreamRouteConfig {
  const { sidecar, proxy, server } = config;
  const { connectTimeoutMs, responseHeaderTimeoutMs } = proxy.transport;
  return {
    ...NO_FURTHER_PARTS,
    type: "upstream",
    position: { file: "", line: 0, col: 0 },
    ...NO_EXPRESSION,
    prefix,
    path: "",
    methods: [],
    hosts,
    match: match === null ? null : { ...NO_MATCH, ...match },
    listeners: [],
    inboundChunkedMode: sidecarChunkedMode(config),
    maxBodyBytes: sidecar.maxBodyBytes,
    acmeChallenge: "gateway",
    cache: { enabled: false, defaultTtlMs: 0, key: NO_KEY_RULES },
    compression: { ...server.compression, enabled: false, isOwn: false },
    rateLimit: { ...server.rateLimit, enabled: false },
    auth: NO_AUTH,
    ipRules: { allow: [], deny: [], allowCountries: [], denyCountries: [], denyAsns: [] },
    bots: { ...server.bots, enabled: false, isOwn: false },
    waf: null,
    cors: null,
    accessLog: null,
    securityHeaders: null,
    allowedMethods: null,
    errors: null,
    maintenance: null,
    ...{ rewriteLocation: null, rewriteCookies: null, sign: null },
    headers: { request: NO_HEADER_EDITS, response: NO_HEADER_EDITS },
    targets,
    loadBalancing: { policy: "random", keyName: "", cookie: null },
    healthCheck: NO_CHECK,
    ...{ circuitBreaker, retryAttempts, retryStatuses: [], retryBackoffMs: 0 },
    timeouts: {
      ...timeouts,
      connectMs: timeouts.connectMs ?? connectTimeoutMs,
      responseHeaderMs: timeouts.responseHeaderMs ?? responseHeaderTimeoutMs,
    },
    strictOrigins: true,
    ...KEPT_HOST,
    grpcWeb: false,
    stripPrefix: false,
    tls: {
      caFile: sidecar.caFile,
      clientCertificate: sidecar.certificate,
      serverName: "",
      altNames: [],
      insecureSkipVerify: sidecar.insecureSkipVerify,
      isInternal: false,
    },
  };
}

/** Parts of a route that a sidecar's have none of. */
const NO_FURTHER_PARTS = {
  rewrite: null,
  targetMap: null,
  service: null,
  hedge: null,
  mirrors: [],
  hooks: null,
  ai: null,
  fastcgi: null,
  rewriteBody: null,
  ssi: null,
  uwsgi: null,
  scgi: null,
  concurrency: null,
  waitingRoom: null,
  priority: "normal",
  limitRate: 0,
  slo: null,
  canary: null,
} as const;

/** How chunked bodies are taken: as the edge takes them, but that `buffer` says whether they stream. docs/sidecar.md#bodies */
export function sidecarChunkedMode({ sidecar, proxy }: RuntimeConfig): UpstreamRouteConfig["inboundChunkedMode"] {
  const mode = proxy.transport.inboundChunkedMode;
  if (mode === "reject" || sidecar.buffer === null) return mode;
  return sidecar.buffer ? "normalize" : "passthrough";
}

/** What a split says beside prefix and backends. */
type SplitTerms = Pick<TrafficSplit, "hosts" | "match" | "timeouts" | "retryAttempts" | "circuitBreaker">;

/** If no split says otherwise. */
const USUAL: SplitTerms = {
  hosts: [],
  match: null,
  timeouts: { connectMs: null, responseHeaderMs: null, idleMs: 0, totalMs: 0 },
  retryAttempts: 1,
  circuitBreaker: {
    enabled: false,
    failureThreshold: 0,
    openDurationMs: 0,
    failureStatuses: [],
    successRate: 0,
    successRateRequests: 0,
    slowStartMs: 0,
  },
};

const NO_CHECK: UpstreamRouteConfig["healthCheck"] = {
  enabled: false,
  grpc: false,
  path: "",
  host: "",
  method: "GET",
  headers: [],
  port: 0,
  body: "",
  intervalMs: 0,
  timeoutMs: 0,
  healthyThreshold: 1,
  unhealthyThreshold: 1,
  expectStatusFrom: 200,
  expectStatusTo: 399,
};

const KEPT_HOST = { preserveHost: true, hostHeader: "" } as const;
