/** Due times that wait for their turn, oldest first. */
export class DueQueue {
  private readonly times: number[] = [];
  private head = 0;

  get length(): number {
    return this.times.length - this.head;
  }

  /** The oldest; Infinity when there is none. */
  get oldest(): number {
    return this.head < this.times.length ? this.times[this.head]! : Number.POSITIVE_INFINITY;
  }

  push(dueMs: number): void {
    this.times.push(dueMs);
  }

  /** Takes the oldest, of which there must be one. */
  shift(): number {
    const dueMs = this.times[this.head++]!;
    if (this.head >= COMPACT_AT && this.head * 2 > this.times.length) {
      this.times.splice(0, this.head);
      this.head = 0;
    }
    return dueMs;
  }
}

const COMPACT_AT = 1024;
