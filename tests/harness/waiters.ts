/** Waits for the next event of something, for a bounded time. */
export class Waiters {
  private readonly waiting = new Set<() => void>();

  /** Settles with the next `wake`, and after so many milliseconds at the latest. */
  wait(patienceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, patienceMs);
      this.waiting.add(done);
    });
  }

  /** Lets all go on that wait. */
  wake(): void {
    for (const done of [...this.waiting]) done();
  }
}
