import { LATENCY_BOUNDS_MS } from "../../memory/counter-rows.ts";
import { SpanIdKind, SpanKind, SpanNumber, type StoredSpan } from "../../memory/span-ring.ts";
import { hexOf } from "../../proto/trace/trace-context.ts";

/** The histogram of how long requests take. */
export const REQUEST_SECONDS = "gateway_request_duration_seconds";

/** A request that stands for those of its bucket. */
interface Exemplar {
  readonly traceId: string;
  /** How long it took, in seconds. */
  readonly seconds: number;
  /** When it ended, in seconds since the epoch. */
  readonly atSeconds: number;
}

/** The last sampled request of each bucket of `gateway_request_duration_seconds`. docs/tracing.md#exemplars */
export class Exemplars {
  private readonly traceIds: readonly Uint8Array[] = BUCKETS.map(() => new Uint8Array(16));
  private readonly tookMs: Float64Array = new Float64Array(BUCKETS.length).fill(-1);
  private readonly endMs: Float64Array = new Float64Array(BUCKETS.length);

  /** Takes a span; its trace's id is text only if a scraper reads it. */
  note(span: StoredSpan): void {
    if (span.number(SpanNumber.Kind) !== SpanKind.Request) return;
    const endMs = span.number(SpanNumber.EndMs);
    const tookMs = endMs - span.number(SpanNumber.StartMs);
    let bucket = 0;
    while (bucket < LATENCY_BOUNDS_MS.length && tookMs > LATENCY_BOUNDS_MS[bucket]!) bucket++;
    const traceId = this.traceIds[bucket]!;
    const at = span.idAt(SpanIdKind.Trace);
    for (let i = 0; i < 16; i++) traceId[i] = span.bytes[at + i]!;
    this.tookMs[bucket] = tookMs;
    this.endMs[bucket] = endMs;
  }

  /** @param bucket from 0 on, the last one without a bound */
  of(bucket: number): Exemplar | null {
    const tookMs = this.tookMs[bucket] ?? -1;
    if (tookMs < 0) return null;
    return { traceId: hexOf(this.traceIds[bucket]!), seconds: tookMs / 1000, atSeconds: this.endMs[bucket]! / 1000 };
  }

  /** Whether there is any. */
  get hasAny(): boolean {
    return this.tookMs.some((ms) => ms >= 0);
  }
}

/** One for each bound, and one beyond. */
const BUCKETS: readonly number[] = Array.from({ length: LATENCY_BOUNDS_MS.length + 1 }, (_, i) => i);
