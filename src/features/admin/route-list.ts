import type { TranscodedRouteConfig } from "../../config/mesh-config.ts";
import type {
  HeaderEdits,
  HeaderOperations,
  RouteConfig,
  StaticRouteConfig,
  TargetConfig,
  UpstreamRouteConfig,
} from "../../config/route-config.ts";
import type { RateLimitConfig, RuntimeConfig } from "../../config/runtime-config.ts";
import { isSecretName, MASK, withoutCredentials } from "../../core/secret-name.ts";

/** A route of a sidecar's listener: the application behind the inbound one, the splits of the outbound one. */
export interface ListenerRoute {
  readonly listener: string;
  readonly route: UpstreamRouteConfig;
}

/** The state of a target of a route (null for a transcoded one), such as `CLOSED`. docs/upstreams.md#circuit-breaker */
export type TargetStatus = (originKey: string, route: UpstreamRouteConfig | null) => string;

/**
 * The body of `/internal/api/routes`: every active route with its effective values, static and transcoded ones too.
 * docs/endpoints.md#routes. An empty `methods` or `host` is "any". Secret header values
 * are masked. Routes of a sidecar have the type `sidecar`, and name their `listener`.
 */
export function routeList(
  config: RuntimeConfig,
  statusOf: TargetStatus,
  ofSidecar: readonly ListenerRoute[] = [],
): object {
  const transcoded = config.transcoder.enabled ? config.transcoder.routes : [];
  const routes = [
    ...config.routes.map((route) => describeRoute(route, statusOf)),
    ...transcoded.map((route) => describeTranscoded(route, config.transcoder.maxBodyBytes, statusOf)),
    ...ofSidecar.map(({ listener, route }) => ({ ...describeRoute(route, statusOf), type: "sidecar", listener })),
  ];
  return { total: routes.length, routes };
}

function describeRoute(route: RouteConfig, statusOf: TargetStatus): object {
  const base = {
    type: route.type,
    ...(route.path === "" ? { prefix: route.prefix } : { path: route.path }),
    methods: route.type === "static" ? STATIC_METHODS : route.methods,
    host: route.hosts,
  };
  const own = route.type === "static" ? describeStatic(route) : describeUpstream(route, statusOf);
  return {
    ...base,
    ...own,
    headers: describeHeaders(route.headers),
    inbound_chunked_mode: route.inboundChunkedMode,
    max_body_bytes: route.maxBodyBytes,
    cache: { enabled: route.cache.enabled, default_ttl_ms: route.cache.defaultTtlMs },
    rate_limit: describeRateLimit(route.rateLimit),
  };
}

function describeRateLimit(limit: RateLimitConfig): object {
  if (!limit.enabled) return { enabled: false };
  return { enabled: true, requests: limit.requests, window_ms: limit.windowMs, burst: limit.burst };
}

/** Where the files lie is nobody's business who only asks which routes there are. */
function describeStatic(route: StaticRouteConfig): object {
  return { targets: [], spa: route.spa, fallback: route.fallback, cache_control: route.cacheControl };
}

function describeUpstream(route: UpstreamRouteConfig, statusOf: TargetStatus): object {
  const { loadBalancing, circuitBreaker, healthCheck, timeouts } = route;
  return {
    targets: route.targets.map((target) => describeTarget(target, statusOf(target.originKey, route))),
    load_balancing: { policy: loadBalancing.policy, key: loadBalancing.keyName },
    strip_prefix: route.stripPrefix,
    preserve_host: route.preserveHost,
    retries: { attempts: route.retryAttempts },
    timeouts: {
      connect_ms: timeouts.connectMs,
      response_header_ms: timeouts.responseHeaderMs,
      idle_ms: timeouts.idleMs,
      total_ms: timeouts.totalMs,
    },
    circuit_breaker: {
      enabled: circuitBreaker.enabled,
      failure_threshold: circuitBreaker.failureThreshold,
      open_duration_ms: circuitBreaker.openDurationMs,
      failure_statuses: circuitBreaker.failureStatuses,
      slow_start_ms: circuitBreaker.slowStartMs,
    },
    health_check: {
      enabled: healthCheck.enabled,
      path: withoutCredentials(healthCheck.path),
      interval_ms: healthCheck.intervalMs,
    },
  };
}

function describeTarget(target: TargetConfig, status: string): object {
  return { url: target.url, weight: target.weight, backup: target.backup, status };
}

function describeTranscoded(route: TranscodedRouteConfig, maxBodyBytes: number, statusOf: TargetStatus): object {
  const { upstream } = route;
  return {
    type: "transcoded",
    path: route.httpPath,
    methods: [route.httpMethod],
    host: [],
    targets: [
      {
        url: `${upstream.originKey}${upstream.basePath}`,
        weight: 1,
        backup: false,
        status: statusOf(upstream.originKey, null),
      },
    ],
    grpc_method: route.grpcMethod,
    field_mappings: Object.fromEntries(route.fieldMappings.map(({ param, field }) => [param, field])),
    timeout_ms: route.timeoutMs,
    max_body_bytes: maxBodyBytes,
  };
}

function describeHeaders(operations: HeaderOperations): object {
  return { request: describeEdits(operations.request), response: describeEdits(operations.response) };
}

function describeEdits(edits: HeaderEdits): object {
  const shown = (values: HeaderEdits["set"]) =>
    values.map(({ name, value }) => ({ name, value: isSecretName(name) ? MASK : value }));
  return { set: shown(edits.set), add: shown(edits.add), remove: edits.remove };
}

/** docs/files.md#paths */
const STATIC_METHODS: readonly string[] = ["GET", "HEAD"];
