import { shorterInTests } from "../../../../core/shorter-in-tests.ts";
import { spreadWait } from "../../../../core/spread-wait.ts";

/** Pauses between attempts, ever longer and each by chance, so that gateways which lost a store together do not come back together. */
export class BackOff {
  private failures = 0;
  private readonly signal: AbortSignal;

  /** @param signal ends a pause */
  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  /** Things are well: the next pause is short again. */
  reset(): void {
    this.failures = 0;
  }

  /** Waits before the next attempt. */
  wait(): Promise<void> {
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.failures++, 20));
    return pause(spreadWait(longest, SPREAD), this.signal);
  }
}

/** Waits so many milliseconds, or until the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    }
    signal.addEventListener("abort", end);
  });
}

const SPREAD = 0.3;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS: number = shorterInTests("STORE_PAUSE_MS", 15_000);
