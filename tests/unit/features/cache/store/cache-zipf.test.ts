import { expect, test } from "bun:test";
import { CacheKey } from "../../../../../src/features/cache/store/cache-key.ts";
import { LookupKind } from "../../../../../src/features/cache/store/cache-lookup.ts";
import { createCacheBuffers } from "../../../../../src/features/cache/store/cache-memory.ts";
import { CacheStore } from "../../../../../src/features/cache/store/cache-store.ts";
import { factsOf, storeAnswer } from "./store-fill.ts";

const OBJECTS = 100_000;
const REQUESTS = 1_000_000;
/** Enough to fill the memory many times over. */
const SIZED_REQUESTS = 250_000;
/** Exponent of the popularity, as measured for the web. */
const SKEW = 0.9;
/** Of so many requests the last ones are a scan. */
const SCAN_EVERY = 20_000;
const SCAN_LENGTH = 8_000;
const PATIENCE_MS = 120_000;

/** Gives objects with the popularity of Zipf's law, always the same ones. */
class ZipfTrace {
  private readonly sums: Float64Array = new Float64Array(OBJECTS);
  private state = 12345;
  private asked = 0;
  private scanned = 0;

  /** @param scans whether now and then a client reads a run of objects through that are asked for by no other */
  constructor(private readonly scans = false) {
    let sum = 0;
    for (let i = 0; i < OBJECTS; i++) {
      sum += 1 / (i + 1) ** SKEW;
      this.sums[i] = sum;
    }
  }

  next(): number {
    if (this.scans && this.asked++ % SCAN_EVERY >= SCAN_EVERY - SCAN_LENGTH) return OBJECTS + this.scanned++;
    return this.popular();
  }

  private popular(): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    const wanted = (this.state / 2 ** 32) * this.sums[OBJECTS - 1]!;
    let from = 0;
    for (let to = OBJECTS - 1; from < to; ) {
      const middle = (from + to) >> 1;
      if (this.sums[middle]! < wanted) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

/** S3-FIFO in its simplest form, for entries of one size: two queues and the ghosts as arrays. */
class QueueModel {
  private readonly small: number[] = [];
  private readonly main: number[] = [];
  private readonly uses: Map<number, number> = new Map();
  private readonly ghosts: Set<number> = new Set();

  constructor(private readonly capacity: number) {}

  /** @returns whether the object was there */
  ask(object: number): boolean {
    const uses = this.uses.get(object);
    if (uses !== undefined) {
      this.uses.set(object, Math.min(3, uses + 1));
      return true;
    }
    while (this.uses.size >= this.capacity) this.evict();
    (this.ghosts.delete(object) ? this.main : this.small).push(object);
    this.uses.set(object, 0);
    return false;
  }

  private evict(): void {
    if (this.small.length * 10 >= this.uses.size || this.main.length === 0) {
      const object = this.small.shift()!;
      if (this.uses.get(object)! > 1) {
        this.main.push(object);
        this.uses.set(object, 0);
        return;
      }
      this.uses.delete(object);
      this.ghosts.add(object);
      if (this.ghosts.size > this.capacity * 0.9) this.ghosts.delete(this.ghosts.values().next().value!);
      return;
    }
    const object = this.main.shift()!;
    const uses = this.uses.get(object)!;
    if (uses === 0) this.uses.delete(object);
    else {
      this.main.push(object);
      this.uses.set(object, uses - 1);
    }
  }
}

/** Objects in order of use: a list through arrays. */
class UseOrder {
  private readonly newer: Int32Array = new Int32Array(OBJECTS + 1).fill(-1);
  private readonly older: Int32Array = new Int32Array(OBJECTS + 1);

  /** The object behind all is the ring's head. */
  constructor() {
    this.newer[OBJECTS] = OBJECTS;
    this.older[OBJECTS] = OBJECTS;
  }

  get oldest(): number {
    return this.newer[OBJECTS]!;
  }

  has(object: number): boolean {
    return this.newer[object] !== -1;
  }

  remove(object: number): void {
    this.older[this.newer[object]!] = this.older[object]!;
    this.newer[this.older[object]!] = this.newer[object]!;
    this.newer[object] = -1;
  }

  addNewest(object: number): void {
    const before = this.older[OBJECTS]!;
    this.newer[before] = object;
    this.older[object] = before;
    this.newer[object] = OBJECTS;
    this.older[OBJECTS] = object;
  }
}

/** The share of requests that a perfect least-recently-used order of this size answers. */
function idealRatio(requests: number, sizeOf: (object: number) => number, capacity: number): number {
  const order = new UseOrder();
  const trace = new ZipfTrace();
  let used = 0;
  let hits = 0;
  for (let i = 0; i < requests; i++) {
    const object = trace.next();
    if (order.has(object)) {
      hits++;
      order.remove(object);
    } else used += sizeOf(object);
    order.addNewest(object);
    while (used > capacity) {
      used -= sizeOf(order.oldest);
      order.remove(order.oldest);
    }
  }
  return hits / requests;
}

/** The same for the store. */
function storeRatio(
  requests: number,
  sizeOf: (object: number) => number,
  maxEntries: number,
  maxBytes: number,
  eviction: "lru" | "s3fifo" = "lru",
  trace: ZipfTrace = new ZipfTrace(),
): number {
  const store = new CacheStore(createCacheBuffers({ maxEntries, maxBytes, eviction }, 1, 1), 0);
  const body = Buffer.alloc(20_000, "z");
  const facts = factsOf(1, 1e15);
  const key = new CacheKey(store.memory.seed);
  const text = Buffer.from("shop.example\0/product/........");
  let hits = 0;
  for (let i = 0; i < requests; i++) {
    const object = trace.next();
    text.writeUInt32LE(object, text.length - 4);
    key.begin(text.length);
    key.add(text, 0, text.length);
    key.endUri();
    key.addByte(1);
    key.endVariant();
    const found = store.find(key, 2, false);
    if (found.kind === LookupKind.Fresh) {
      hits++;
      store.unpin(found.entry);
    } else storeAnswer(store, key, body.subarray(0, sizeOf(object)), facts);
  }
  return hits / requests;
}

test(
  "a million requests over 100,000 objects hit as often as in an ideal order of 10,000 entries",
  () => {
    const ideal = idealRatio(REQUESTS, () => 1, 10_000);
    expect(ideal).toBeGreaterThan(0.4);
    expect(Math.abs(storeRatio(REQUESTS, () => 500, 10_000, 2 ** 30) - ideal)).toBeLessThan(0.0001);
  },
  PATIENCE_MS,
);

test(
  "and within two points where the memory is the limit and sizes differ",
  () => {
    const sizeOf = (object: number): number => 300 + (Math.imul(object, 0x9e3779b1) >>> 20) * 4;
    const capacity = 16 * 1024 * 1024;
    const ideal = idealRatio(SIZED_REQUESTS, sizeOf, capacity);
    expect(storeRatio(SIZED_REQUESTS, sizeOf, 4000, capacity)).toBeGreaterThan(ideal - 0.02);
  },
  PATIENCE_MS,
);

test.each([
  ["without scans", false],
  ["with scans", true],
] as const)(
  "s3fifo hits within a point as often as a simulation of it, and more often than an order of use: %s",
  (_, scans) => {
    const entries = 5000;
    const requests = 400_000;
    const model = new QueueModel(entries);
    const trace = new ZipfTrace(scans);
    let hits = 0;
    for (let i = 0; i < requests; i++) if (model.ask(trace.next())) hits++;
    const simulated = hits / requests;
    const measured = storeRatio(requests, () => 500, entries, 2 ** 28, "s3fifo", new ZipfTrace(scans));
    const byUse = storeRatio(requests, () => 500, entries, 2 ** 28, "lru", new ZipfTrace(scans));
    expect(Math.abs(measured - simulated)).toBeLessThan(0.01);
    expect(measured).toBeGreaterThan(byUse + 0.03);
  },
  PATIENCE_MS,
);

test(
  "s3fifo keeps within the memory where that is the limit and sizes differ, and beats the order of use there too",
  () => {
    const sizeOf = (object: number): number => 300 + (Math.imul(object, 0x9e3779b1) >>> 20) * 4;
    const capacity = 16 * 1024 * 1024;
    const byUse = storeRatio(SIZED_REQUESTS, sizeOf, 4000, capacity, "lru", new ZipfTrace(true));
    expect(storeRatio(SIZED_REQUESTS, sizeOf, 4000, capacity, "s3fifo", new ZipfTrace(true))).toBeGreaterThan(byUse);
  },
  PATIENCE_MS,
);
