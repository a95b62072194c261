import type { MetricRows } from "../../core/metric-row.ts";

/** Metrics of the cache. docs/cache.md */
export const CACHE_METRICS = {
  gateway_cache_requests_total: {
    kind: "counter",
    help: "Cache lookups, by result.",
    labels: ["result"],
    group: "Cache",
    title: "Cache lookups",
    advice:
      "If the share of `hit` falls, your origins forbid storing since a release (`bypass`), your keys vary more than needed, or the memory is too small (evictions).",
  },
  gateway_cache_entries: {
    kind: "gauge",
    help: "Stored responses.",
    labels: [],
    group: "Cache",
    title: "Stored responses",
    advice: "At `max_entries` edge removes older ones.",
  },
  gateway_cache_bytes: {
    kind: "gauge",
    help: "Bytes of memory that stored responses use.",
    labels: [],
    group: "Cache",
    title: "Memory of the cache",
    advice: "At `max_bytes` edge removes older ones: see evictions.",
  },
  gateway_cache_evictions_total: {
    kind: "counter",
    help: "Stored responses evicted to make room for others.",
    labels: [],
    group: "Cache",
    title: "Evictions",
    advice: "If evictions are steady and hits few, give the cache more memory, or keep large responses out of it.",
  },
  gateway_cache_purges_total: {
    kind: "counter",
    help: "Purges of the cache by operators, by kind.",
    labels: ["kind"],
    group: "Cache",
    title: "Purges",
    advice:
      "The lines `audit` name the operator and the purge. If you purge `all` again and again, you empty the cache for all clients: purge by tag.",
  },
  gateway_cache_disk_up: {
    kind: "gauge",
    help: "1 while stored responses are written to disk, else 0.",
    labels: [],
    group: "Cache",
    title: "Disk of the cache",
    advice: "0: nothing is written any more, the memory goes on. Find `cache_disk_failed` in your log for the reason.",
  },
  gateway_cache_disk_entries: {
    kind: "gauge",
    help: "Stored responses on disk.",
    labels: [],
    group: "Cache",
    title: "Responses on disk",
    advice: "It grows until your `cache.disk.max_bytes` is full.",
  },
  gateway_cache_disk_bytes: {
    kind: "gauge",
    help: "Bytes of disk that stored responses use.",
    labels: [],
    group: "Cache",
    title: "Bytes on disk",
    advice: "At its limit edge removes older ones.",
  },
  gateway_cache_disk_evictions_total: {
    kind: "counter",
    help: "Stored responses removed from disk to make room for others.",
    labels: [],
    group: "Cache",
    title: "Removed from disk",
    advice: "Steady removals: your disk's share is smaller than the responses in demand.",
  },
  gateway_cache_disk_missed_total: {
    kind: "counter",
    help: "Stored responses that were gone from memory before they were written to disk.",
    labels: [],
    group: "Cache",
    title: "Not written to disk in time",
    advice:
      "Your disk is slower than the cache fills, or the memory is too small for the time until edge has written an entry.",
  },
  gateway_cache_disk_reads_total: {
    kind: "counter",
    help: "Entries of the cache read from disk, by whether they were intact.",
    labels: ["result"],
    group: "Cache",
    title: "Reads from disk",
    advice: "`damaged`: your disk fails, or another program writes in the folder.",
  },
} as const satisfies MetricRows;
