import { FAULTS } from "../core/fault.ts";

/**
 * Where each number stands in a worker's row of counters: one Float64 a place, in this order
 *
 *     Row members | a count a Fault of framing or TLS | blocked a WAF category | detected a WAF category | a count a cache
 *     result | latency | a block an upstream
 */
export const enum Row {
  // Gauges: they fall back to 0 when their worker dies.
  RequestsInFlight = 0,
  ActiveConnections,
  ActiveQuicStreams,
  /** Memory that waits for peers that do not read, in bytes. */
  UnsentBytes,
  // Counters: they never fall.
  AcceptedConnections,
  /** TLS handshakes that were completed in full. */
  FullHandshakes,
  /** TLS handshakes that resumed an earlier session. */
  ResumedHandshakes,
  /** Connections cut because too much waited for their peers. */
  ConnectionsAbandoned,
  /** Times that no more connections were accepted: too many, or no descriptors. */
  AcceptPausedFull,
  AcceptPausedDescriptors,
  /** Idle connections closed for others that waited. */
  IdleClosed,
  WafInspected,
  /** Inspections that were given up because they took more steps than any honest request does. */
  WafBudgetExhausted,
  BodyBytesIn,
  BodyBytesOut,
  LogLinesDropped,
  /** Characters of log batches that the worker sent to the control thread. */
  LogCharsSent,
  /** Characters that the control thread took from it: the one place that the control thread writes. */
  LogCharsTaken,
  Count,
}

/** Rows from 0 to this one are gauges. */
export const LAST_GAUGE = Row.UnsentBytes;

/** Labels of the WAF's categories; any other name is counted as the last. docs/waf.md#rules */
export const WAF_CATEGORIES: readonly string[] = [
  "traversal",
  "sqli",
  "xss",
  "rce",
  "lfi",
  "rfi",
  "ssrf",
  "log4j",
  "scanner",
  "protocol",
  "over_limit",
  "other",
];

/** Upper bounds of the latency buckets in milliseconds, 100 µs to 10 s; one more bucket takes what is slower. */
export const LATENCY_BOUNDS_MS: readonly number[] = [
  0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000,
];

/** Places of one histogram: the buckets, the slower ones, the sum in milliseconds. */
export const LATENCY_PLACES = LATENCY_BOUNDS_MS.length + 2;
/** Place of the sum within a histogram. */
export const LATENCY_SUM = LATENCY_BOUNDS_MS.length + 1;

/** Upstreams with counters of their own, the overflow included. */
export const MAX_UPSTREAM_LABELS = 256;
/** Route labels with counters of their own, the overflow included. */
export const MAX_ROUTE_LABELS = 8192;

export const FRAMING_AT: number = Row.Count;
export const WAF_BLOCKED_AT: number = FRAMING_AT + FAULTS.length;
export const WAF_DETECTED_AT: number = WAF_BLOCKED_AT + WAF_CATEGORIES.length;
/** A count for each thing that the cache may do for a request. */
export const CACHE_AT: number = WAF_DETECTED_AT + WAF_CATEGORIES.length;
export const CACHE_PLACES = 16;
export const LATENCY_AT: number = CACHE_AT + CACHE_PLACES;
/** A block an upstream: its latency, then its breaker trips. */
export const UPSTREAMS_AT: number = LATENCY_AT + LATENCY_PLACES;
export const UPSTREAM_PLACES: number = LATENCY_PLACES + 1;
export const UPSTREAM_TRIPS: number = LATENCY_PLACES;
export const ROW_PLACES: number = UPSTREAMS_AT + MAX_UPSTREAM_LABELS * UPSTREAM_PLACES;

/** The index of a WAF category. */
export function wafCategoryIndex(category: string): number {
  const index = WAF_CATEGORIES.indexOf(category);
  return index < 0 ? WAF_CATEGORIES.length - 1 : index;
}
