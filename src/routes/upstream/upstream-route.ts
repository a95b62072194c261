import { formatDuration } from "../../config/duration.ts";
import { speaksHttp2 } from "../../config/origin.ts";
import type { TargetConfig, UpstreamRouteConfig } from "../../config/route-config.ts";
import { upstreamTls } from "../../config/upstream-tls.ts";
import { MANY_ROUTES } from "../../core/limits.ts";
import { withoutCredentials } from "../../core/secret-name.ts";
import { targetChoice } from "../../features/balance/balancer.ts";
import { namesChanged } from "../../features/forward/header-edits.ts";
import type { Handler } from "../../message/pipeline.ts";
import { RouteKind } from "../../message/route.ts";
import type { RouteShape, RouteSite, RouteType, TargetStatus } from "../route-type.ts";
import { forwardHandler, targetsOf } from "./forward-route.ts";
import { LateHandler } from "./late-handler.ts";
import { upstreamKeys } from "./upstream-keys.ts";
import { resolveUpstream } from "./upstream-resolution.ts";

/** The row of `type: upstream`: requests go to other servers. docs/upstreams.md#upstreams */
export const UPSTREAM_ROUTE: RouteType<UpstreamRouteConfig, typeof upstreamKeys> = {
  what: "another server",
  sentence: 'an upstream route sends requests to "target"',
  foreignWords: ["proxy", "reverse_proxy", "http", "grpc", "backend"],
  marks: ["target", "targets"],
  keys: upstreamKeys,
  resolve: resolveUpstream,
  list,
  explain,
  shape,
  build,
};

function list(route: UpstreamRouteConfig): object {
  const { loadBalancing, healthCheck, timeouts } = route;
  const isKeyed = loadBalancing.policy === "header" || loadBalancing.policy === "cookie";
  return {
    methods: route.methods,
    targets: route.targets.map(({ url, weight, backup }) => ({ url, weight, backup })),
    load_balancing: {
      policy: loadBalancing.policy,
      ...(isKeyed ? { [loadBalancing.policy]: loadBalancing.keyName } : {}),
    },
    health_check: {
      enabled: healthCheck.enabled,
      ...(healthCheck.path === "" ? {} : { path: withoutCredentials(healthCheck.path) }),
      interval: formatDuration(healthCheck.intervalMs),
      timeout: formatDuration(healthCheck.timeoutMs),
      healthy_threshold: healthCheck.healthyThreshold,
      unhealthy_threshold: healthCheck.unhealthyThreshold,
      expect_status: `${healthCheck.expectStatusFrom}-${healthCheck.expectStatusTo}`,
    },
    circuit_breaker: {
      enabled: route.circuitBreaker.enabled,
      failure_threshold: route.circuitBreaker.failureThreshold,
      open_duration: formatDuration(route.circuitBreaker.openDurationMs),
      failure_statuses: route.circuitBreaker.failureStatuses,
      slow_start: formatDuration(route.circuitBreaker.slowStartMs),
    },
    retries: { attempts: route.retryAttempts },
    timeouts: {
      connect: formatDuration(timeouts.connectMs),
      response_header: formatDuration(timeouts.responseHeaderMs),
      idle: formatDuration(timeouts.idleMs),
      total: formatDuration(timeouts.totalMs),
    },
    strict_origins: route.strictOrigins,
    preserve_host: route.preserveHost,
    strip_prefix: route.stripPrefix,
    tls: upstreamTls.write(route.tls),
  };
}

function explain(route: UpstreamRouteConfig, statusOf: TargetStatus): object {
  const { loadBalancing, circuitBreaker, healthCheck, timeouts } = route;
  return {
    targets: route.targets.map((target) => explainTarget(target, statusOf(target.originKey, route))),
    load_balancing: { policy: loadBalancing.policy, key: loadBalancing.keyName },
    strip_prefix: route.stripPrefix,
    strict_origins: route.strictOrigins,
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

function explainTarget(target: TargetConfig, status: string): object {
  return { url: target.url, weight: target.weight, backup: target.backup, status };
}

function shape(route: UpstreamRouteConfig): RouteShape {
  return {
    kind: RouteKind.Upstream,
    methods: route.methods,
    stripPrefix: route.stripPrefix,
    streamsHttp2: route.targets.every(({ scheme }) => speaksHttp2(scheme)),
    ownFields: namesChanged(route.headers.request),
  };
}

/** Where there are thousands of routes, the objects of each wait for its first request; files are read at once. */
function build(route: UpstreamRouteConfig, site: RouteSite): Handler {
  const make = () => handlerOf(route, site);
  const readsFiles = route.tls.caFile !== "" || route.tls.clientCertificate.certFile !== "";
  return site.config.routes.length < MANY_ROUTES || readsFiles ? make() : new LateHandler(make);
}

/** Without `proxy.enabled` no target is there. */
function handlerOf(route: UpstreamRouteConfig, site: RouteSite): Handler {
  const isEnabled = site.config.proxy.enabled;
  const targets = isEnabled ? targetsOf(route, (target) => site.poolOf(target, route), site) : [];
  return forwardHandler(route, targetChoice(route.loadBalancing, targets, Math.random), site.forward);
}
