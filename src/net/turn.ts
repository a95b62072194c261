/** One turn of a worker's event loop: its time is read once, at the start. */
export class Turn {
  /** Milliseconds of `performance.now()` at the start of the turn. */
  nowMs: number = performance.now();

  /** Begins a turn. */
  begin(): void {
    this.nowMs = performance.now();
  }
}
