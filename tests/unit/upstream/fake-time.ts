/** Timers that fire when a test lets time pass. */
export class FakeTime {
  nowMs = 0;
  private timers: { readonly atMs: number; readonly act: () => void }[] = [];

  /** As `setTimeout`; what it gives back cancels. */
  readonly after = (ms: number, act: () => void): (() => void) => {
    const timer = { atMs: this.nowMs + ms, act };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((one) => one !== timer);
    };
  };

  /** Timers that have not fired. */
  get waiting(): number {
    return this.timers.length;
  }

  /** Lets time pass and fires what is due, in order. */
  pass(ms: number): void {
    const end = this.nowMs + ms;
    for (;;) {
      const due = this.timers.filter((one) => one.atMs <= end).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.timers = this.timers.filter((one) => one !== due);
      this.nowMs = due.atMs;
      due.act();
    }
    this.nowMs = end;
  }

  /** The same in steps, with a turn of the event loop after each, for what waits for promises. */
  async passSlowly(ms: number, stepMs: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.pass(Math.min(stepMs, ms - passed));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
