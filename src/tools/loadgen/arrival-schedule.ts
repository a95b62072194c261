/**
 * Points in time at Poisson-distributed intervals, of which each second holds exactly its share: the intervals within a
 * second are drawn from the exponential distribution and then stretched to fill it. (So are the arrivals of a Poisson
 * process whose number is known.) The rate is thus kept by the clock, however late the caller is.
 */
export class ArrivalSchedule {
  /** When the next one is due, in milliseconds on the caller's clock; Infinity when there is none left. */
  nextMs = Number.POSITIVE_INFINITY;
  private readonly gaps: number[] = [];
  private taken = 0;
  private second = 0;
  private stretch = 0;

  /**
   * @param perSecond mean rate, 0 and up; a fraction spreads over several seconds
   * @param startMs on the caller's clock
   * @param durationMs how long there are any
   * @param random gives numbers from 0 up to, not including, 1
   */
  constructor(
    private readonly perSecond: number,
    private readonly startMs: number,
    private readonly durationMs: number,
    private readonly random: () => number,
  ) {
    this.nextMs = startMs;
    this.advance();
  }

  /** Goes on to the next point in time. */
  advance(): void {
    while (this.taken === this.gaps.length) {
      if (this.second * 1000 >= this.durationMs) {
        this.nextMs = Number.POSITIVE_INFINITY;
        return;
      }
      this.drawSecond();
    }
    this.nextMs += this.gaps[this.taken++]! * this.stretch;
  }

  // The last second may be shorter than the others. One gap more than there are arrivals: that after the last one.
  private drawSecond(): void {
    const fromMs = this.second++ * 1000;
    const lengthMs = Math.min(1000, this.durationMs - fromMs);
    const count = this.countUntil(fromMs + lengthMs) - this.countUntil(fromMs);
    this.gaps.length = count;
    let sum = -Math.log(1 - this.random());
    for (let i = 0; i < count; i++) {
      this.gaps[i] = -Math.log(1 - this.random());
      sum += this.gaps[i]!;
    }
    this.taken = 0;
    this.stretch = lengthMs / sum;
    this.nextMs = this.startMs + fromMs;
  }

  // Half a unit ahead, so that a rate of 0.1 a second sends its first one within 5 s and not after 10.
  private countUntil(ms: number): number {
    return Math.floor((this.perSecond * ms) / 1000 + ROUND_UP);
  }
}

const ROUND_UP = 0.5;
