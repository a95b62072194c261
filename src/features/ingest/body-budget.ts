/** Memory for buffered request bodies, shared by all exchanges of a worker. */
export class BodyBudget {
  private readonly limitBytes: number;
  private usedBytes = 0;

  /** @param limitBytes all buffered bodies together */
  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Takes memory. @returns false when there is not so much left */
  take(bytes: number): boolean {
    if (this.usedBytes + bytes > this.limitBytes) return false;
    this.usedBytes += bytes;
    return true;
  }

  /** Gives memory back. */
  give(bytes: number): void {
    this.usedBytes -= bytes;
  }
}
