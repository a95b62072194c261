import type { TranscodedRouteConfig } from "../config/mesh-config.ts";
import type { HeaderEdits, HeaderOperations, RouteConfig, UpstreamRouteConfig } from "../config/route-config.ts";
import type { RateLimitConfig, RuntimeConfig } from "../config/runtime-config.ts";
import { isSecretName, MASK } from "../core/secret-name.ts";
import type { TargetStatus } from "./route-type.ts";
import { routeTypeOf } from "./route-types.ts";

/** A route of a sidecar's listener: the application behind the inbound one, the splits of the outbound one. */
export interface ListenerRoute {
  readonly listener: string;
  readonly route: UpstreamRouteConfig;
}

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
  return {
    type: route.type,
    ...(route.path === "" ? { prefix: route.prefix } : { path: route.path }),
    methods: route.methods,
    host: route.hosts,
    ...routeTypeOf(route).explain(route, statusOf),
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
