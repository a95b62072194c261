import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
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
  private readonly limits: readonly (RateLimit | null)[];
  private readonly clock: NowMs;
  private readonly listener: RateLimitListener;

  /**
   * @param name of the phase
   * @param limits one entry a route, by its index
   * @param clock the same for all workers
   */
  constructor(
    name: RateLimitPhase["name"],
    limits: readonly (RateLimit | null)[],
    clock: NowMs,
    listener: RateLimitListener,
  ) {
    this.name = name;
    this.limits = limits;
    this.clock = clock;
    this.listener = listener;
  }

  run(ex: Exchange): Verdict {
    const limit = this.limits[ex.route!.index]!;
    if (limit === null) return Verdict.Next;
    const seconds = limit.take(ex, this.clock.nowMs);
    if (seconds === 0) return Verdict.Next;
    const refusal = limit.refusal(seconds);
    this.listener.onLimited(ex, refusal.status, seconds);
    ex.sink.fixed(ex, refusal);
    return Verdict.Done;
  }
}
