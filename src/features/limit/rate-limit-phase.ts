import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { PhaseWait } from "../../message/phase-wait.ts";
import type { NowMs } from "../../message/ports.ts";
import { type Quota, tellQuota } from "./quota-fields.ts";
import type { RateLimit } from "./rate-limit.ts";

/** Who wants to know of refusals: the counters and the log. */
export interface RateLimitListener {
  /** @param status of the refusal @param retryAfterSeconds after which the client may come again */
  onLimited(ex: Exchange, status: number, retryAfterSeconds: number): void;
}

/**
 * `rate_limit`: refuses requests that come too often for the limit of their route. Limits of users are a phase of their own, when it
 * is known who they are. docs/guards.md#rate-limits
 */
export class RateLimitPhase implements Phase {
  readonly name: "rateLimit" | "userRateLimit";
  private readonly limits: readonly (readonly RateLimit[] | null)[];
  private readonly clock: NowMs;
  private readonly listener: RateLimitListener;

  /**
   * @param name of the phase
   * @param limits one entry a route, by its index: those of a fleet last
   * @param clock the same for all workers
   */
  constructor(
    name: RateLimitPhase["name"],
    limits: readonly (readonly RateLimit[] | null)[],
    clock: NowMs,
    listener: RateLimitListener,
  ) {
    this.name = name;
    this.limits = limits;
    this.clock = clock;
    this.listener = listener;
  }

  run(ex: Exchange): Verdict {
    const limits = this.limits[ex.route!.index]!;
    if (limits === null) return Verdict.Next;
    return this.ask(ex, limits, 0, null);
  }

  /** Asks the limits from an index on: all must allow the request, and the response tells the tightest. Limits of a fleet come last. */
  private ask(ex: Exchange, limits: readonly RateLimit[], from: number, quota: Quota | null): Verdict {
    let tightest = quota;
    for (let i = from; i < limits.length; i++) {
      const limit = limits[i]!;
      if (limit.isShared) return this.askShared(ex, limits, i, tightest);
      const seconds = limit.take(ex, this.clock.nowMs);
      if (seconds > 0) return this.refuse(ex, limits, i, seconds);
      tightest = tighter(tightest, limit.quota);
    }
    if (tightest !== null) tellQuota(ex, tightest);
    return Verdict.Next;
  }

  private askShared(ex: Exchange, limits: readonly RateLimit[], at: number, quota: Quota | null): Verdict {
    const limit = limits[at]!;
    const settle = (seconds: number): Verdict =>
      seconds > 0 ? this.refuse(ex, limits, at, seconds) : this.ask(ex, limits, at + 1, tighter(quota, limit.quota));
    let wait: PhaseWait | null = null;
    // What the store says comes as a turn of its own.
    const seconds = limit.takeShared(ex, this.clock, (found) => {
      if (wait === null || wait.isOver) return;
      wait.end();
      if (settle(found()) === Verdict.Next) wait.goOn();
    });
    if (seconds !== null) return settle(seconds);
    wait = new PhaseWait(ex);
    return Verdict.Wait;
  }

  /** What one limit refuses costs none of this gateway's others. */
  private refuse(ex: Exchange, limits: readonly RateLimit[], at: number, seconds: number): Verdict {
    for (let i = 0; i < at; i++) if (!limits[i]!.isShared) limits[i]!.giveBack(ex, this.clock.nowMs);
    const limit = limits[at]!;
    if (limit.quota !== null) tellQuota(ex, limit.quota);
    const refusal = limit.refusal(seconds);
    this.listener.onLimited(ex, refusal.status, seconds);
    ex.sink.fixed(ex, refusal);
    return Verdict.Done;
  }
}

function tighter(one: Quota | null, other: Quota | null): Quota | null {
  if (one === null || other === null) return one ?? other;
  return other.left < one.left ? other : one;
}
