import { isInternalPath } from "../core/internal-path.ts";
import { LATENCY_BOUNDS_MS } from "./counter-rows.ts";
import type { LabelRegistry } from "./label-registry.ts";

/*
 * How many requests of a route or an upstream there were, how long they took, and the bytes of their bodies, in memory that threads
 * share: one block a label, found by the label's number. One thread writes, any thread reads.
 *
 *     block: requests | sum of milliseconds | bytes in | bytes out | a count a step   (Float64)
 *
 * TrafficWriter (counter-table.ts) writes them. Steps are the parts of the intervals between LATENCY_BOUNDS_MS, and some beyond, so that one count serves the buckets of /metrics
 * and percentiles: a step is at most a tenth of its lower bound wide (6 µs below the first bound). The last takes what is above all.
 */

/** Places of a block before its steps. */
export const REQUESTS_AT = 0;
export const SUM_MS_AT = 1;
export const BYTES_IN_AT = 2;
export const BYTES_OUT_AT = 3;
export const STEPS_AT = 4;

/** Upper bounds of the intervals, in milliseconds. */
export const INTERVALS_MS: Float64Array = Float64Array.of(...LATENCY_BOUNDS_MS, 25_000, 60_000);
/** Their lower bounds. */
export const INTERVALS_FROM_MS: Float64Array = INTERVALS_MS.map((_, i) => (i === 0 ? 0 : INTERVALS_MS[i - 1]!));
/** Steps of equal width in an interval. */
export const PARTS = 16;
/** How many steps of each interval fit into a millisecond. */
export const STEPS_PER_MS: Float64Array = INTERVALS_MS.map((bound, i) => PARTS / (bound - INTERVALS_FROM_MS[i]!));
const STEPS = INTERVALS_MS.length * PARTS + 1;

/** Float64 of a block, whole cache lines. */
export const BLOCK_PLACES: number = Math.ceil((STEPS_AT + STEPS) / 8) * 8;
/** Upper bounds of the steps in milliseconds, but for the last one, which has none. */
export const STEP_BOUNDS_MS: Float64Array = Float64Array.from(
  { length: STEPS - 1 },
  (_, i) => INTERVALS_FROM_MS[Math.floor(i / PARTS)]! + ((i % PARTS) + 1) / STEPS_PER_MS[Math.floor(i / PARTS)]!,
);

/** Makes empty blocks: of their memory only what is used becomes resident. */
export function createTrafficBlocks(labels: number): SharedArrayBuffer {
  return new SharedArrayBuffer(labels * BLOCK_PLACES * 8);
}

/** The blocks of all threads, added up when asked. */
export class TrafficReader {
  private readonly threads: readonly Float64Array[];
  private readonly registry: LabelRegistry;

  /** @param buffers one a thread, in the order of the threads' numbers */
  constructor(buffers: readonly SharedArrayBuffer[], registry: LabelRegistry) {
    this.threads = buffers.map((buffer) => new Float64Array(buffer));
    this.registry = registry;
  }

  /** The labels; the place of each is its number. */
  labels(): readonly string[] {
    return this.registry.all();
  }

  /** Requests of a label. */
  requestsOf(id: number): number {
    let sum = 0;
    for (const places of this.threads) sum += places[id * BLOCK_PLACES + REQUESTS_AT]!;
    return sum;
  }

  /** Requests that one thread has counted, all labels together. */
  requestsOfThread(thread: number): number {
    return this.sumOf(REQUESTS_AT, [this.threads[thread]!]);
  }

  /** One place, of all labels together. @param place before STEPS_AT */
  sumOf(place: number, threads: readonly Float64Array[] = this.threads): number {
    const end = this.labels().length * BLOCK_PLACES;
    let sum = 0;
    for (const places of threads) for (let at = place; at < end; at += BLOCK_PLACES) sum += places[at]!;
    return sum;
  }

  /** The blocks of a label, added up place by place. */
  block(id: number): Float64Array {
    const block = new Float64Array(BLOCK_PLACES);
    this.add(id, block);
    return block;
  }

  private add(id: number, into: Float64Array): void {
    const from = id * BLOCK_PLACES;
    for (const places of this.threads) {
      for (let i = 0; i < STEPS_AT; i++) into[i]! += places[from + i]!;
      if (places[from + REQUESTS_AT] === 0) continue;
      for (let i = STEPS_AT; i < BLOCK_PLACES; i++) into[i]! += places[from + i]!;
    }
  }

  /** The requests of clients: all labels together, but for those of the gateway's endpoints for operators. */
  ofClients(): Float64Array {
    const sum = new Float64Array(BLOCK_PLACES);
    for (const [id, label] of this.labels().entries()) if (!isInternalPath(label)) this.add(id, sum);
    return sum;
  }
}

/** The counts of a block by bucket of /metrics: those between LATENCY_BOUNDS_MS, and one more for all above. */
export function bucketsOf(block: Float64Array): number[] {
  const buckets: number[] = new Array(LATENCY_BOUNDS_MS.length + 1).fill(0);
  for (let step = 0; step < STEPS; step++) {
    buckets[Math.min(LATENCY_BOUNDS_MS.length, Math.floor(step / PARTS))]! += block[STEPS_AT + step]!;
  }
  return buckets;
}
