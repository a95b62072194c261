import { hexOf } from "../../proto/trace/trace-context.ts";
import { LATENCY_BOUNDS_MS } from "../../shared/counter-rows.ts";
import type { SpanRecord } from "../../shared/span-ring.ts";

/** A request that stands for those of its bucket. */
export interface Exemplar {
  readonly traceId: string;
  /** How long it took, in seconds. */
  readonly seconds: number;
  /** When it ended, in seconds since the epoch. */
  readonly atSeconds: number;
}

/** The last sampled request of each bucket of `gateway_request_duration_seconds`. docs/tracing.md#exemplars */
export class Exemplars {
  private readonly buckets: (Exemplar | null)[] = new Array(LATENCY_BOUNDS_MS.length + 1).fill(null);

  note(records: readonly SpanRecord[]): void {
    for (const { startMs, endMs, traceId } of records) {
      const tookMs = endMs - startMs;
      const found = LATENCY_BOUNDS_MS.findIndex((bound) => tookMs <= bound);
      const bucket = found < 0 ? LATENCY_BOUNDS_MS.length : found;
      this.buckets[bucket] = { traceId: hexOf(traceId), seconds: tookMs / 1000, atSeconds: endMs / 1000 };
    }
  }

  /** @param bucket from 0 on, the last one without a bound */
  of(bucket: number): Exemplar | null {
    return this.buckets[bucket] ?? null;
  }

  /** Whether there is any. */
  get hasAny(): boolean {
    return this.buckets.some((one) => one !== null);
  }
}
