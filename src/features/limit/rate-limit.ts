import type { RateLimitConfig } from "../../config/runtime-config.ts";
import { errorBody } from "../../core/status.ts";
import type { Exchange } from "../../message/exchange.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { BucketRate, type TokenBuckets } from "../../shared/token-bucket.ts";
import { ClientLimitKey, HeaderLimitKey, type LimitKey, OneKey, UserLimitKey } from "./limit-key.ts";
import { QuotaFields } from "./quota-fields.ts";

/** One limit: a rate, what its buckets are told apart by, and the response to requests over it. */
export class RateLimit {
  private readonly buckets: TokenBuckets;
  private readonly rate: BucketRate;
  private readonly key: LimitKey;
  /** What a client may send in all, where the buckets go by what it says of itself; null where they do not. */
  private readonly ceiling: { readonly rate: BucketRate; readonly key: LimitKey } | null = null;
  private readonly status: number;
  /** What responses say of the limit; null where they say nothing. */
  private readonly fields: QuotaFields | null;
  private readonly refusals: (PrebuiltResponse | undefined)[] = [];

  /**
   * @param purpose what the limit is for: those with the same purpose and the same numbers share their buckets, in all
   *   workers and across reloads
   */
  constructor(config: RateLimitConfig, buckets: TokenBuckets, purpose: string) {
    const { requests, windowMs, burst, key, keyHeader, ipv6Prefix } = config;
    const full = JSON.stringify([purpose, requests, windowMs, burst, key, keyHeader, ipv6Prefix]);
    this.buckets = buckets;
    this.rate = new BucketRate(requests, windowMs, burst);
    this.status = config.status;
    this.fields = config.headers ? new QuotaFields(config) : null;
    if (key === "route") this.key = new OneKey(buckets, full);
    else if (key === "header") {
      const header = new HeaderLimitKey(buckets, full, keyHeader, ipv6Prefix);
      const rate = new BucketRate(requests * CLIENT_SHARE, windowMs, burst * CLIENT_SHARE);
      this.key = header;
      this.ceiling = { rate, key: header.all };
    } else if (key === "user") this.key = new UserLimitKey(buckets, full, ipv6Prefix);
    else this.key = new ClientLimitKey(buckets, full, ipv6Prefix);
  }

  /**
   * Takes a token for the request, and one of its client's own where a header tells buckets apart: otherwise a new value each
   * time would have a full bucket each time. What the first refuses does not cost the second.
   * @param nowMs see `TokenBuckets.take`
   * @returns 0, or the whole seconds after which it may come again
   */
  take(ex: Exchange, nowMs: number): number {
    if (this.fields !== null) return this.takeAndTell(ex, nowMs, this.fields);
    const waitMs = this.buckets.take(this.key.of(ex), this.rate, nowMs);
    if (waitMs > 0 || this.ceiling === null) return Math.ceil(waitMs / 1000);
    return Math.ceil(this.buckets.take(this.ceiling.key.of(ex), this.ceiling.rate, nowMs) / 1000);
  }

  /** The same, and the response says what is left: of the two buckets, where there are two, that which has less. */
  private takeAndTell(ex: Exchange, nowMs: number, fields: QuotaFields): number {
    const { buckets, rate, ceiling } = this;
    let waitMs = buckets.take(this.key.of(ex), rate, nowMs);
    let left = rate.tokensLeft(buckets.debt);
    let nextMs = rate.msToNext(buckets.debt);
    if (waitMs === 0 && ceiling !== null) {
      waitMs = buckets.take(ceiling.key.of(ex), ceiling.rate, nowMs);
      const allLeft = ceiling.rate.tokensLeft(buckets.debt);
      if (allLeft < left) [left, nextMs] = [allLeft, ceiling.rate.msToNext(buckets.debt)];
    }
    const seconds = Math.ceil(waitMs / 1000);
    ex.reply.addExtra(seconds > 0 ? fields.at(0, seconds) : fields.at(left, Math.ceil(nextMs / 1000)));
    return seconds;
  }

  /** The response to a request that may come again after so many seconds. */
  refusal(seconds: number): PrebuiltResponse {
    if (seconds > KEPT_REFUSALS) return this.makeRefusal(seconds);
    this.refusals[seconds] ??= this.makeRefusal(seconds);
    return this.refusals[seconds]!;
  }

  private makeRefusal(seconds: number): PrebuiltResponse {
    return new PrebuiltResponse(
      this.status,
      [
        ["Content-Type", "application/json"],
        ["Retry-After", String(seconds)],
      ],
      JSON.stringify(errorBody(this.status, `rate limit exceeded, try again in ${seconds} s`)),
      true,
    );
  }
}

/** How many buckets of a header one client may empty: many users may share an address. */
const CLIENT_SHARE = 10;
/** Refusals come in floods: one must not cost more than the request it prevents. */
const KEPT_REFUSALS = 64;
