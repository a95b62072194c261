import { Allowance } from "../proto/h2/allowance.ts";

/**
 * Streams that we reset on one connection to an origin, at once and a second, fewer where it takes fewer streams: well below
 * what origins take for an attack (Netty: 200 in 30 s; Undertow: 200 in 10 s; Envoy: 500; nghttp2: 1000, then 33 a second;
 * Go: four times its limit of streams whose handlers still run). What is given up beyond runs out by itself.
 */
const H2_ORIGIN_CANCEL_BURST = 50;
const H2_ORIGIN_CANCELS_PER_SECOND = 4;
/** Of the streams that we reset, those of which the origin has said nothing, and which may lie unread there. h2 (Rust): 20 that wait. */
export const H2_ORIGIN_EARLY_CANCEL_BURST = 16;
const H2_ORIGIN_EARLY_CANCELS_PER_SECOND = 1;

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
