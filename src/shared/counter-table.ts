import type { Fault } from "../core/fault.ts";
import {
  CACHE_AT,
  COUNTERS,
  type CounterRow,
  FRAMING_AT,
  LATENCY_AT,
  LATENCY_BOUNDS_MS,
  LATENCY_SUM,
  MAX_ROUTE_LABELS,
  ROW_PLACES,
  UPSTREAM_PLACES,
  UPSTREAM_TRIPS,
  UPSTREAMS_AT,
  WAF_BLOCKED_AT,
  WAF_DETECTED_AT,
  wafCategoryIndex,
} from "./counter-rows.ts";
import { OVERFLOW_ID } from "./label-registry.ts";
import { requestKey } from "./series-key.ts";
import { createSeriesTable, SeriesWriter } from "./series-table.ts";

/** One worker's counters in shared memory: the control thread makes them, keeps them, and gives them to each successor. */
export interface CounterBuffers {
  readonly rows: SharedArrayBuffer;
  readonly requests: SharedArrayBuffer;
  readonly upstreamRequests: SharedArrayBuffer;
  readonly rateLimited: SharedArrayBuffer;
}

/** The numbers of the labels, from the control thread's registries, sent with each configuration. */
export interface CounterLabels {
  readonly routes: ReadonlyMap<string, number>;
  readonly upstreams: ReadonlyMap<string, number>;
}

/** Makes the counters of one worker, all 0. */
export function createCounterBuffers(): CounterBuffers {
  return {
    rows: new SharedArrayBuffer(ROW_PLACES * 8),
    requests: createSeriesTable(REQUEST_SERIES),
    upstreamRequests: createSeriesTable(UPSTREAM_SERIES),
    rateLimited: createSeriesTable(MAX_ROUTE_LABELS),
  };
}

/** Sets the gauges of a worker that is gone to 0; its counters stay. */
export function resetGauges(buffers: CounterBuffers): void {
  const rows = new Float64Array(buffers.rows);
  for (const { at, isGauge } of Object.values(COUNTERS)) if (isGauge) rows[at] = 0;
}

/**
 * A worker's own counters. Every call is a few increments of typed arrays that this thread alone writes; the control
 * thread reads them when it is asked (CounterTotals) and accepts numbers that are a moment old.
 */
export class WorkerCounters {
  private readonly rows: Float64Array;
  private readonly requests: SeriesWriter;
  private readonly upstreamRequests: SeriesWriter;
  private readonly rateLimits: SeriesWriter;
  private readonly bounds: Float64Array = Float64Array.from(LATENCY_BOUNDS_MS);
  private labels: CounterLabels;

  /** Takes over the counters, be they new or those of a worker that died. */
  constructor(buffers: CounterBuffers, labels: CounterLabels) {
    resetGauges(buffers);
    this.rows = new Float64Array(buffers.rows);
    this.rows[COUNTERS.logCharsSent.at] = this.rows[COUNTERS.logCharsTaken.at]!;
    this.requests = new SeriesWriter(buffers.requests);
    this.upstreamRequests = new SeriesWriter(buffers.upstreamRequests);
    this.rateLimits = new SeriesWriter(buffers.rateLimited);
    this.labels = labels;
  }

  /** Takes the labels of a new configuration; to be called before its first request. */
  useLabels(labels: CounterLabels): void {
    this.labels = labels;
  }

  /** Adds to a plain number. */
  add(row: CounterRow, by = 1): void {
    this.rows[row.at]! += by;
  }

  /** Sets a gauge. */
  set(row: CounterRow, value: number): void {
    this.rows[row.at] = value;
  }

  /**
   * The slot that counts requests of this kind, to be kept by the caller.
   * @param route the route's label
   * @param method the number of a method
   * @param status 100 to 599
   */
  requestSlot(route: string, method: number, status: number): number {
    return this.requests.slotOf(requestKey(this.labels.routes.get(route) ?? OVERFLOW_ID, method, status));
  }

  /** Counts a request that is over; `slot` is from `requestSlot`. */
  requestEnded(slot: number, bodyBytesIn: number, bodyBytesOut: number): void {
    this.requests.increment(slot);
    this.rows[COUNTERS.bodyBytesIn.at]! += bodyBytesIn;
    this.rows[COUNTERS.bodyBytesOut.at]! += bodyBytesOut;
  }

  /** Counts the time that a request took, in milliseconds. */
  requestTook(durationMs: number): void {
    this.observe(LATENCY_AT, durationMs);
  }

  requestEntered(): void {
    this.rows[COUNTERS.requestsInFlight.at]!++;
  }

  requestLeft(): void {
    this.rows[COUNTERS.requestsInFlight.at]!--;
  }

  /** Counts a refusal of a request's framing, of a TLS handshake, or by a limit. */
  refused(fault: Fault): void {
    this.rows[FRAMING_AT + fault]!++;
  }

  /** Counts a request that the rate limit of its route refused. */
  rateLimited(route: string): void {
    const id = this.labels.routes.get(route) ?? OVERFLOW_ID;
    this.rateLimits.increment(this.rateLimits.slotOf(requestKey(id, 0, 0)));
  }

  /** Counts a request that passed the cache. @param result the number of what the cache did, below CACHE_PLACES */
  cachePassed(result: number): void {
    this.rows[CACHE_AT + result]!++;
  }

  /** Counts a request that the WAF refused. */
  wafBlocked(category: string): void {
    this.rows[WAF_BLOCKED_AT + wafCategoryIndex(category)]!++;
  }

  /** Counts a request that the WAF would have refused, were it not in detection mode. */
  wafDetected(category: string): void {
    this.rows[WAF_DETECTED_AT + wafCategoryIndex(category)]!++;
  }

  /** The number of an upstream's label, for the calls below; of the overflow when the label is unknown. */
  upstreamId(label: string): number {
    return this.labels.upstreams.get(label) ?? OVERFLOW_ID;
  }

  /** The slot that counts answers of an upstream with this status (100 to 599), to be kept by the caller. */
  upstreamSlot(upstreamId: number, status: number): number {
    return this.upstreamRequests.slotOf(requestKey(upstreamId, 0, status));
  }

  /** Counts a request that an upstream answered or failed to answer; `slot` is from `upstreamSlot`. */
  upstreamEnded(upstreamId: number, slot: number, durationMs: number): void {
    this.upstreamRequests.increment(slot);
    this.observe(UPSTREAMS_AT + upstreamId * UPSTREAM_PLACES, durationMs);
  }

  /** Counts a circuit breaker that went from closed to open. */
  breakerTripped(upstreamId: number): void {
    this.rows[UPSTREAMS_AT + upstreamId * UPSTREAM_PLACES + UPSTREAM_TRIPS]!++;
  }

  /** Counts log lines that will never be written. */
  logDropped(lines: number): void {
    this.rows[COUNTERS.logLinesDropped.at]! += lines;
  }

  /** Notes that a log batch of this many characters went to the control thread. */
  logSent(chars: number): void {
    this.rows[COUNTERS.logCharsSent.at]! += chars;
  }

  /** Characters of log batches that the control thread has not taken yet. */
  logBacklogChars(): number {
    return this.rows[COUNTERS.logCharsSent.at]! - this.rows[COUNTERS.logCharsTaken.at]!;
  }

  private observe(at: number, durationMs: number): void {
    const bounds = this.bounds;
    let bucket = 0;
    while (bucket < bounds.length && durationMs > bounds[bucket]!) bucket++;
    this.rows[at + bucket]!++;
    this.rows[at + LATENCY_SUM]! += durationMs;
  }
}

/** Slots of the request series of a worker: 196 KB, of which only what is used becomes resident. */
const REQUEST_SERIES = 16384;
const UPSTREAM_SERIES = 4096;
