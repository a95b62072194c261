import { expect, test } from "bun:test";
import { CacheKey } from "../../../src/shared/cache-key.ts";
import { createCacheBuffers } from "../../../src/shared/cache-memory.ts";
import { CacheLookup, CacheStore } from "../../../src/shared/cache-store.ts";
import { factsOf, storeAnswer } from "./store-fill.ts";

const OBJECTS = 100_000;
const REQUESTS = 1_000_000;
/** Enough to fill the memory many times over. */
const SIZED_REQUESTS = 250_000;
/** Exponent of the popularity, as measured for the web. */
const SKEW = 0.9;
const PATIENCE_MS = 120_000;

/** Gives objects with the popularity of Zipf's law, always the same ones. */
class ZipfTrace {
  private readonly sums: Float64Array = new Float64Array(OBJECTS);
  private state = 12345;

  constructor() {
    let sum = 0;
    for (let i = 0; i < OBJECTS; i++) {
      sum += 1 / (i + 1) ** SKEW;
      this.sums[i] = sum;
    }
  }

  next(): number {
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
): number {
  const store = new CacheStore(createCacheBuffers({ maxEntries, maxBytes }, 1, 1), 0);
  const trace = new ZipfTrace();
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
    if (store.find(key, 2, false) === CacheLookup.Fresh) {
      hits++;
      store.unpin(store.entry);
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
