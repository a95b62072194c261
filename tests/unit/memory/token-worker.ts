import { BucketRate, TokenBuckets } from "../../../src/memory/token-bucket.ts";

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
  /** Times to ask each. */
  readonly rounds: number;
  /** The time of the first round, in milliseconds. */
  readonly startMs: number;
  /** A counter of all threads' rounds, and by how many milliseconds each moves their clock on. */
  readonly clock: SharedArrayBuffer;
  readonly stepMs: number;
}

self.onmessage = ({ data }: MessageEvent<TokenOrder>) => {
  const clock = new Int32Array(data.clock);
  const buckets = new TokenBuckets(data.buckets);
  const rate = new BucketRate(data.requests, data.windowMs, data.burst);
  const keys = Array.from({ length: data.keys }, (_, i) => {
    const key = buckets.keyFor("threads");
    key.hash(Uint8Array.of(i & 255, i >> 8), 0, 2);
    return key;
  });
  let admitted = 0;
  for (let round = 0; round < data.rounds; round++) {
    const nowMs = data.startMs + Atomics.add(clock, 0, 1) * data.stepMs;
    for (const key of keys) if (buckets.take(key, rate, nowMs) === 0) admitted++;
  }
  self.postMessage(admitted);
};
