import { COUNTED_STATUSES } from "../../message/route.ts";
import type { WorkerCounters } from "../../shared/counter-table.ts";

/** Counts requests to upstreams by the upstream's label and the status, and remembers where each is counted. */
export class UpstreamCounts {
  private readonly counters: WorkerCounters;
  private readonly places: Map<string, UpstreamPlace> = new Map();

  constructor(counters: WorkerCounters) {
    this.counters = counters;
  }

  /**
   * Counts a request that was sent to an upstream and is over.
   * @param label the upstream's, from the configuration
   * @param status 100 to 599
   */
  ended(label: string, status: number, durationMs: number): void {
    const { id, slots } = this.places.get(label) ?? this.placeOf(label);
    const column = status - 100;
    let slot = slots[column]!;
    if (slot < 0) {
      slot = this.counters.upstreamSlot(id, status);
      slots[column] = slot;
    }
    this.counters.upstreamEnded(id, slot, durationMs);
  }

  private placeOf(label: string): UpstreamPlace {
    const place = { id: this.counters.upstreamId(label), slots: new Int32Array(COUNTED_STATUSES).fill(-1) };
    this.places.set(label, place);
    return place;
  }
}

interface UpstreamPlace {
  readonly id: number;
  /** By status from 100 on; -1 is not assigned yet. */
  readonly slots: Int32Array;
}
