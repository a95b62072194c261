import { originOf } from "../config/origin.ts";
import type { TargetConfig, UpstreamRouteConfig } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { NO_HEADER_EDITS } from "../routes/header-operations.ts";
import type { ListenerRoute } from "../routes/route-list.ts";

/** The label of requests that come in, and of those that go out to where they say themselves. */
export const INGRESS_LABEL = "sidecar-ingress";
export const EGRESS_LABEL = "sidecar-egress";

/**
 * A sidecar's traffic as upstream routes, so that it goes the way of all other traffic: the application beside it (the first,
 * where it listens for inbound requests), then one a split.
 */
export function sidecarRoutes(config: RuntimeConfig): readonly UpstreamRouteConfig[] {
  const { sidecar } = config;
  if (!sidecar.enabled) return [];
  const inbound = sidecar.mode === "egress" ? [] : [appRoute(config)];
  const outbound = sidecar.mode === "ingress" ? [] : sidecar.trafficSplits;
  return [...inbound, ...outbound.map((split) => sidecarRoute(config, split.prefix, split.backends))];
}

/** The routes of `sidecarRoutes`, for listings. */
export function listedSidecarRoutes(config: RuntimeConfig): readonly ListenerRoute[] {
  const isInbound = (i: number) => i === 0 && config.sidecar.mode !== "egress";
  return sidecarRoutes(config).map((route, i) => ({ listener: isInbound(i) ? INGRESS_LABEL : EGRESS_LABEL, route }));
}

/** The route to the application on the local interface. */
export function appRoute(config: RuntimeConfig): UpstreamRouteConfig {
  const app = originOf("http", "127.0.0.1", config.sidecar.appPort, "");
  return sidecarRoute(config, "/", [{ ...app, url: app.originKey, weight: 1, backup: false }]);
}

/** The way out where no split takes a request: its targets are found when it comes. */
export function directRoute(config: RuntimeConfig): UpstreamRouteConfig {
  return sidecarRoute(config, "/", []);
}

/** Chances stay what the weights say, so no breaker takes a backend out. docs/sidecar.md#splits */
function sidecarRoute(config: RuntimeConfig, prefix: string, targets: readonly TargetConfig[]): UpstreamRouteConfig {
  const { sidecar, proxy, server } = config;
  const { connectTimeoutMs, responseHeaderTimeoutMs } = proxy.transport;
  return {
    type: "upstream",
    position: { file: "", line: 0, col: 0 },
    prefix,
    path: "",
    methods: [],
    hosts: [],
    inboundChunkedMode: "normalize",
    maxBodyBytes: sidecar.maxBodyBytes,
    cache: { enabled: false, defaultTtlMs: 0 },
    rateLimit: { ...server.rateLimit, enabled: false },
    ipRules: { allow: [], deny: [] },
    headers: { request: NO_HEADER_EDITS, response: NO_HEADER_EDITS },
    targets,
    loadBalancing: { policy: "random", keyName: "" },
    healthCheck: NO_CHECK,
    circuitBreaker: { enabled: false, failureThreshold: 0, openDurationMs: 0, failureStatuses: [], slowStartMs: 0 },
    retryAttempts: 1,
    timeouts: { connectMs: connectTimeoutMs, responseHeaderMs: responseHeaderTimeoutMs, idleMs: 0, totalMs: 0 },
    strictOrigins: true,
    preserveHost: true,
    stripPrefix: false,
    tls: {
      caFile: sidecar.caFile,
      clientCertificate: sidecar.certificate,
      serverName: "",
      insecureSkipVerify: sidecar.insecureSkipVerify,
    },
  };
}

const NO_CHECK = {
  enabled: false,
  path: "",
  intervalMs: 0,
  timeoutMs: 0,
  healthyThreshold: 1,
  unhealthyThreshold: 1,
  expectStatusFrom: 200,
  expectStatusTo: 399,
} as const;
