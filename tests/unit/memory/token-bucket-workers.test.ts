import { expect, test } from "bun:test";
import { createTokenBuckets } from "../../../src/memory/token-bucket.ts";
import type { TokenOrder } from "./token-worker.ts";

const THREADS = 4;
/** Threads take seconds to start where every processor is busy. */
const PATIENCE_MS = 30_000;

/** Lets all threads do the same at once; the tokens that they got together. */
async function admitted(order: Omit<TokenOrder, "clock">): Promise<number> {
  const clock = new SharedArrayBuffer(4);
  const threads = Array.from({ length: THREADS }, () => new Worker(new URL("./token-worker.ts", import.meta.url).href));
  try {
    const counts = await Promise.all(
      threads.map(
        (thread) =>
          new Promise<number>((resolve, reject) => {
            thread.onmessage = ({ data }: MessageEvent<number>) => resolve(data);
            thread.onerror = reject;
            thread.postMessage({ ...order, clock });
          }),
      ),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  } finally {
    for (const thread of threads) thread.terminate();
  }
}

test(
  "threads that ask at the same instant get the burst and not one more",
  async () => {
    const buckets = createTokenBuckets([1, 2]);
    const order = { buckets, requests: 1000, windowMs: 1000, burst: 50_000, keys: 1, startMs: 77_777, stepMs: 0 };
    expect(await admitted({ ...order, rounds: 30_000 })).toBe(50_000);
    expect(await admitted({ ...order, rounds: 100 })).toBe(0);
    expect(await admitted({ ...order, rounds: 500, startMs: 78_777 })).toBe(1000);
  },
  PATIENCE_MS,
);

test(
  "many keys have their burst each",
  async () => {
    const buckets = createTokenBuckets([5, 6]);
    const order = { buckets, requests: 10, windowMs: 1000, burst: 7, keys: 2000, startMs: 5000, stepMs: 0 };
    // All threads come with the same new keys in the same order, so that they often take a place at the same instant.
    expect(await admitted({ ...order, rounds: 20 })).toBe(14_000);
  },
  PATIENCE_MS,
);

test(
  "over time they get what the rate says, on one clock",
  async () => {
    const buckets = createTokenBuckets([3, 4]);
    const rounds = 200_000;
    // A clock that moves when somebody asks: a busy machine changes nothing.
    const order = { buckets, requests: 5000, windowMs: 1000, burst: 100, keys: 1, startMs: 10_000, stepMs: 0.001 };
    const due = 100 + rounds * THREADS * 0.001 * 5;
    const got = await admitted({ ...order, rounds });
    expect(got).toBeLessThanOrEqual(due + 1);
    // At the end a thread may have asked with the time of long ago, and the others are done.
    expect(got).toBeGreaterThan(due * 0.98);
  },
  PATIENCE_MS,
);
