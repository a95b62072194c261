/** Milliseconds that a half, nine tenths and all but a hundredth took at most; null if there was nothing. */
export type Percentiles = readonly [p50: number, p90: number, p99: number] | null;

/** Buckets to a doubling of the time: each is 9 % wide, and what is read from it is within 5 %. */
export const LATENCY_BUCKETS_PER_OCTAVE = 8;
const LEAST_MS = 1 / 16;
/** From 1/16 ms to 2^16 ms, a minute; the last takes all that is longer. */
export const LATENCY_BUCKETS: number = 20 * LATENCY_BUCKETS_PER_OCTAVE;

/** Durations as counts in buckets of growing width, which can be added up and can fade. */
export class LatencySketch {
  private readonly counts: Float64Array = new Float64Array(LATENCY_BUCKETS);
  private total = 0;
  /** The counts before this one, and from `to` on, are 0. */
  private from = LATENCY_BUCKETS;
  private to = 0;

  /** @param ms 0 or more */
  add(ms: number): void {
    this.put(latencyBucket(ms), 1);
  }

  /** Durations so far, faded ones as the part that is left. */
  get count(): number {
    return this.total;
  }

  /** The counts that are not 0, as bucket and count in turns: what another thread adds by `merge`. */
  pairs(): number[] {
    const pairs: number[] = [];
    for (let i = this.from; i < this.to; i++) if (this.counts[i]! > 0) pairs.push(i, this.counts[i]!);
    return pairs;
  }

  /** Adds what `pairs` of another sketch gave. */
  merge(pairs: readonly number[]): void {
    for (let i = 0; i + 1 < pairs.length; i += 2) this.put(pairs[i]!, pairs[i + 1]!);
  }

  /** Keeps this share of every count, 0 to 1: what is old says less and less. */
  fade(share: number): void {
    this.total = 0;
    for (let i = this.from; i < this.to; i++) {
      const count = this.counts[i]! * share;
      this.counts[i] = count < NOTHING ? 0 : count;
      this.total += this.counts[i]!;
    }
  }

  clear(): void {
    if (this.from < this.to) this.counts.fill(0, this.from, this.to);
    this.total = 0;
    this.from = LATENCY_BUCKETS;
    this.to = 0;
  }

  private put(bucket: number, times: number): void {
    this.counts[bucket]! += times;
    this.total += times;
    if (bucket < this.from) this.from = bucket;
    if (bucket >= this.to) this.to = bucket + 1;
  }

  percentiles(): Percentiles {
    if (this.total === 0) return null;
    return [this.quantile(0.5), this.quantile(0.9), this.quantile(0.99)];
  }

  /** Within a bucket the durations are taken to be spread evenly. */
  private quantile(share: number): number {
    let left = share * this.total;
    for (let i = 0; i < LATENCY_BUCKETS; i++) {
      const count = this.counts[i]!;
      // Of the first it is known only that they took no longer.
      if (i === 0 && count >= left && count > 0) return LEAST_MS;
      if (count > 0 && count >= left) return LEAST_MS * 2 ** ((i + left / count) / LATENCY_BUCKETS_PER_OCTAVE);
      left -= count;
    }
    return LEAST_MS * 2 ** (LATENCY_BUCKETS / LATENCY_BUCKETS_PER_OCTAVE);
  }
}

/**
 * Percentiles of a histogram with fixed bounds. Within a bucket the durations are taken to be spread evenly.
 * @param counts by bucket, whole or faded; the last takes what is above all bounds
 * @param boundsMs upper bounds of the others
 */
export function percentilesOf(counts: ArrayLike<number>, boundsMs: ArrayLike<number>): Percentiles {
  let total = 0;
  for (let i = 0; i < counts.length; i++) total += counts[i]!;
  if (total <= 0) return null;
  const quantile = (share: number): number => {
    let left = share * total;
    for (let i = 0; i < boundsMs.length; i++) {
      const count = counts[i]!;
      const from = i === 0 ? 0 : boundsMs[i - 1]!;
      if (count > 0 && count >= left) return from + (boundsMs[i]! - from) * (left / count);
      left -= count;
    }
    return boundsMs[boundsMs.length - 1]!;
  };
  return [quantile(0.5), quantile(0.9), quantile(0.99)];
}

/** The bucket of a duration. */
export function latencyBucket(ms: number): number {
  if (!(ms > LEAST_MS)) return 0;
  return Math.min(LATENCY_BUCKETS - 1, Math.floor(Math.log2(ms / LEAST_MS) * LATENCY_BUCKETS_PER_OCTAVE));
}

/** A count that has faded so far is gone. */
const NOTHING = 0.01;
