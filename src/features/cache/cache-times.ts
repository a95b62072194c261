import type { Clock } from "../../core/clock.ts";
import type { NowMs } from "../../message/ports.ts";

/** The two clocks of the cache. docs/operations.md#clock */
export interface CacheTimes {
  /** The time of day, for the dates in heads. */
  readonly clock: Clock;
  /** What ages and ends are counted in: one clock for all workers, which goes on evenly when the time of day is set. */
  readonly ages: NowMs;
}
