/**
 * Points in time of a Poisson process whose number is known: the whole time holds as many as the rate gives, and their intervals are
 * exponentially distributed at every rate, with no regard to seconds. So are points that fall anywhere in the time alike, of which
 * the earliest is drawn, then the earliest of all that are left in the rest. The rate is thus kept by the clock, however late the
 * caller is.
 */
export class ArrivalSchedule {
  /** When the next one is due, in milliseconds on the caller's clock; Infinity when there is none left. */
  nextMs = Number.POSITIVE_INFINITY;
  private readonly endMs: number;
  private readonly random: () => number;
  /** Points after the last one that was drawn, and where that was. */
  private left: number;
  private lastMs: number;

  /**
   * @param perSecond mean rate, 0 and up
   * @param startMs on the caller's clock
   * @param durationMs how long there are any
   * @param random gives numbers from 0 up to, not including, 1
   */
  constructor(perSecond: number, startMs: number, durationMs: number, random: () => number) {
    this.left = Math.round((perSecond * durationMs) / 1000);
    this.lastMs = startMs;
    this.endMs = startMs + durationMs;
    this.random = random;
    this.advance();
  }

  /** Goes on to the next point in time. */
  advance(): void {
    if (this.left === 0) {
      this.nextMs = Number.POSITIVE_INFINITY;
      return;
    }
    // All that are left are later than a part x of the rest with the probability (1 - x) ** left.
    const part = -Math.expm1(Math.log(1 - this.random()) / this.left--);
    this.lastMs += part * (this.endMs - this.lastMs);
    this.nextMs = this.lastMs;
  }
}
