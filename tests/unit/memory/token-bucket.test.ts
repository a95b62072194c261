import { describe, expect, test } from "bun:test";
import { BucketRate, createTokenBuckets, TokenBuckets } from "../../../src/memory/token-bucket.ts";
import { BucketKey } from "../../../src/memory/token-bucket-key.ts";

function bucketsOf(sets?: number): TokenBuckets {
  return new TokenBuckets(createTokenBuckets([1, 2], sets));
}

/** The key of a purpose, with the hash of a name in it. */
function keyOf(buckets: TokenBuckets, name: string, purpose = "test"): BucketKey {
  const key = buckets.keyFor(purpose);
  key.hash(Buffer.from(name), 0, name.length);
  return key;
}

describe("keyed hashing", () => {
  // From the reference implementation's vectors_hsip64: the key is 00 … 07, message i is the bytes 00 … i-1.
  test.each([
    [0, "218d1f59b9b83cc8"],
    [1, "be552412f8387315"],
    [2, "064f39ef7c50eb57"],
    [3, "ce0f1a45f7060679"],
    [4, "d5e78a175be52ea1"],
  ])("%d bytes give the reference's hash", (length, expected) => {
    const key = new BucketKey(0x03020100, 0x07060504);
    const message = Uint8Array.from({ length: length + 6 }, (_, i) => i - 3);
    key.hash(message, 3, 3 + length);
    const out = Buffer.alloc(8);
    out.writeInt32LE(key.high, 0);
    out.writeInt32LE(key.low, 4);
    expect(out.toString("hex")).toBe(expected);
  });

  test("a key for another purpose hashes otherwise, the same in every thread", () => {
    const shared = createTokenBuckets([3, 4]);
    const [a, b, other] = ["one", "one", "two"].map((purpose) => keyOf(new TokenBuckets(shared), "x", purpose));
    expect([a!.high, a!.low]).toEqual([b!.high, b!.low]);
    expect(a!.high).not.toBe(other!.high);
  });
});

describe("token buckets", () => {
  test("a token that is given back can be taken again, and no bucket gets fuller than full", () => {
    const buckets = bucketsOf();
    const rate = new BucketRate(1, 10_000, 3);
    const key = keyOf(buckets, "a");
    const start = 1_000_000;
    for (let round = 0; round < 50; round++) {
      expect(buckets.take(key, rate, start + round)).toBe(0);
      buckets.giveBack(key, rate, start + round);
    }
    buckets.giveBack(key, rate, start + 50);
    for (let i = 0; i < 3; i++) expect(buckets.take(key, rate, start + 50)).toBe(0);
    expect(buckets.take(key, rate, start + 50)).toBeGreaterThan(9000);
    buckets.giveBack(keyOf(buckets, "b"), rate, start + 50);
    expect(buckets.take(key, rate, start + 50)).toBeGreaterThan(9000);
  });

  test("a full one gives its burst at once, then one a share of the window", () => {
    const buckets = bucketsOf();
    const rate = new BucketRate(10, 1000, 5);
    const key = keyOf(buckets, "a");
    const start = 1_000_000;
    for (let i = 0; i < 5; i++) expect(buckets.take(key, rate, start)).toBe(0);
    // 20 ms early, for the clocks of other threads; the one after that has to wait for its whole share.
    expect(buckets.take(key, rate, start)).toBeCloseTo(80, 3);
    expect(buckets.take(key, rate, start + 40)).toBeCloseTo(40, 3);
    expect(buckets.take(key, rate, start + 81)).toBe(0);
    expect(buckets.take(key, rate, start + 81)).toBeCloseTo(99, 3);
    for (let i = 0; i < 5; i++) expect(buckets.take(key, rate, start + 10_000)).toBe(0);
    expect(buckets.take(key, rate, start + 10_000)).toBeGreaterThan(0);
  });

  test("keys and purposes have buckets of their own", () => {
    const buckets = bucketsOf();
    const rate = new BucketRate(1, 1000, 1);
    for (const [name, purpose] of [
      ["a", "x"],
      ["b", "x"],
      ["a", "y"],
    ] as const) {
      expect(buckets.take(keyOf(buckets, name, purpose), rate, 50)).toBe(0);
      expect(buckets.take(keyOf(buckets, name, purpose), rate, 50)).toBeGreaterThan(0);
    }
  });

  test.each([
    [1, 1000, 1],
    [1, 86_400_000, 1],
    [3, 86_400_000 * 30, 100],
    [100, 3_600_000, 1000],
    [1_000_000, 1000, 1],
    [7, 1000, 1_000_000],
    [70_000, 1000, 70_000],
    [1_000_000_000, 1, 1_000_000_000],
  ])("%d in %d ms with a burst of %d keeps its rate", (requests, windowMs, burst) => {
    const rate = new BucketRate(requests, windowMs, burst);
    const perToken = Math.max(windowMs / requests, 1000 / 2 ** 29);
    expect(rate.unitsPerToken / rate.unitsPerMs / perToken).toBeCloseTo(1, 9);
    expect(Math.floor(rate.capacity / rate.unitsPerToken)).toBe(Math.min(burst, 2 ** 29));
    expect(rate.capacity + rate.unitsPerMs * 2000).toBeLessThan(2 ** 31);
    const buckets = bucketsOf(1);
    const key = keyOf(buckets, "a");
    expect(buckets.take(key, rate, 1e9)).toBe(0);
  });

  test("a bucket that rested for weeks is full, whatever its units wrapped to", () => {
    const rate = new BucketRate(10, 1000, 10);
    for (let rest = 2000; rest < 4e9; rest = rest * 1.07 + 13) {
      const buckets = bucketsOf(1);
      const key = keyOf(buckets, "a");
      for (let i = 0; i < 10; i++) expect(buckets.take(key, rate, 123_456)).toBe(0);
      for (let i = 0; i < 10; i++) expect(buckets.take(key, rate, 123_456 + rest)).toBe(0);
      expect(buckets.take(key, rate, 123_456 + rest)).toBeGreaterThan(0);
    }
  });

  test("a thread whose clock is behind refuses too much, never admits too much", () => {
    const buckets = bucketsOf();
    const rate = new BucketRate(10, 1000, 10);
    const key = keyOf(buckets, "a");
    for (let i = 0; i < 10; i++) buckets.take(key, rate, 5000);
    for (const behind of [0, 1, 20, 400, 900]) expect(buckets.take(key, rate, 5000 - behind)).toBeGreaterThan(0);
    expect(buckets.take(key, rate, 5101)).toBe(0);
  });

  test("clocks that are a little apart cost no token", () => {
    const rate = new BucketRate(4, 7_200_000, 4);
    const buckets = bucketsOf();
    const key = keyOf(buckets, "a");
    const admitted = [5000, 4999, 5001, 4985, 5003, 4990].filter((now) => buckets.take(key, rate, now) === 0);
    expect(admitted).toEqual([5000, 4999, 5001, 4985]);
  });

  test("a flood of keys does not make it forget who is being refused", () => {
    const buckets = bucketsOf(4);
    const rate = new BucketRate(10, 1000, 100);
    const hot = keyOf(buckets, "hot");
    for (let i = 0; i < 100; i++) expect(buckets.take(hot, rate, 1000)).toBe(0);
    const flood = buckets.keyFor("test");
    for (let i = 0; i < 20_000; i++) {
      const name = Buffer.from(`flood ${i}`);
      flood.hash(name, 0, name.length);
      expect(buckets.take(flood, rate, 1000)).toBe(0);
    }
    expect(buckets.take(hot, rate, 1000)).toBeGreaterThan(0);
  });

  test("buckets that are full again give their places away", () => {
    const buckets = bucketsOf(1);
    const rate = new BucketRate(1, 100, 2);
    const key = buckets.keyFor("test");
    for (let i = 0; i < 1000; i++) {
      const name = Buffer.from(`key ${i}`);
      key.hash(name, 0, name.length);
      const now = 1000 + i * 300;
      expect([buckets.take(key, rate, now), buckets.take(key, rate, now)]).toEqual([0, 0]);
      expect(buckets.take(key, rate, now)).toBeGreaterThan(0);
    }
  });
});

describe("tokens that are charged afterwards", () => {
  const rate = new BucketRate(100, 10_000, 200);
  const used = (buckets: TokenBuckets, name: string, nowMs: number) =>
    buckets.debtOf(keyOf(buckets, name), rate, nowMs) / rate.unitsPerToken;

  test("are owed up to the capacity, come back evenly, and belong to one key", () => {
    const buckets = bucketsOf();
    const charge = (tokens: number, nowMs: number) => buckets.charge(keyOf(buckets, "a"), rate, nowMs, tokens);
    expect(used(buckets, "a", 0)).toBe(0);
    charge(150, 1000);
    expect(used(buckets, "a", 1000)).toBeCloseTo(150, 3);
    expect(used(buckets, "a", 6000)).toBeCloseTo(100, 3);
    charge(-30, 6000);
    expect(used(buckets, "a", 6000)).toBeCloseTo(70, 3);
    charge(1e15, 6000);
    expect(used(buckets, "a", 6000)).toBeCloseTo(rate.capacity / rate.unitsPerToken, 3);
    charge(-1e15, 6000);
    expect(used(buckets, "a", 6000)).toBe(0);
    charge(1, 6000);
    expect([used(buckets, "b", 6000), used(buckets, "a", 60_000)]).toEqual([0, 0]);
  });
});
