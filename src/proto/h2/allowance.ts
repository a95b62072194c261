/**
 * How often something may happen that costs a peer little and us more: so many times at once, so many a second, and more
 * where our own work earns it. A token bucket.
 */
export class Allowance {
  private readonly burst: number;
  private readonly perSecond: number;
  private left: number;
  private sinceMs = 0;

  /** @param perSecond 0: nothing comes back but what `earn` gives */
  constructor(burst: number, perSecond: number) {
    this.burst = burst;
    this.perSecond = perSecond;
    this.left = burst;
  }

  /** Takes one. @returns whether there was one */
  spend(nowMs: number): boolean {
    if (this.left < 1 && this.perSecond > 0) this.refill(nowMs);
    if (this.left < 1) return false;
    if (this.left === this.burst) this.sinceMs = nowMs;
    this.left--;
    return true;
  }

  /** Gives some. */
  earn(count: number): void {
    this.left = Math.min(this.burst, this.left + count);
  }

  private refill(nowMs: number): void {
    this.left = Math.min(this.burst, this.left + ((nowMs - this.sinceMs) * this.perSecond) / 1000);
    this.sinceMs = nowMs;
  }
}
