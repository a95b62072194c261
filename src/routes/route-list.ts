import type { TranscodedRouteConfig } from "../features/transcode/transcoded-route.ts";
import type { RouteConfig } from "./route-config.ts";
import { explainOptions } from "./route-options.ts";
import type { TargetStatus } from "./route-type.ts";
import { routeTypeOf } from "./route-types.ts";
import type { RuntimeConfig } from "./runtime-config.ts";
import type { StreamConfig } from "./streams/stream-config.ts";
import type { UpstreamRouteConfig } from "./upstream/upstream-config.ts";
import { explainTarget } from "./upstream/upstream-route.ts";

/** A route of a sidecar's listener: the application behind the inbound one, the splits of the outbound one. */
export interface ListenerRoute {
  readonly listener: string;
  readonly route: UpstreamRouteConfig;
}

/**
 * The body of `/internal/api/routes`: every active route with its effective values, static and transcoded ones too.
 * docs/endpoints.md#routes. An empty `methods` or `host` is "any". Secret header values
 * are masked. Routes of a sidecar have the type `sidecar`, and name their `listener`; streams have a `name`.
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
    ...config.streams.map((stream) => describeStream(stream, statusOf)),
  ];
  return { total: routes.length, routes };
}

function describeStream(stream: StreamConfig, statusOf: TargetStatus): object {
  const { type, path, hosts, policy, maxConnections, timeouts, idleTimeoutMs, retryAttempts, sendProxy } = stream;
  return {
    type,
    name: path,
    host: hosts,
    targets: stream.targets.map((target) => explainTarget(target, statusOf(target.originKey, stream))),
    load_balancing: { policy },
    retries: { attempts: retryAttempts },
    timeouts: { connect_ms: timeouts.connectMs, idle_ms: idleTimeoutMs },
    send_proxy: sendProxy,
    max_connections: maxConnections,
    health_check: { enabled: stream.healthCheck.enabled },
  };
}

function describeRoute(route: RouteConfig, statusOf: TargetStatus): object {
  return {
    type: route.type,
    ...placeOf(route),
    methods: route.methods,
    host: route.hosts,
    ...routeTypeOf(route).explain(route, statusOf),
    ...explainOptions(route),
    ...(route.source === undefined ? {} : { source: route.source, source_name: route.position.file }),
  };
}

/** Where a route is, as the file says it. */
function placeOf({ path, prefix, regex, isByRegex }: RouteConfig): object {
  const place = path === "" ? { prefix } : { path };
  return { ...(isByRegex ? {} : place), ...(regex === "" ? {} : { regex }) };
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
        ...statusOf(upstream.originKey, null),
      },
    ],
    grpc_method: route.grpcMethod,
    field_mappings: Object.fromEntries(route.fieldMappings.map(({ param, field }) => [param, field])),
    timeout_ms: route.timeoutMs,
    max_body_bytes: maxBodyBytes,
  };
}
