import { KeyRules } from "../features/cache/key-rules.ts";
import type { CachePolicy } from "../features/cache/policy.ts";
import type { CacheBuffers } from "../features/cache/store/cache-memory.ts";
import { CacheStore } from "../features/cache/store/cache-store.ts";
import { DiskIndex } from "../features/cache/store/disk-index.ts";
import type { Route } from "../message/exchange.ts";
import { sentEdits } from "../routes/header-operations.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { sentPlace } from "../routes/sent-place.ts";
import { demandOf } from "../settings/server-settings.ts";
import { settingsByIndex } from "./routing.ts";

/**
 * A worker's hand on the cache's memory: one for each memory, however often the configuration changes, since it counts the
 * worker's own pins.
 */
export class WorkerCache {
  store: CacheStore | null = null;
  private version = 0;

  /** The store in this memory: the one in use where the memory stays. `use` takes it up. */
  storeIn(buffers: CacheBuffers | null, worker: number): CacheStore | null {
    if (buffers === null) return null;
    if (buffers.version === this.version && this.store !== null) return this.store;
    return new CacheStore(buffers, worker, buffers.disk === null ? null : new DiskIndex(buffers.disk, worker));
  }

  /** Takes up a store from `storeIn` of the same memory. */
  use(store: CacheStore | null, buffers: CacheBuffers | null): void {
    this.store = store;
    this.version = buffers === null ? 0 : buffers.version;
  }
}

/** What each route says of its responses in the cache, by number; the gateway's own endpoints are never in it. */
export function cachePolicies(config: RuntimeConfig, routes: readonly Route[]): (CachePolicy | null)[] {
  const { cache } = config.server;
  const demandsCertificates = demandOf(config.server).clientAuth === "require";
  const passedFields = config.server.passIdentityHeaders.map((name) => name.toLowerCase());
  return settingsByIndex(config, routes).map((settings, index) => {
    const { kind } = routes[index]!;
    if (settings === null || !settings.cache.enabled || !kind.isStorable) return null;
    const key = keyRules(settings);
    return {
      defaultTtlMs: settings.cache.defaultTtlMs,
      maxPayloadBytes: cache.maxPayloadBytes,
      namesRequests: kind.namesRequests,
      bypassesCookies: cache.cookies === "bypass",
      demandsCertificates,
      isConfirmed: kind.confirmsStored,
      passedFields,
      mayChange: ("hooks" in settings && settings.hooks !== null) || key !== null,
      key,
    };
  });
}

function keyRules(route: RouteConfig): KeyRules | null {
  const { cache, compression, headers } = route;
  const { key } = cache;
  const place = sentPlace(route);
  const { drop, allow, sort } = key.query;
  const isPlain = drop.length === 0 && allow === null && !sort && key.headers.length + key.cookies.length === 0;
  if (isPlain && key.acceptEncoding === "exact" && place === null) return null;
  return new KeyRules(key, compression.enabled, sentEdits(headers.request) ?? undefined, place);
}
