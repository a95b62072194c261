import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { PhaseWait } from "../../message/phase-wait.ts";
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
    if (!limit.isShared) return this.settle(ex, limit, limit.take(ex, this.clock.nowMs));
    let wait: PhaseWait | null = null;
    // What the store says comes as a turn of its own.
    const seconds = limit.takeShared(ex, this.clock, (found) => {
      if (wait === null || wait.isOver) return;
      wait.end();
      if (this.settle(ex, limit, found()) === Verdict.Next) wait.goOn();
    });
    if (seconds !== null) return this.settle(ex, limit, seconds);
    wait = new PhaseWait(ex);
    return Verdict.Wait;
  }

  private settle(ex: Exchange, limit: RateLimit, seconds: number): Verdict {
    if (seconds === 0) return Verdict.Next;
    const refusal = limit.refusal(seconds);
    this.listener.onLimited(ex, refusal.status, seconds);
    ex.sink.fixed(ex, refusal);
    return Verdict.Done;
  }
}
