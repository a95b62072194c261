import { expect, test } from "bun:test";
import fc from "fast-check";
import { BucketRate, createTokenBuckets, TokenBuckets } from "../../src/memory/token-bucket.ts";

/** A bucket as one would explain it: tokens that drip in, up to the burst and a little more for clocks that disagree. */
class ModelBucket {
  private readonly capacity: number;
  private tokens: number;
  private atMs: number;

  constructor(
    private readonly perMs: number,
    burst: number,
    nowMs: number,
    /** Units that a token of the buckets has: at very high rates few, so that their rounding shows. */
    private readonly unitsPerToken: number,
  ) {
    this.capacity = burst + Math.min(1, 20 * perMs);
    this.tokens = this.capacity;
    this.atMs = nowMs;
  }

  /** Tokens at a time. */
  at(nowMs: number): number {
    return Math.min(this.capacity, this.tokens + (nowMs - this.atMs) * this.perMs);
  }

  /** Rounding to units may decide where a token is just about there, and so may what a double cannot tell of the time. */
  closeness(nowMs: number): number {
    return 4e-6 + 2 / this.unitsPerToken + nowMs * 2 ** -50 * this.perMs;
  }

  take(nowMs: number): void {
    this.tokens = this.at(nowMs) - 1;
    this.atMs = nowMs;
  }
}

const step = fc.record({
  key: fc.integer({ min: 0, max: 5 }),
  times: fc.integer({ min: 1, max: 12 }),
  // Shares of the time in which a token comes: short ones, long ones, and exactly one. In thousandths, since what lies
  // below the rounding of the buckets could come out either way.
  waits: fc.oneof(
    fc.constant(0),
    fc.constant(1),
    fc.integer({ min: 1, max: 3000 }).map((thousandths) => thousandths / 1000),
    fc.constant(500),
  ),
});

test("token buckets do what a simple model does", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5000 }),
      fc.constantFrom(1, 10, 1000, 60_000, 3_600_000, 86_400_000),
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 0, max: 2 ** 36 }),
      fc.array(step, { maxLength: 60 }),
      (requests, windowMs, burst, startMs, steps) => {
        // All keys in one set, which holds eight: nothing is forgotten.
        const buckets = new TokenBuckets(createTokenBuckets([7, 9], 1));
        const rate = new BucketRate(requests, windowMs, burst);
        const models = Array.from(
          { length: 6 },
          () => new ModelBucket(requests / windowMs, burst, startMs, rate.unitsPerToken),
        );
        let nowMs = startMs;
        for (const { key, times, waits } of steps) {
          nowMs += (waits * windowMs) / requests;
          const hashed = buckets.keyFor("model");
          hashed.hash(Uint8Array.of(key), 0, 1);
          for (let i = 0; i < times; i++) checkOne(models[key]!, buckets.take(hashed, rate, nowMs), nowMs);
        }
      },
    ),
    {
      numRuns: 500,
      examples: [
        // One unit of rounding at either end: at 537 requests a millisecond that is a thousandth of a token.
        [
          537,
          1,
          1,
          0,
          [
            { key: 0, times: 1, waits: 1 },
            { key: 0, times: 1, waits: 0.001 },
          ],
        ],
      ],
    },
  );
});

test("a flood makes them forget, never refuse what is due", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 100, maxLength: 600 }), (names) => {
      const buckets = new TokenBuckets(createTokenBuckets([7, 9], 2));
      const rate = new BucketRate(5, 1000, 4);
      const models = new Map<number, ModelBucket>();
      names.forEach((name, i) => {
        const nowMs = 1000 + i * 3;
        const hashed = buckets.keyFor("model");
        hashed.hash(Uint8Array.of(name), 0, 1);
        const model = models.get(name) ?? new ModelBucket(0.005, 4, nowMs, rate.unitsPerToken);
        models.set(name, model);
        if (buckets.take(hashed, rate, nowMs) === 0) model.take(nowMs);
        else expect(model.at(nowMs)).toBeLessThan(1 + model.closeness(nowMs));
      });
    }),
  );
});

function checkOne(model: ModelBucket, waitMs: number, nowMs: number): void {
  const tokens = model.at(nowMs);
  const close = model.closeness(nowMs);
  if (waitMs === 0) {
    expect(tokens).toBeGreaterThan(1 - close);
    model.take(nowMs);
    return;
  }
  expect(tokens).toBeLessThan(1 + close);
  // It says when to come again, and then there is a token.
  expect(model.at(nowMs + waitMs)).toBeGreaterThan(1 - 2 * close);
}
