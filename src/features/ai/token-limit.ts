import { BucketRate, type TokenBuckets } from "../../memory/token-bucket.ts";
import type { BucketKey } from "../../memory/token-bucket-key.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";

/** Tokens that may be used in a window: a bucket, which is charged once it is known how many a request took. docs/ai.md#limits */
export class TokenLimit {
  private readonly limit: number;
  private readonly rate: BucketRate;
  private readonly buckets: TokenBuckets;
  private readonly key: { of(ex: Exchange): BucketKey };
  private readonly clock: NowMs;

  /** @param clock the same for all workers */
  constructor(
    { limit, windowMs }: { readonly limit: number; readonly windowMs: number },
    buckets: TokenBuckets,
    key: { of(ex: Exchange): BucketKey },
    clock: NowMs,
  ) {
    this.limit = limit;
    // What a request takes beyond the limit is owed: as much again, at most.
    this.rate = new BucketRate(limit, windowMs, limit * 2);
    this.buckets = buckets;
    this.key = key;
    this.clock = clock;
  }

  /** @returns 0 if there are tokens, else the whole seconds until there are */
  wait(ex: Exchange): number {
    const { rate, limit, clock } = this;
    const debt = this.buckets.debtOf(this.key.of(ex), rate, clock.nowMs);
    const over = debt - (limit - 1) * rate.unitsPerToken;
    return over <= 0 ? 0 : Math.ceil(over / rate.unitsPerMs / 1000);
  }

  charge(ex: Exchange, tokens: number): void {
    this.buckets.charge(this.key.of(ex), this.rate, this.clock.nowMs, tokens);
  }
}
