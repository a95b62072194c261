import { expect, test } from "bun:test";
import { CacheOwner } from "../../../../../src/features/cache/control/cache-owner.ts";
import { LookupKind } from "../../../../../src/features/cache/store/cache-lookup.ts";
import { MemoryHead } from "../../../../../src/features/cache/store/cache-memory.ts";
import { CacheStore } from "../../../../../src/features/cache/store/cache-store.ts";
import type { CacheOrder, CacheReport } from "./cache-worker.ts";
import { entryOf, factsOf, keyOf, readBody, storeAnswer } from "./store-fill.ts";

const THREADS = 4;
/** Threads take seconds to start where every processor is busy. */
const PATIENCE_MS = 60_000;
const SIZES = {
  enabled: true,
  defaultTtlMs: 0,
  maxPayloadBytes: 20_000,
  maxEntries: 60,
  maxBytes: 300_000,
  cookies: "share",
} as const;

const EVICTIONS = ["lru", "s3fifo"] as const;

/** A thread that uses the cache. */
class CacheThread {
  readonly begun: Promise<void>;
  readonly report: Promise<CacheReport>;
  readonly closed: Promise<void>;
  private readonly worker = new Worker(new URL("./cache-worker.ts", import.meta.url).href);

  constructor(order: CacheOrder) {
    let begin: () => void = () => {};
    this.begun = new Promise((resolve) => {
      begin = resolve;
    });
    this.report = new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }: MessageEvent<CacheReport | "begun">) => {
        if (data === "begun") begin();
        else resolve(data);
      };
      this.worker.onerror = reject;
    });
    this.closed = new Promise((resolve) => this.worker.addEventListener("close", () => resolve()));
    this.worker.postMessage(order);
  }

  async kill(): Promise<void> {
    this.worker.terminate();
    await this.closed;
  }
}

function orders(keeper: CacheOwner, stop: SharedArrayBuffer) {
  return (thread: number, seed: number): CacheOrder => ({
    buffers: keeper.buffers!,
    thread,
    seed,
    keys: 200,
    maxBodyBytes: 20_000,
    stop,
  });
}

/** Nobody holds anything any more, and nothing was lost. */
function expectSound(keeper: CacheOwner): void {
  const store = new CacheStore(keeper.buffers!, THREADS);
  const { words } = store.memory;
  expect(words[MemoryHead.Lock]).toBe(0);
  expect(words[MemoryHead.Fills]).toBe(0);
  expect(words[MemoryHead.Doomed]).toBe(0);
  expect(words[MemoryHead.Entries]).toBeLessThanOrEqual(SIZES.maxEntries);
  expect(store.purge({ matches: () => true, tags: null, staleSinceMs: -1 })).toBeGreaterThan(0);
  expect(keeper.bytes).toBe(0);
  expect(keeper.entries).toBe(0);
}

test.each(EVICTIONS)(
  "threads that store, find, send, invalidate and evict at random see whole answers only: %s",
  async (eviction) => {
    const keeper = new CacheOwner({ ...SIZES, eviction }, THREADS);
    const stop = new SharedArrayBuffer(4);
    const order = orders(keeper, stop);
    const threads = Array.from({ length: THREADS }, (_, i) => new CacheThread(order(i, 1000 + i * 77)));
    await Promise.all(threads.map((thread) => thread.begun));
    await Bun.sleep(700);
    Atomics.store(new Int32Array(stop), 0, 1);
    const reports = await Promise.all(threads.map((thread) => thread.report));
    await Promise.all(threads.map((thread) => thread.kill()));
    expect(reports.flatMap((report) => report.wrong)).toEqual([]);
    for (const report of reports) {
      expect(report.hits).toBeGreaterThan(0);
      expect(report.stored).toBeGreaterThan(0);
    }
    expectSound(keeper);
  },
  PATIENCE_MS,
);

test.each(EVICTIONS)(
  "a thread that ends in the midst of anything neither blocks nor corrupts the others: %s",
  async (eviction) => {
    const keeper = new CacheOwner({ ...SIZES, eviction }, THREADS);
    const stop = new SharedArrayBuffer(4);
    const order = orders(keeper, stop);
    const survivors = [0, 1].map((i) => new CacheThread(order(i, 5000 + i)));
    await Promise.all(survivors.map((thread) => thread.begun));
    for (let round = 0; round < 12; round++) {
      const victims = [2, 3].map((i) => new CacheThread(order(i, round * 31 + i)));
      await Promise.all(victims.map((victim) => victim.begun));
      await Bun.sleep(round % 7);
      await Promise.all(victims.map((victim) => victim.kill()));
      await Promise.all([keeper.workerDied(2), keeper.workerDied(3)]);
    }
    await Bun.sleep(50);
    Atomics.store(new Int32Array(stop), 0, 1);
    const reports = await Promise.all(survivors.map((thread) => thread.report));
    await Promise.all(survivors.map((thread) => thread.kill()));
    expect(reports.flatMap((report) => report.wrong)).toEqual([]);
    for (const report of reports) expect(report.stored).toBeGreaterThan(0);
    expectSound(keeper);
  },
  PATIENCE_MS,
);

test("what a thread left half done under the lock is derived anew, and what others send stays", async () => {
  const keeper = new CacheOwner(SIZES, THREADS);
  const store = new CacheStore(keeper.buffers!, 0);
  for (let i = 0; i < 20; i++) storeAnswer(store, keyOf(store, `/${i}`), `body ${i}`, factsOf(i, 1000));
  const sent = entryOf(store.find(keyOf(store, "/3"), 1, false));
  store.remove(sent);
  const { words, bucketsAt, bucketMask } = store.memory;
  const dead = new CacheStore(keeper.buffers!, 2);
  dead.find(keyOf(dead, "/5"), 1, false);
  dead.claim(keyOf(dead, "/new"));
  // It died with the lock, and everything that hangs together was in pieces.
  words[MemoryHead.Lock] = 3;
  words.fill(77, bucketsAt, bucketsAt + bucketMask + 1);
  words[MemoryHead.FreeBlock] = 3;
  words[MemoryHead.Newest] = 1_000_000;
  expect(store.find(keyOf(store, "/4"), 1, false).kind).toBe(LookupKind.Busy);
  await keeper.workerDied(2);
  for (let i = 0; i < 20; i++) {
    const found = store.find(keyOf(store, `/${i}`), 1, false);
    expect(found.kind).toBe(i === 3 ? LookupKind.Nothing : LookupKind.Fresh);
    if (i === 3) continue;
    expect(readBody(store, entryOf(found))).toBe(`body ${i}`);
    store.unpin(entryOf(found));
  }
  expect(readBody(store, sent)).toBe("body 3");
  store.unpin(sent);
  expectSound(keeper);
});
