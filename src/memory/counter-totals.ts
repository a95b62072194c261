import type { FaultKind } from "../core/fault.ts";
import { FAULTS } from "../core/fault-rows.ts";
import {
  CACHE_AT,
  COUNTERS,
  type CounterRow,
  FRAMING_AT,
  MIRROR_COUNTS,
  TRIPS_AT,
  UNCONNECTED_AT,
  WAF_BLOCKED_AT,
  WAF_DETECTED_AT,
  WAF_LABELS,
} from "./counter-rows.ts";
import {
  addSeries,
  type CounterBuffers,
  keyLabelId,
  keyMethod,
  keyStatus,
  OVERFLOW_KEY,
  PeerRole,
  requestKey,
  resetGauges,
} from "./counter-table.ts";
import { LabelRegistry, OVERFLOW_ID, OVERFLOW_LABEL } from "./label-registry.ts";
import { type ListenerTotals, listenerTotals } from "./listener-counters.ts";
import { MAX_NAMES, namesIn } from "./name-table.ts";
import { openStreams, type StreamTotals, streamTotals } from "./stream-counters.ts";
import { BYTES_IN_AT, BYTES_OUT_AT, bucketsOf, SUM_MS_AT, TrafficReader } from "./traffic-blocks.ts";

/** Requests with the same label, method and status; method 0 and status 0 for those beyond the table's capacity. */
export interface RequestSeries {
  readonly label: string;
  /** Number of the method. */
  readonly method: number;
  readonly status: number;
  readonly count: number;
}

/** The label of peers without a row of their own. */
const OTHER_PEERS = "other";

/** One count of several that a label tells apart. */
export interface LabelledCount {
  readonly label: string;
  readonly count: number;
}

/** A histogram of durations. Bucket i counts what took at most LATENCY_BOUNDS_MS[i] and more than the bound before. */
export interface LatencyTotals {
  readonly buckets: readonly number[];
  readonly sumMs: number;
  /** The sum of the buckets, so that both agree however the counters move during the reading. */
  readonly count: number;
}

/** The control thread's view: the counters of all workers, those that died included, added up when asked. */
export class CounterTotals {
  /** The traffic of each route. */
  readonly routeTraffic: TrafficReader;
  /** That of each upstream; nothing counts bytes there. */
  readonly upstreamTraffic: TrafficReader;
  private readonly buffers: readonly CounterBuffers[];
  private readonly rows: readonly Float64Array[];
  private readonly routes: LabelRegistry;
  private readonly upstreams: LabelRegistry;
  private readonly open: { readonly labels: LabelRegistry; readonly cells: SharedArrayBuffer } | null;
  /** Peers of all workers: those beyond its room share the overflow, whatever the workers tell apart. */
  private readonly peerLabels: LabelRegistry = new LabelRegistry([], MAX_NAMES);

  /**
   * @param buffers one a worker, in the order of the workers' numbers
   * @param open the labels of streams, and their open connections; null where these are not asked for
   */
  constructor(
    buffers: readonly CounterBuffers[],
    routes: LabelRegistry,
    upstreams: LabelRegistry,
    open: { readonly labels: LabelRegistry; readonly cells: SharedArrayBuffer } | null = null,
  ) {
    this.buffers = buffers;
    this.rows = buffers.map((one) => new Float64Array(one.rows));
    this.routes = routes;
    this.upstreams = upstreams;
    this.open = open;
    const blocksOf = (name: "routes" | "upstreams") => buffers.map((one) => one[name]);
    this.routeTraffic = new TrafficReader(blocksOf("routes"), routes);
    this.upstreamTraffic = new TrafficReader(blocksOf("upstreams"), upstreams);
  }

  /** Sets the gauges of a worker that is gone to 0. */
  workerDied(worker: number): void {
    resetGauges(this.buffers[worker]!);
  }

  /** Notes that a log batch of this many characters came from the worker, so that it may send more. */
  logTaken(worker: number, chars: number): void {
    this.rows[worker]![COUNTERS.logCharsTaken.at]! += chars;
  }

  /** The sum of one row over all workers. */
  sum(row: CounterRow): number {
    return this.at(row.at);
  }

  /** One row of one worker. */
  ofWorker(worker: number, row: CounterRow): number {
    return this.rows[worker]![row.at]!;
  }

  /** Requests that one worker has served, those with malformed heads left out. */
  requestsOf(worker: number): number {
    return this.routeTraffic.requestsOfThread(worker);
  }

  /** Bytes of the bodies of requests, and of responses. */
  bodyBytes(): { readonly bytesIn: number; readonly bytesOut: number } {
    const { routeTraffic } = this;
    return { bytesIn: routeTraffic.sumOf(BYTES_IN_AT), bytesOut: routeTraffic.sumOf(BYTES_OUT_AT) };
  }

  requests(): readonly RequestSeries[] {
    return this.series((one) => one.requests, this.routes);
  }

  /** Requests to upstreams: `label` is the upstream, `method` is always 0. */
  upstreamRequests(): readonly RequestSeries[] {
    return this.series((one) => one.upstreamRequests, this.upstreams);
  }

  /** Every route that refused requests for its rate limit, with their number. */
  rateLimited(): readonly LabelledCount[] {
    return this.series((one) => one.rateLimited, this.routes).map(({ label, count }) => ({ label, count }));
  }

  /** Mirrored requests: `method` is the place of what became of them in MIRROR_COUNTS, `status` is always 0. */
  mirrored(): readonly RequestSeries[] {
    return this.series((one) => one.mirrored, this.routes).filter(({ method }) => method < MIRROR_COUNTS.length);
  }

  /** Second requests of routes with hedge: `method` is the place of what became of them in HEDGE_COUNTS, `status` is always 0. */
  hedged(): readonly RequestSeries[] {
    return this.series((one) => one.mirrored, this.routes)
      .filter(({ method }) => method >= MIRROR_COUNTS.length)
      .map((one) => ({ ...one, method: one.method - MIRROR_COUNTS.length }));
  }

  /** Requests by the peer that sent or got them: `method` is always 0; OTHER_PEERS for those beyond the first MAX_NAMES. */
  peers(role: PeerRole = PeerRole.Client): readonly RequestSeries[] {
    const sums = new Map<number, number>();
    for (const one of this.buffers) {
      const names = namesIn(one.peerNames);
      const own = new Map<number, number>();
      addSeries(one.peers, own);
      for (const [key, count] of own) {
        // What found no room among the series is told with those that come in.
        if (key === OVERFLOW_KEY ? role !== PeerRole.Client : keyMethod(key) !== role) continue;
        const name = key === OVERFLOW_KEY ? "" : (names[keyLabelId(key)] ?? "");
        const id = name === "" ? OVERFLOW_ID : this.peerLabels.idOf(name);
        const sumKey = requestKey(id, 0, key === OVERFLOW_KEY ? 0 : keyStatus(key));
        sums.set(sumKey, (sums.get(sumKey) ?? 0) + count);
      }
    }
    return [...sums].map(([key, count]) => {
      const id = keyLabelId(key);
      const label = id === OVERFLOW_ID ? OTHER_PEERS : this.peerLabels.labelOf(id);
      return { label, method: 0, status: keyStatus(key), count };
    });
  }

  /** Every fault of a kind with its count, also if that is 0. */
  faults(kind: FaultKind): readonly LabelledCount[] {
    return FAULTS.map((row, fault) => ({ row, fault }))
      .filter(({ row }) => row.kind === kind)
      .map(({ row, fault }) => ({ label: row.label, count: this.at(FRAMING_AT + fault) }));
  }

  /** Every WAF category with the number of requests that were refused for it, 0 included. */
  wafBlocked(): readonly LabelledCount[] {
    return WAF_LABELS.map((label, i) => ({ label, count: this.at(WAF_BLOCKED_AT + i) }));
  }

  /** The same for requests that detection mode let through. */
  wafDetected(): readonly LabelledCount[] {
    return WAF_LABELS.map((label, i) => ({ label, count: this.at(WAF_DETECTED_AT + i) }));
  }

  /** The requests for which the cache did what has this number. */
  cachePassed(result: number): number {
    return this.at(CACHE_AT + result);
  }

  /** That of clients' requests. */
  requestLatency(): LatencyTotals {
    return latencyOf(this.routeTraffic.ofClients());
  }

  /** The latency of every upstream that has been asked. */
  upstreamLatency(): readonly { readonly label: string; readonly latency: LatencyTotals }[] {
    return this.upstreams
      .all()
      .map((label, id) => ({ label, latency: latencyOf(this.upstreamTraffic.block(id)) }))
      .filter(({ latency }) => latency.count > 0);
  }

  /** What has been counted for each stream. */
  streams(): readonly (StreamTotals & { readonly label: string; readonly open: number })[] {
    if (this.open === null) return [];
    const { open } = this;
    const buffers = this.buffers.map(({ streams }) => streams);
    return open.labels
      .all()
      .map((label, id) => ({ label, open: openStreams(open.cells, id), ...streamTotals(buffers, id) }))
      .filter(({ label, begun }) => label !== OVERFLOW_LABEL || begun > 0);
  }

  /** The connections of each listener. @param labels of listeners */
  listeners(labels: LabelRegistry): readonly (ListenerTotals & { readonly label: string })[] {
    const buffers = this.buffers.map(({ listeners }) => listeners);
    return labels
      .all()
      .map((label, id) => ({ label, ...listenerTotals(buffers, id) }))
      .filter(({ label, accepted }) => label !== OVERFLOW_LABEL || accepted > 0);
  }

  /** Connections of streams that did not come about, by target. */
  connectFailures(): readonly LabelledCount[] {
    return this.upstreams
      .all()
      .map((label, id) => ({ label, count: this.at(UNCONNECTED_AT + id) }))
      .filter(({ count }) => count > 0);
  }

  /** The breaker trips of every known upstream, be they 0. */
  breakerTrips(): readonly LabelledCount[] {
    return this.upstreams
      .all()
      .map((label, id) => ({ label, count: this.at(TRIPS_AT + id) }))
      .filter(({ label, count }) => count > 0 || label !== OVERFLOW_LABEL);
  }

  private series(bufferOf: (one: CounterBuffers) => SharedArrayBuffer, labels: LabelRegistry): RequestSeries[] {
    const sums = new Map<number, number>();
    for (const one of this.buffers) addSeries(bufferOf(one), sums);
    return [...sums].map(([key, count]) =>
      key === OVERFLOW_KEY
        ? { label: OVERFLOW_LABEL, method: 0, status: 0, count }
        : { label: labels.labelOf(keyLabelId(key)), method: keyMethod(key), status: keyStatus(key), count },
    );
  }

  private at(place: number): number {
    let sum = 0;
    for (const rows of this.rows) sum += rows[place]!;
    return sum;
  }
}

function latencyOf(block: Float64Array): LatencyTotals {
  const buckets = bucketsOf(block);
  return { buckets, sumMs: block[SUM_MS_AT]!, count: buckets.reduce((sum, count) => sum + count, 0) };
}
