import { expect, test } from "bun:test";
import { createTokenBuckets } from "../../../src/shared/token-bucket.ts";
import type { TokenOrder, TokenReport } from "./token-worker.ts";

const THREADS = 4;
const NO_CLOCK = { clockMs: 0, untilMs: 0 };

/** Lets all threads do the same at once; the tokens that they got together, and when the first of them began. */
async function askByThreads(orderOf: () => TokenOrder): Promise<TokenReport> {
  const threads = Array.from({ length: THREADS }, () => new Worker(new URL("./token-worker.ts", import.meta.url).href));
  try {
    const reports = await Promise.all(
      threads.map(
        (thread) =>
          new Promise<TokenReport>((resolve, reject) => {
            thread.onmessage = ({ data }: MessageEvent<TokenReport>) => resolve(data);
            thread.onerror = reject;
            thread.postMessage(orderOf());
          }),
      ),
    );
    const admitted = reports.reduce((sum, report) => sum + report.admitted, 0);
    return { admitted, firstMs: Math.min(...reports.map((report) => report.firstMs)) };
  } finally {
    for (const thread of threads) thread.terminate();
  }
}

test("threads that ask at the same instant get the burst and not one more", async () => {
  const buckets = createTokenBuckets([1, 2]);
  const order = { buckets, requests: 1000, windowMs: 1000, burst: 50_000, keys: 1, fixedNowMs: 77_777, ...NO_CLOCK };
  expect((await askByThreads(() => ({ ...order, rounds: 30_000 }))).admitted).toBe(50_000);
  expect((await askByThreads(() => ({ ...order, rounds: 100 }))).admitted).toBe(0);
  expect((await askByThreads(() => ({ ...order, rounds: 500, fixedNowMs: 78_777 }))).admitted).toBe(1000);
});

test("many keys have their burst each", async () => {
  const buckets = createTokenBuckets([5, 6]);
  const order = { buckets, requests: 10, windowMs: 1000, burst: 7, keys: 2000, fixedNowMs: 5000, ...NO_CLOCK };
  // All threads come with the same new keys in the same order, so that they often take a place at the same instant.
  expect((await askByThreads(() => ({ ...order, rounds: 20 }))).admitted).toBe(14_000);
});

test("over time they get what the rate says, on one clock", async () => {
  const buckets = createTokenBuckets([3, 4]);
  const untilMs = performance.now() + 900;
  const order = { buckets, requests: 5000, windowMs: 1000, burst: 100, keys: 1, rounds: 0, fixedNowMs: -1 };
  const { admitted, firstMs } = await askByThreads(() => ({ ...order, clockMs: performance.now(), untilMs }));
  const spanMs = untilMs - firstMs;
  expect(admitted).toBeLessThanOrEqual(100 + spanMs * 5 + 1);
  // A busy machine may keep all threads waiting for a moment at the end.
  expect(admitted).toBeGreaterThan(100 + (spanMs - 150) * 5);
});
