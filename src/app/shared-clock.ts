import type { NowMs } from "../message/ports.ts";
import type { Turn } from "../net/turn.ts";

/**
 * The control thread's monotonic clock, read in a worker: each thread's clock begins at 0 when it starts, so the control
 * thread sends the reading of its own along. A worker lags behind by what that message took, less than a millisecond as a
 * rule, and by the age of its turn; it is never ahead.
 */
export class SharedClock implements NowMs {
  private readonly turn: Turn;
  private readonly aheadMs: number;

  /** @param controlNowMs the control thread's clock when it sent its message, which has just been received */
  constructor(turn: Turn, controlNowMs: number) {
    this.turn = turn;
    this.aheadMs = controlNowMs - performance.now();
  }

  get nowMs(): number {
    return this.turn.nowMs + this.aheadMs;
  }
}
