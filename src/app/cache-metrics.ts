import { type Metric, single } from "../features/telemetry/metric.ts";
import type { CacheKeeper } from "./cache-keeper.ts";

/** What the response cache holds. docs/cache.md#memory */
export function cacheMetrics(keeper: CacheKeeper): readonly Metric[] {
  return [
    single("gauge", "gateway_cache_entries", "Stored answers.", () => keeper.entries),
    single("gauge", "gateway_cache_bytes", "Memory in use by stored answers.", () => keeper.bytes),
    single(
      "counter",
      "gateway_cache_evictions_total",
      "Stored answers that had to make way for others.",
      () => keeper.evictions,
    ),
  ];
}
