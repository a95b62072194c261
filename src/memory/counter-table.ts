import type { Fault } from "../core/fault.ts";
import {
  CACHE_AT,
  COUNTERS,
  type CounterRow,
  FRAMING_AT,
  HEDGE_COUNTS,
  type HedgeCount,
  MAX_ROUTE_LABELS,
  MAX_UPSTREAM_LABELS,
  MIRROR_COUNTS,
  type MirrorCount,
  ROW_PLACES,
  TRIPS_AT,
  UNCONNECTED_AT,
  WAF_BLOCKED_AT,
  WAF_DETECTED_AT,
  wafCategoryIndex,
} from "./counter-rows.ts";
import { OVERFLOW_ID } from "./label-registry.ts";
import { clearOpenListeners, createListenerCounters, ListenerCounters } from "./listener-counters.ts";
import { createNameTable, NameWriter } from "./name-table.ts";
import { createStreamCounters, StreamCounters } from "./stream-counters.ts";
import {
  BLOCK_PLACES,
  BYTES_IN_AT,
  BYTES_OUT_AT,
  createTrafficBlocks,
  INTERVALS_FROM_MS,
  INTERVALS_MS,
  PARTS,
  REQUESTS_AT,
  STEPS_AT,
  STEPS_PER_MS,
  SUM_MS_AT,
} from "./traffic-blocks.ts";

/** One worker's counters in shared memory: the control thread makes them, keeps them, and gives them to each successor. */
export interface CounterBuffers {
  readonly rows: SharedArrayBuffer;
  /** Traffic of each route, and of each upstream. */
  readonly routes: SharedArrayBuffer;
  readonly upstreams: SharedArrayBuffer;
  readonly requests: SharedArrayBuffer;
  readonly upstreamRequests: SharedArrayBuffer;
  readonly rateLimited: SharedArrayBuffer;
  readonly mirrored: SharedArrayBuffer;
  /** Requests by peer, whose numbers are those of `peerNames`. */
  readonly peers: SharedArrayBuffer;
  readonly peerNames: SharedArrayBuffer;
  /** Of streams, by their labels; see StreamCounters. */
  readonly streams: SharedArrayBuffer;
  /** Of listeners, by their labels; see ListenerCounters. */
  readonly listeners: SharedArrayBuffer;
}

/** The numbers of the labels, from the control thread's registries, sent with each configuration. */
export interface CounterLabels {
  readonly routes: ReadonlyMap<string, number>;
  readonly upstreams: ReadonlyMap<string, number>;
  /** Left out if there are none. */
  readonly streams?: ReadonlyMap<string, number>;
  /** Likewise. */
  readonly listeners?: ReadonlyMap<string, number>;
}

/** A mesh peer's role in a request: it takes the place of the method in the key of a series. */
export const enum PeerRole {
  Client = 0,
  Server,
}

/** Makes the counters of one worker, all 0. */
export function createCounterBuffers(): CounterBuffers {
  return {
    rows: new SharedArrayBuffer(ROW_PLACES * 8),
    routes: createTrafficBlocks(MAX_ROUTE_LABELS),
    upstreams: createTrafficBlocks(MAX_UPSTREAM_LABELS),
    requests: createSeriesTable(REQUEST_SERIES),
    upstreamRequests: createSeriesTable(UPSTREAM_SERIES),
    rateLimited: createSeriesTable(MAX_ROUTE_LABELS),
    mirrored: createSeriesTable(MIRROR_SERIES),
    peers: createSeriesTable(PEER_SERIES),
    peerNames: createNameTable(),
    streams: createStreamCounters(),
    listeners: createListenerCounters(),
  };
}

/** Sets the gauges of a worker that is gone to 0; its counters stay. */
export function resetGauges(buffers: CounterBuffers): void {
  const rows = new Float64Array(buffers.rows);
  for (const { at, isGauge } of Object.values(COUNTERS)) if (isGauge) rows[at] = 0;
  clearOpenListeners(buffers.listeners);
}

/**
 * A worker's own counters. Every call is a few increments of typed arrays that this thread alone writes; the control
 * thread reads them when it is asked (CounterTotals) and accepts numbers that are a moment old.
 */
export class WorkerCounters {
  private readonly rows: Float64Array;
  private readonly routes: TrafficWriter;
  private readonly upstreams: TrafficWriter;
  private readonly requests: SeriesWriter;
  private readonly upstreamRequests: SeriesWriter;
  private readonly rateLimits: SeriesWriter;
  private readonly mirrors: SeriesWriter;
  private readonly peers: SeriesWriter;
  private readonly peerNames: NameWriter;
  private readonly streams: SharedArrayBuffer;
  private readonly listeners: SharedArrayBuffer;
  private labels: CounterLabels;

  /** Takes over the counters, be they new or those of a worker that died. */
  constructor(buffers: CounterBuffers, labels: CounterLabels) {
    resetGauges(buffers);
    this.rows = new Float64Array(buffers.rows);
    this.rows[COUNTERS.logCharsSent.at] = this.rows[COUNTERS.logCharsTaken.at]!;
    this.routes = new TrafficWriter(buffers.routes);
    this.upstreams = new TrafficWriter(buffers.upstreams);
    this.requests = new SeriesWriter(buffers.requests);
    this.upstreamRequests = new SeriesWriter(buffers.upstreamRequests);
    this.rateLimits = new SeriesWriter(buffers.rateLimited);
    this.mirrors = new SeriesWriter(buffers.mirrored);
    this.peers = new SeriesWriter(buffers.peers);
    this.peerNames = new NameWriter(buffers.peerNames);
    this.streams = buffers.streams;
    this.listeners = buffers.listeners;
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

  /** The number of a route's label, to be kept by the caller; of the overflow when the label is unknown. */
  routeId(label: string): number {
    return this.labels.routes.get(label) ?? OVERFLOW_ID;
  }

  /**
   * The slot that counts requests of this kind, to be kept by the caller.
   * @param route the number of the route's label
   * @param method the number of a method
   * @param status 100 to 599
   */
  requestSlot(route: number, method: number, status: number): number {
    return this.requests.slotOf(requestKey(route, method, status));
  }

  /** Counts a request that is over; `slot` is from `requestSlot`. */
  requestEnded(route: number, slot: number, bodyBytesIn: number, bodyBytesOut: number): void {
    this.requests.increment(slot);
    this.routes.carried(route, bodyBytesIn, bodyBytesOut);
  }

  /** Counts the time that a request took, in milliseconds. */
  requestTook(route: number, durationMs: number): void {
    this.routes.took(route, durationMs);
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
    this.rateLimits.increment(this.rateLimits.slotOf(requestKey(this.routeId(route), 0, 0)));
  }

  /** Counts what became of a request that its route mirrors. */
  mirrored(route: string, what: MirrorCount): void {
    const key = requestKey(this.routeId(route), MIRROR_COUNTS.indexOf(what), 0);
    this.mirrors.increment(this.mirrors.slotOf(key));
  }

  /** Counts what became of a second request: beside the mirrored ones, behind their counts. */
  hedged(route: string, what: HedgeCount): void {
    const key = requestKey(this.routeId(route), MIRROR_COUNTS.length + HEDGE_COUNTS.indexOf(what), 0);
    this.mirrors.increment(this.mirrors.slotOf(key));
  }

  /** Counts a request that a peer of the mesh has sent, or has been sent. @param status 100 to 599 */
  peerEnded(peer: string, status: number, role: PeerRole = PeerRole.Client): void {
    this.peers.increment(this.peers.slotOf(requestKey(this.peerNames.idOf(peer), role, status)));
  }

  /** Counts a request that passed the cache. @param result the number of the cache's result, below CACHE_PLACES */
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

  /** The slot that counts responses of an upstream with this status (100 to 599), to be kept by the caller. */
  upstreamSlot(upstreamId: number, status: number): number {
    return this.upstreamRequests.slotOf(requestKey(upstreamId, 0, status));
  }

  /** Counts a request that an upstream answered or failed to answer; `slot` is from `upstreamSlot`. */
  upstreamEnded(upstreamId: number, slot: number, durationMs: number): void {
    this.upstreamRequests.increment(slot);
    this.upstreams.took(upstreamId, durationMs);
  }

  /** The number of a stream's label; of the overflow when the label is unknown. */
  streamId(label: string): number {
    return this.labels.streams?.get(label) ?? OVERFLOW_ID;
  }

  /** The counters of a stream with this number. */
  streamCounters(id: number): StreamCounters {
    return new StreamCounters(this.streams, id);
  }

  /** The counters of the listener with this name. */
  listenerCounters(name: string): ListenerCounters {
    return new ListenerCounters(this.listeners, this.labels.listeners?.get(name) ?? OVERFLOW_ID);
  }

  /** Counts a circuit breaker that went from closed to open. */
  breakerTripped(upstreamId: number): void {
    this.rows[TRIPS_AT + upstreamId]!++;
  }

  /** Counts a connection of a stream to a target that did not come about. */
  notConnected(upstreamId: number): void {
    this.rows[UNCONNECTED_AT + upstreamId]!++;
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
}

/** The one thread's hand on its traffic blocks (traffic-blocks.ts). `id` is the number of a label, below the number of blocks. */
export class TrafficWriter {
  private readonly places: Float64Array;

  constructor(buffer: SharedArrayBuffer) {
    this.places = new Float64Array(buffer);
  }

  /** Counts a request, or an attempt at an upstream. @param ms below 0 counts as the shortest */
  took(id: number, ms: number): void {
    const { places } = this;
    const at = id * BLOCK_PLACES;
    let interval = 0;
    while (interval < INTERVALS_MS.length && ms > INTERVALS_MS[interval]!) interval++;
    let step = interval * PARTS;
    // If the division rounds up, the request stays within its interval: the buckets of /metrics are exact.
    if (interval < INTERVALS_MS.length && ms > INTERVALS_FROM_MS[interval]!)
      step += Math.min(PARTS - 1, Math.floor((ms - INTERVALS_FROM_MS[interval]!) * STEPS_PER_MS[interval]!));
    places[at + STEPS_AT + step]!++;
    places[at + REQUESTS_AT]!++;
    places[at + SUM_MS_AT]! += ms;
  }

  /** Counts bytes of bodies. */
  carried(id: number, bytesIn: number, bytesOut: number): void {
    const at = id * BLOCK_PLACES;
    this.places[at + BYTES_IN_AT]! += bytesIn;
    this.places[at + BYTES_OUT_AT]! += bytesOut;
  }
}

/** Slots of the request series of a worker: 196 KB, of which only used pages become resident. */
const REQUEST_SERIES = 16384;
const UPSTREAM_SERIES = 4096;
const MIRROR_SERIES = 4096;
const PEER_SERIES = 4096;

/**
 * Counters that are made while the gateway runs, one for each key that comes up, in memory that threads share. One
 * thread writes a table and any thread reads it:
 *
 *     used (Int32) | unused (Int32) | counts (Float64 × capacity) | keys (Int32 × capacity)
 *
 * Slot 0 takes everything that found no free slot, so that no peer can make the table grow.
 */

/** Key of slot 0. */
export const OVERFLOW_KEY = -1;

/**
 * Makes an empty table.
 * @param capacity slots, the one for the overflow included
 */
export function createSeriesTable(capacity: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(HEADER_BYTES + capacity * BYTES_PER_SLOT);
  keysOf(buffer)[0] = OVERFLOW_KEY;
  usedOf(buffer)[0] = 1;
  return buffer;
}

/** The one thread's hand on its table. A successor of a dead thread goes on from its numbers. */
export class SeriesWriter {
  private readonly counts: Float64Array;
  private readonly keys: Int32Array;
  private readonly used: Int32Array;
  private readonly slots: Map<number, number> = new Map();

  constructor(buffer: SharedArrayBuffer) {
    this.counts = countsOf(buffer);
    this.keys = keysOf(buffer);
    this.used = usedOf(buffer);
    for (let slot = 1; slot < this.used[0]!; slot++) this.slots.set(this.keys[slot]!, slot);
  }

  /**
   * The slot of a key, taken now when the key is new. Callers keep it: it holds for the life of the table.
   * @param key a number from 0 to 2^31-1
   * @returns 0, the overflow, when the table is full
   */
  slotOf(key: number): number {
    const known = this.slots.get(key);
    if (known !== undefined) return known;
    const slot = this.used[0]!;
    if (slot === this.keys.length) return 0;
    this.keys[slot] = key;
    this.slots.set(key, slot);
    // Readers look at `used` first, so a slot that they see has its key.
    Atomics.store(this.used, 0, slot + 1);
    return slot;
  }

  /** Counts one. A reader may see it a moment later; nothing on this path is atomic, since there is one writer. */
  increment(slot: number): void {
    this.counts[slot]!++;
  }
}

/** Adds the counts of a table to the sums by key in `into`, the overflow under OVERFLOW_KEY when it counted anything. */
export function addSeries(buffer: SharedArrayBuffer, into: Map<number, number>): void {
  const counts = countsOf(buffer);
  const keys = keysOf(buffer);
  const used = Atomics.load(usedOf(buffer), 0);
  for (let slot = 0; slot < used; slot++) {
    const count = counts[slot]!;
    if (count === 0) continue;
    const key = keys[slot]!;
    into.set(key, (into.get(key) ?? 0) + count);
  }
}

function capacityOf(buffer: SharedArrayBuffer): number {
  return (buffer.byteLength - HEADER_BYTES) / BYTES_PER_SLOT;
}

function usedOf(buffer: SharedArrayBuffer): Int32Array {
  return new Int32Array(buffer, 0, 1);
}

function countsOf(buffer: SharedArrayBuffer): Float64Array {
  return new Float64Array(buffer, HEADER_BYTES, capacityOf(buffer));
}

function keysOf(buffer: SharedArrayBuffer): Int32Array {
  const capacity = capacityOf(buffer);
  return new Int32Array(buffer, HEADER_BYTES + capacity * 8, capacity);
}

const HEADER_BYTES = 8;
const BYTES_PER_SLOT = 12;

/**
 * How label, method and status stand in the key of a series: the label in the high bits, then four bits of method,
 * then nine of status. Status 0 is "no status". Methods are numbers here; their names belong to the message layer.
 */

const METHOD_BITS = 4;
const STATUS_BITS = 9;
const FIRST_STATUS = 99;

/**
 * The key of a request series.
 * @param labelId 0 to 2^18-1
 * @param method 0 to 15
 * @param status 100 to 599, or 0
 */
export function requestKey(labelId: number, method: number, status: number): number {
  return (((labelId << METHOD_BITS) | method) << STATUS_BITS) | (status === 0 ? 0 : status - FIRST_STATUS);
}

/** The label's number in a key. */
export function keyLabelId(key: number): number {
  return key >> (METHOD_BITS + STATUS_BITS);
}

/** The method in a key. */
export function keyMethod(key: number): number {
  return (key >> STATUS_BITS) & ((1 << METHOD_BITS) - 1);
}

/** The status in a key. */
export function keyStatus(key: number): number {
  const column = key & ((1 << STATUS_BITS) - 1);
  return column === 0 ? 0 : column + FIRST_STATUS;
}
