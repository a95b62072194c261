import { type Metric, single } from "../../../core/metric-row.ts";
import { CACHE_METRICS } from "../metrics.ts";
import type { DiskIndex } from "../store/disk-index.ts";

/** What the cache tells of itself. */
interface CacheStanding {
  readonly entries: number;
  readonly bytes: number;
  readonly evictions: number;
  /** Null without a disk. */
  readonly diskIndex: DiskIndex | null;
}

/** What the response cache holds. docs/cache.md#memory */
export function cacheMetrics(cache: CacheStanding): readonly Metric[] {
  return [
    single(CACHE_METRICS, "gateway_cache_entries", () => cache.entries),
    single(CACHE_METRICS, "gateway_cache_bytes", () => cache.bytes),
    single(CACHE_METRICS, "gateway_cache_evictions_total", () => cache.evictions),
    ...(cache.diskIndex === null ? [] : diskMetrics(cache.diskIndex)),
  ];
}

/** What is on disk. docs/cache.md#on-disk */
function diskMetrics(disk: DiskIndex): readonly Metric[] {
  return [
    single(CACHE_METRICS, "gateway_cache_disk_up", () => (disk.isWriting ? 1 : 0)),
    single(CACHE_METRICS, "gateway_cache_disk_entries", () => disk.entries),
    single(CACHE_METRICS, "gateway_cache_disk_bytes", () => disk.bytes),
    single(CACHE_METRICS, "gateway_cache_disk_evictions_total", () => disk.evictions),
    single(CACHE_METRICS, "gateway_cache_disk_missed_total", () => disk.missed),
  ];
}
