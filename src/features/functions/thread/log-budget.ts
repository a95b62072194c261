/** Lines, and characters of them, that a module may log between two beats of its thread. */
const MAX_LINES = 500;
const MAX_CHARS = 1 << 20;

/** Bounds what a module logs: a line has to be formatted, sent to another thread and written, and costs others than the module. */
export class LogBudget {
  private lines = 0;
  private chars = 0;
  private dropped = 0;

  /** Whether one more line may be logged. What is refused is counted. */
  take(): boolean {
    if (this.lines < MAX_LINES && this.chars < MAX_CHARS) {
      this.lines++;
      return true;
    }
    this.dropped++;
    return false;
  }

  /** So long was a line. */
  spend(chars: number): void {
    this.chars += chars;
  }

  /** Begins anew. @returns how many lines were refused */
  refill(): number {
    const { dropped } = this;
    this.lines = 0;
    this.chars = 0;
    this.dropped = 0;
    return dropped;
  }
}
