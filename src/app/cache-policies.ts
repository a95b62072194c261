import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { CachePolicy } from "../features/cache/policy.ts";
import type { Route } from "../message/route.ts";
import { settingsByIndex } from "./routing.ts";

/** What each route says of its answers in the cache, by number; the gateway's own endpoints are never in it. */
export function cachePolicies(config: RuntimeConfig, routes: readonly Route[]): (CachePolicy | null)[] {
  const { cache, tls } = config.server;
  return settingsByIndex(config, routes).map((settings, index) => {
    if (settings === null || !settings.cache.enabled) return null;
    const { kind } = routes[index]!;
    return {
      defaultTtlMs: settings.cache.defaultTtlMs,
      maxPayloadBytes: cache.maxPayloadBytes,
      namesRequests: kind.namesRequests,
      bypassesCookies: cache.cookies === "bypass",
      demandsCertificates: tls.enabled && tls.clientAuth === "require",
      isConfirmed: kind.confirmsStored,
    };
  });
}
