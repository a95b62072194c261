import {
  H2_ORIGIN_CANCEL_BURST,
  H2_ORIGIN_CANCELS_PER_SECOND,
  H2_ORIGIN_EARLY_CANCEL_BURST,
  H2_ORIGIN_EARLY_CANCELS_PER_SECOND,
} from "../core/limits.ts";
import { Allowance } from "../proto/h2/allowance.ts";

/**
 * How many streams may be reset on one connection to an origin before the origin takes it for an attack and ends the
 * connection with all that is on it. Origins count resets, or requests that they still work on beyond their limit of streams:
 * there are never more at once than the limit. docs/security.md#connections-to-origins
 */
export class CancelRation {
  /** Whether the last reset was not allowed because there have been many of all kinds. */
  isSpent = false;
  // Until the origin has said what it takes, it is one stream.
  private readonly all = new Allowance(1, 0);
  private readonly early = new Allowance(1, 0);
  private streams = 1;

  /** The origin takes so many streams at a time. */
  limit(streams: number): void {
    if (streams === this.streams) return;
    this.streams = streams;
    fit(this.all, streams, H2_ORIGIN_CANCEL_BURST, H2_ORIGIN_CANCELS_PER_SECOND);
    fit(this.early, streams, H2_ORIGIN_EARLY_CANCEL_BURST, H2_ORIGIN_EARLY_CANCELS_PER_SECOND);
  }

  /**
   * Takes one.
   * @param isEarly whether the origin has said nothing of the stream
   * @returns whether there was one: the stream may be reset
   */
  spend(nowMs: number, isEarly: boolean): boolean {
    if (isEarly && !this.early.spend(nowMs)) return false;
    this.isSpent = !this.all.spend(nowMs);
    return !this.isSpent;
  }
}

function fit(allowance: Allowance, streams: number, burst: number, perSecond: number): void {
  const fitting = Math.min(streams, burst);
  allowance.resize(fitting, (perSecond * fitting) / burst);
}
