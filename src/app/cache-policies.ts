import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { CachePolicy } from "../features/cache/policy.ts";
import { type Route, RouteKind } from "../message/route.ts";

/** What each route says of its answers in the cache, by number; the gateway's own endpoints are never in it. */
export function cachePolicies(config: RuntimeConfig, routes: readonly Route[]): (CachePolicy | null)[] {
  const own = routes.length - config.routes.length;
  return routes.map((route, index) => {
    const settings = index < own ? null : config.routes[index - own]!.cache;
    if (settings === null || !settings.enabled) return null;
    return {
      defaultTtlMs: settings.defaultTtlMs,
      maxPayloadBytes: config.server.cache.maxPayloadBytes,
      namesRequests: route.kind === RouteKind.Upstream,
    };
  });
}
