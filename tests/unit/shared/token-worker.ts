import { BucketRate, TokenBuckets } from "../../../src/shared/token-bucket.ts";

/** A worker thread that asks for tokens as told, then reports how many it got. */
declare const self: Worker;

/** What a thread is told to do. */
export interface TokenOrder {
  readonly buckets: SharedArrayBuffer;
  readonly requests: number;
  readonly windowMs: number;
  readonly burst: number;
  /** Names of the buckets to ask, one after the other. */
  readonly keys: number;
  /** Times to ask each; 0 is as often as it goes until `untilMs`. */
  readonly rounds: number;
  /** The time to ask at; -1 is the clock. */
  readonly fixedNowMs: number;
  /** The starter's clock now, and when to end on it. */
  readonly clockMs: number;
  readonly untilMs: number;
}

/** What it tells. */
export interface TokenReport {
  readonly admitted: number;
  /** When it began, on the starter's clock. */
  readonly firstMs: number;
}

self.onmessage = ({ data }: MessageEvent<TokenOrder>) => {
  const aheadMs = data.clockMs - performance.now();
  const buckets = new TokenBuckets(data.buckets);
  const rate = new BucketRate(data.requests, data.windowMs, data.burst);
  const keys = Array.from({ length: data.keys }, (_, i) => {
    const key = buckets.keyFor("threads");
    key.hash(Uint8Array.of(i & 255, i >> 8), 0, 2);
    return key;
  });
  let admitted = 0;
  const firstMs = performance.now() + aheadMs;
  for (let round = 0; data.rounds === 0 || round < data.rounds; round++) {
    const nowMs = data.fixedNowMs >= 0 ? data.fixedNowMs : performance.now() + aheadMs;
    if (data.rounds === 0 && nowMs > data.untilMs) break;
    for (const key of keys) if (buckets.take(key, rate, nowMs) === 0) admitted++;
  }
  self.postMessage({ admitted, firstMs } satisfies TokenReport);
};
