import { type Metric, single } from "../features/telemetry/metric.ts";
import type { CacheKeeper } from "./cache-keeper.ts";

/** What the response cache holds. docs/cache.md#memory */
export function cacheMetrics(keeper: CacheKeeper): readonly Metric[] {
  return [
    single("gauge", "gateway_cache_entries", "Stored responses.", () => keeper.entries),
    single("gauge", "gateway_cache_bytes", "Bytes of memory that stored responses use.", () => keeper.bytes),
    single(
      "counter",
      "gateway_cache_evictions_total",
      "Stored responses evicted to make room for others.",
      () => keeper.evictions,
    ),
  ];
}
