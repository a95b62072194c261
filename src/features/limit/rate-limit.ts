import { errorBody } from "../../core/status.ts";
import { BucketRate, type TokenBuckets } from "../../memory/token-bucket.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { ASK, type FleetBuckets, type FleetKey, FleetRate } from "./fleet-buckets.ts";
import {
  AgentLimitKey,
  ClientLimitKey,
  FingerprintLimitKey,
  HeaderLimitKey,
  type KeySource,
  type LimitKey,
  OneKey,
  UserLimitKey,
} from "./limit-key.ts";
import { type Quota, QuotaFields } from "./quota-fields.ts";
import type { RateLimitConfig as ListedConfig } from "./settings.ts";

type RateLimitConfig = Omit<ListedConfig, "more">;

/** One limit: a rate, what its buckets are told apart by, and the response to requests over it. */
export class RateLimit {
  private readonly buckets: TokenBuckets;
  private readonly rate: BucketRate;
  private readonly key: LimitKey;
  /** What a client may send in all, where the buckets go by what it says of itself; null if they do not. */
  private readonly ceiling: { readonly rate: BucketRate; readonly key: LimitKey } | null = null;
  private readonly status: number;
  /** What responses say of the limit; null if they say nothing. */
  private readonly fields: QuotaFields | null;
  /** The same limit for a whole fleet; null if it is this gateway's. */
  private readonly fleet: FleetPart | null;
  private readonly refusals: (PrebuiltResponse | undefined)[] = [];
  /** The rest after the last `take`, as responses tell it; null if they do not. */
  quota: Quota | null = null;

  /**
   * @param purpose what the limit is for: those with the same purpose and the same numbers share their buckets, in all
   *   workers and across reloads
   * @param fleet the buckets of the fleet, if the limit is one of all its gateways
   */
  constructor(config: RateLimitConfig, buckets: TokenBuckets, purpose: string, fleet: FleetBuckets | null = null) {
    const { requests, windowMs, burst, key, keyHeader, ipv6Prefix } = config;
    const full = JSON.stringify([purpose, requests, windowMs, burst, key, keyHeader, ipv6Prefix]);
    this.buckets = buckets;
    this.rate = new BucketRate(requests, windowMs, burst);
    this.fleet = fleet === null ? null : fleetPart(config, fleet, buckets, full);
    this.status = config.status;
    this.fields = config.headers ? new QuotaFields(config) : null;
    this.key = limitKey(config, buckets, full);
    if (this.key instanceof HeaderLimitKey || this.key instanceof FingerprintLimitKey) {
      const rate = new BucketRate(requests * CLIENT_SHARE, windowMs, burst * CLIENT_SHARE);
      this.ceiling = { rate, key: this.key.all };
    }
  }

  /** Whether it is one limit for a whole fleet. */
  get isShared(): boolean {
    return this.fleet !== null;
  }

  /**
   * `take` for a limit of the fleet.
   * @param later called once where this gives null, never before it returns; it is given what gives the seconds
   * @returns the seconds, as `take`; null if the store must be asked first
   */
  takeShared(ex: Exchange, clock: NowMs, later: (seconds: () => number) => void): number | null {
    const { buckets, rate, key } = this.fleet!;
    if (!buckets.isUp) return this.takeAlone(ex, clock);
    const own = key.of(ex) as FleetKey;
    const waitMs = buckets.take(own, rate, performance.now());
    if (waitMs !== ASK) return this.settle(ex, clock, waitMs);
    const isWaiting = buckets.wait(own, (afterMs) =>
      later(() => (afterMs === ASK ? this.takeUnanswered(ex, clock) : this.settle(ex, clock, afterMs))),
    );
    return isWaiting ? null : this.takeUnanswered(ex, clock);
  }

  /** The store is there, and has not answered in time: it is told later. */
  private takeUnanswered(ex: Exchange, clock: NowMs): number {
    const { buckets, key } = this.fleet!;
    const seconds = this.takeAlone(ex, clock);
    if (seconds === 0) buckets.letIn(key.of(ex) as FleetKey);
    return seconds;
  }

  /** While the store is away, each gateway has its part of the limit. */
  private takeAlone(ex: Exchange, clock: NowMs): number {
    const { buckets, partOf } = this.fleet!;
    buckets.countAlone();
    const part = partOf(buckets.nodes);
    return this.settle(ex, clock, this.buckets.take(part.key.of(ex), part.rate, clock.nowMs));
  }

  /** What a bucket has said, and the client's own ceiling, which is this gateway's. @returns seconds */
  private settle(ex: Exchange, clock: NowMs, waitMs: number): number {
    const { ceiling, fields } = this;
    const isOver = waitMs > 0 || ceiling === null;
    const foundMs = isOver ? waitMs : this.buckets.take(ceiling.key.of(ex), ceiling.rate, clock.nowMs);
    const seconds = Math.ceil(foundMs / 1000);
    if (fields === null) return seconds;
    const { buckets, key, rate } = this.fleet!;
    const left = seconds > 0 ? 0 : buckets.leftOf(key.of(ex) as FleetKey, performance.now());
    this.quota = { left, fields: fields.at(left, seconds > 0 ? seconds : Math.ceil(rate.unitUs / 1e6)) };
    return seconds;
  }

  /**
   * Takes a token for the request, and one of its client's own where a header tells buckets apart: otherwise a new value each
   * time would have a full bucket each time. What the first refuses does not cost the second.
   * @param nowMs see `TokenBuckets.take`
   * @returns 0, or the whole seconds after which it may come again
   */
  take(ex: Exchange, nowMs: number): number {
    if (this.fields !== null) return this.takeAndSee(ex, nowMs, this.fields);
    const waitMs = this.buckets.take(this.key.of(ex), this.rate, nowMs);
    if (waitMs > 0 || this.ceiling === null) return Math.ceil(waitMs / 1000);
    return Math.ceil(this.buckets.take(this.ceiling.key.of(ex), this.ceiling.rate, nowMs) / 1000);
  }

  /** Gives back what `take` has taken for the request: another limit refuses it. */
  giveBack(ex: Exchange, nowMs: number): void {
    const { buckets, ceiling } = this;
    buckets.giveBack(this.key.of(ex), this.rate, nowMs);
    if (ceiling !== null) buckets.giveBack(ceiling.key.of(ex), ceiling.rate, nowMs);
  }

  /** The same as `take`, and `quota` says how much there still is: in the emptier bucket, if there are two. */
  private takeAndSee(ex: Exchange, nowMs: number, fields: QuotaFields): number {
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
    if (seconds > 0) this.quota = { left: 0, fields: fields.at(0, seconds) };
    else this.quota = { left, fields: fields.at(left, Math.ceil(nextMs / 1000)) };
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

/** What tells the buckets of a limit apart. */
function limitKey({ key, keyHeader, ipv6Prefix }: RateLimitConfig, source: KeySource, purpose: string): LimitKey {
  if (key === "route") return new OneKey(source, purpose);
  if (key === "header") return new HeaderLimitKey(source, purpose, keyHeader, ipv6Prefix);
  if (key === "agent.name") return new AgentLimitKey(source, purpose, ipv6Prefix);
  if (key === "user") return new UserLimitKey(source, purpose, ipv6Prefix);
  if (key !== "client_ip") return new FingerprintLimitKey(source, purpose, key, ipv6Prefix);
  return new ClientLimitKey(source, purpose, ipv6Prefix);
}

/** A limit of a whole fleet. */
interface FleetPart {
  readonly buckets: FleetBuckets;
  readonly key: LimitKey;
  readonly rate: FleetRate;
  /** What one of so many gateways has of it. */
  readonly partOf: (nodes: number) => { readonly rate: BucketRate; readonly key: LimitKey };
}

/** @param own the buckets of this gateway, for while the store is away */
function fleetPart(config: RateLimitConfig, buckets: FleetBuckets, own: TokenBuckets, purpose: string): FleetPart {
  const { requests, windowMs, burst } = config;
  const parts = new Map<number, { readonly rate: BucketRate; readonly key: LimitKey }>();
  const partOf = (nodes: number) => {
    const found = parts.get(nodes);
    if (found !== undefined) return found;
    const rate = new BucketRate(requests / nodes, windowMs, Math.max(1, Math.floor(burst / nodes)));
    const part = { rate, key: limitKey(config, own, `${purpose} of ${nodes}`) };
    if (parts.size >= KEPT_PARTS) parts.clear();
    parts.set(nodes, part);
    return part;
  };
  const key = limitKey(config, buckets, purpose);
  return { buckets, key, rate: new FleetRate(requests, windowMs, burst), partOf };
}

const KEPT_PARTS = 64;
/** How many buckets of a header one client may empty: many users may share an address. */
const CLIENT_SHARE = 10;
/** Refusals come in floods: one must not cost more than the request it prevents. */
const KEPT_REFUSALS = 64;
