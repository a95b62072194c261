/** Windows of burn rates, in milliseconds, by their labels. */
export const BURN_WINDOWS = [
  ["5m", 300_000],
  ["1h", 3_600_000],
  ["6h", 21_600_000],
] as const;

/** Counts of a route until a moment. */
interface SloTotals {
  readonly all: number;
  /** Responses with 5xx, and cut ones. */
  readonly failed: number;
  /** Responses that took too long. */
  readonly slow: number;
}

const NOTHING: SloTotals = { all: 0, failed: 0, slow: 0 };
/** Totals that each window keeps of its past. */
const STEPS = 60;

/**
 * Counts of a route in the last minutes and hours: the totals at moments of the past, as many for a long window as for a short
 * one. docs/pressure.md#objectives
 */
export class BurnRings {
  /** One a window, the oldest first. */
  private readonly rings: readonly Past[] = BURN_WINDOWS.map(([, ms]) => ({ stepMs: ms / STEPS, past: [], nextMs: 0 }));

  /** Keeps the totals whenever a step of a window is over. @param nowMs of a clock that never goes back */
  note(totals: SloTotals, nowMs: number): void {
    for (const ring of this.rings) {
      if (nowMs < ring.nextMs) continue;
      // After a standstill no past is made up.
      ring.nextMs = nowMs + ring.stepMs;
      ring.past.push({ ...totals, atMs: nowMs });
      if (ring.past.length > STEPS + 1) ring.past.shift();
    }
  }

  /** Counts within a window, by its place in BURN_WINDOWS. */
  within(window: number, totals: SloTotals, nowMs: number): SloTotals {
    const { past } = this.rings[window]!;
    const fromMs = nowMs - BURN_WINDOWS[window]![1];
    // Before the first moment nothing was counted.
    const before = past.findLast(({ atMs }) => atMs <= fromMs) ?? NOTHING;
    return {
      all: totals.all - before.all,
      failed: totals.failed - before.failed,
      slow: totals.slow - before.slow,
    };
  }
}

interface Past {
  readonly stepMs: number;
  readonly past: (SloTotals & { readonly atMs: number })[];
  nextMs: number;
}

/**
 * How fast a budget of bad requests is used up: 1 uses it up at the end of the window of the objective, 0 is without traffic.
 * @param objective share of good requests, below 1
 */
export function burnRate(bad: number, all: number, objective: number): number {
  return all === 0 ? 0 : bad / all / (1 - objective);
}
