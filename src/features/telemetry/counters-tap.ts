import { Fault, FaultKind } from "../../core/fault.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { CLIENT_CLOSED_STATUS } from "../../core/status.ts";
import { COUNTERS, type CounterRow } from "../../memory/counter-rows.ts";
import type { WorkerCounters } from "../../memory/counter-table.ts";
import type { CacheResult } from "../../message/cache-result.ts";
import { type Exchange, type Phase, type ResponseTap, Verdict } from "../../message/exchange.ts";
import { COUNTED_STATUSES, emptyCounterSlots } from "../../message/route.ts";
import { Coding } from "../../proto/semantics/accept-encoding.ts";
import type { Refusals } from "./refusals.ts";
import { UNMATCHED_LABEL } from "./route-labels.ts";

/**
 * Counts requests: the first phase of the way down, where one is in flight from then on, and a tap at the end.
 * docs/operations.md#metrics. What goes upstream is counted where it is sent, once an attempt. 21 ns a request
 * (4 million over 8 routes; prom-client's `inc` with labels alone takes 216).
 */
export class CountersTap implements Phase, ResponseTap {
  readonly name = "counters";
  /** Who looks at each request while the dashboard is watched; null while it is not. */
  observer: RequestObserver | null = null;
  private readonly counters: WorkerCounters;
  private readonly refusals: Refusals;
  private readonly unmatchedSlots: Int32Array = emptyCounterSlots();
  private unmatchedId = 0;

  constructor(counters: WorkerCounters, refusals: Refusals) {
    this.counters = counters;
    this.refusals = refusals;
  }

  run(_ex: Exchange): Verdict {
    this.counters.requestEntered();
    return Verdict.Next;
  }

  /** Counts an entry that the cache has read from the disk. */
  diskRead(isSound: boolean): void {
    this.counters.add(isSound ? COUNTERS.cacheDiskReads : COUNTERS.cacheDiskDamaged);
  }

  /** Counts what the cache did for a request that passed it. */
  cachePassed(result: CacheResult): void {
    this.counters.cachePassed(result);
  }

  /** Counts a response that was compressed. */
  compressed(coding: Coding, bytesIn: number, bytesOut: number): void {
    this.counters.add(COMPRESSED[coding]!);
    this.counters.add(COUNTERS.compressionBytesIn, bytesIn);
    this.counters.add(COUNTERS.compressionBytesOut, bytesOut);
  }

  /** Counts one that was not, since too many were already. */
  compressionSkipped(): void {
    this.counters.add(COUNTERS.compressionSkipped);
  }

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    const counters = this.counters;
    const route = ex.route;
    const slots = route === null ? this.unmatchedSlots : route.counterSlots;
    const status = countedStatus(ex);
    const column = ex.request.method * COUNTED_STATUSES + status - 100;
    let slot = slots[column]!;
    if (slot < 0) slot = this.assign(ex, column);
    const id = route === null ? this.unmatchedId : route.counterId;
    counters.requestEnded(id, slot, ex.bodyBytes, ex.sentBytes);
    // `step` is 0 only if the head was refused, before the first phase, which is `run`. The time that a peer took
    // for a bad head, ten seconds with some, says nothing of the gateway.
    if (ex.step > 0) {
      counters.requestLeft();
      counters.requestTook(id, ex.endedMs - ex.startedMs);
    }
    if (this.observer !== null) this.observer.ended(ex, status);
    if (ex.attempt.count > 1) counters.add(COUNTERS.retries, ex.attempt.count - 1);
    if (ex.fault === Fault.None) return;
    const { kind } = faultRow(ex.fault);
    if (ORIGIN_FAULTS.includes(ex.fault) && status !== faultRow(ex.fault).status) counters.add(COUNTERS.cutResponses);
    if (kind === FaultKind.Framing) this.refusals.framing(ex.fault, ex.client.address, ex);
    else if (kind === FaultKind.Limit) this.refusals.limit(ex);
  }

  private assign(ex: Exchange, column: number): number {
    const { route } = ex;
    const slots = route === null ? this.unmatchedSlots : route.ownCounterSlots();
    const id = this.counters.routeId(route === null ? UNMATCHED_LABEL : route.label);
    if (route === null) this.unmatchedId = id;
    else route.counterId = id;
    const slot = this.counters.requestSlot(id, ex.request.method, countedStatus(ex));
    slots[column] = slot;
    return slot;
  }
}

/** What ends a response whose head has gone out already only by cutting it. */
const ORIGIN_FAULTS: readonly Fault[] = [Fault.UpstreamMalformed, Fault.UpstreamUnavailable, Fault.UpstreamTimeout];

/** Is shown every request when it has ended. */
interface RequestObserver {
  /** @param status as it is counted */
  ended(ex: Exchange, status: number): void;
}

const COMPRESSED: Readonly<Record<number, CounterRow>> = {
  [Coding.Brotli]: COUNTERS.compressedBrotli,
  [Coding.Zstd]: COUNTERS.compressedZstd,
  [Coding.Gzip]: COUNTERS.compressedGzip,
};

/**
 * The status that an exchange which is over is counted and logged under, from 100 to 599: that of the response, else that
 * of the fault it ended with, else 499. A status beyond 599 means 5xx (RFC 9110 §15) and is counted as 599.
 */
export function countedStatus(ex: Exchange): number {
  const status = ex.response.status;
  if (status >= 100) return Math.min(status, 599);
  const refused = faultRow(ex.fault).status;
  return refused >= 100 ? refused : CLIENT_CLOSED_STATUS;
}
