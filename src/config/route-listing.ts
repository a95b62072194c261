import { isSecretName, MASK, withoutCredentials } from "../core/secret-name.ts";
import { formatDuration } from "./duration.ts";
import { ipRules, rateLimit } from "./policy-settings.ts";
import type { HeaderEdits, RouteConfig, UpstreamRouteConfig } from "./route-config.ts";
import { formatSize } from "./size.ts";
import { upstreamTls } from "./upstream-tls.ts";

/** One route as routes.yaml would state it, every inherited value written out. */
export function listRoute(route: RouteConfig): object {
  return {
    type: route.type,
    ...(route.path === "" ? { prefix: route.prefix } : { path: route.path }),
    host: route.hosts,
    ...(route.type === "static"
      ? { dir: route.dir, spa: route.spa, fallback: route.fallback, cache_control: route.cacheControl }
      : listUpstream(route)),
    inbound_chunked_mode: route.inboundChunkedMode,
    max_body_bytes: formatSize(route.maxBodyBytes),
    cache: { enabled: route.cache.enabled, default_ttl: formatDuration(route.cache.defaultTtlMs) },
    // The server's own limit is stated once, there: here it would become a second one.
    ...(route.rateLimit.scope === "route" ? { rate_limit: rateLimit.write(route.rateLimit) } : {}),
    ip_rules: ipRules.write(route.ipRules),
    headers: { request: listEdits(route.headers.request), response: listEdits(route.headers.response) },
  };
}

function listUpstream(route: UpstreamRouteConfig): object {
  const { loadBalancing, healthCheck, timeouts, tls } = route;
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
    preserve_host: route.preserveHost,
    strip_prefix: route.stripPrefix,
    tls: upstreamTls.write(tls),
  };
}

function listEdits(edits: HeaderEdits): object {
  return { set: listValues(edits.set), add: listValues(edits.add), remove: edits.remove };
}

function listValues(values: HeaderEdits["set"]): object {
  const byName = Map.groupBy(values, ({ name }) => name);
  const shown = [...byName].map(([name, all]) => [name, all.map(({ value }) => (isSecretName(name) ? MASK : value))]);
  return Object.fromEntries(shown);
}
