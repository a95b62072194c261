/**
 * How often something may happen that costs a peer little and us more: so many times at once, so many a second, and more
 * where our own work earns it. A token bucket.
 */
export class Allowance {
  private burst: number;
  private perSecond: number;
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
    // What has come back counts before the last one is gone: else a burst of nearly twice the size would be let through.
    if (this.left < this.burst) this.refill(nowMs);
    else this.sinceMs = nowMs;
    if (this.left < 1) return false;
    this.left--;
    return true;
  }

  /** Changes how often it may happen; what has been spent stays spent. */
  resize(burst: number, perSecond: number): void {
    this.left = Math.max(0, this.left + burst - this.burst);
    this.burst = burst;
    this.perSecond = perSecond;
  }

  /** Gives some. */
  earn(count: number): void {
    this.left = Math.min(this.burst, this.left + count);
  }

  private refill(nowMs: number): void {
    if (nowMs === this.sinceMs) return;
    this.left = Math.min(this.burst, this.left + ((nowMs - this.sinceMs) * this.perSecond) / 1000);
    this.sinceMs = nowMs;
  }
}
