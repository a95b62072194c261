import type { Turn } from "./timer-wheel.ts";

/** The control thread's clock when it sent a message. */
export interface ClockReading {
  /** `performance.timeOrigin`: the time of day at which that clock began. */
  readonly originMs: number;
  /** `performance.now()`. */
  readonly nowMs: number;
}

/**
 * The control thread's monotonic clock, read in a worker, whose own began at another moment. The two origins tell how far
 * they are apart, to some microseconds, unless the time of day was set in between; then the message itself does, to the
 * milliseconds that it took.
 */
export class SharedClock {
  private readonly turn: Turn;
  private readonly aheadMs: number;

  /**
   * @param control a reading that has just been received
   * @param own this thread's
   */
  constructor(turn: Turn, control: ClockReading, own: ClockReading = readClock()) {
    this.turn = turn;
    const byOrigins = own.originMs - control.originMs;
    const byMessage = control.nowMs - own.nowMs;
    const tookMs = byOrigins - byMessage;
    this.aheadMs = tookMs >= 0 && tookMs < MAX_MESSAGE_MS ? byOrigins : byMessage;
  }

  get nowMs(): number {
    return this.turn.nowMs + this.aheadMs;
  }
}

/** This thread's clock now. */
export function readClock(): ClockReading {
  return { originMs: performance.timeOrigin, nowMs: performance.now() };
}

const MAX_MESSAGE_MS = 1000;
