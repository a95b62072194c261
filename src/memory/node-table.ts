/**
 * The states of a circuit breaker, one for all workers. docs/upstreams.md#circuit-breaker
 *
 *   Closed ──failures in a row reach the threshold──▶ Open ──a probe succeeds, or open_duration is over──▶ HalfOpen
 *      ▲                                               ▲                                                      │
 *      └────────────── the trial is answered ──────────│─── Trial ◀──── one request takes the trial ──────────┘
 *                                                      └──── │ the trial fails
 *
 * A trial that ends without a verdict (the client went away) goes back to HalfOpen. If all targets of a route are out,
 * requests go to open ones as well, and the first that is answered closes the breaker whatever its state.
 */
export const enum BreakerState {
  Closed = 0,
  Open,
  HalfOpen,
  Trial,
}

/**
 * Makes the table of a configuration's upstream nodes: all closed and healthy.
 *
 *     a node: breaker state | failures in a row | out (bit 0 unhealthy, bit 1 drained) | worker of the trial + 1 | share held back |
 *             requests counted | those of them that failed
 *
 * Each is an Int32; the share is in thousandths of the full one.
 */
export function createNodeTable(nodes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(Math.max(1, nodes) * CELLS * 4);
}

/**
 * One thread's hand on the table. Every step of a breaker is one compare-and-exchange, so that of many workers one makes
 * it. The failures in a row are those of all workers together: a success anywhere sets them to 0.
 */
export class NodeTable {
  private readonly cells: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.cells = new Int32Array(buffer);
  }

  /** Number of nodes there is room for. */
  get size(): number {
    return this.cells.length / CELLS;
  }

  state(slot: number): BreakerState {
    return Atomics.load(this.cells, slot * CELLS + STATE);
  }

  failures(slot: number): number {
    return Atomics.load(this.cells, slot * CELLS + FAILURES);
  }

  /** What the active health check says; true if there is none. */
  isHealthy(slot: number): boolean {
    return (Atomics.load(this.cells, slot * CELLS + OUT) & UNHEALTHY) === 0;
  }

  setHealthy(slot: number, healthy: boolean): void {
    this.mark(slot, UNHEALTHY, !healthy);
  }

  /** Whether an operator has taken the node out: no new request goes there, whatever else is out. A plain load. */
  isDrained(slot: number): boolean {
    return (this.cells[slot * CELLS + OUT]! & DRAINED) !== 0;
  }

  setDrained(slot: number, drained: boolean): void {
    this.mark(slot, DRAINED, drained);
  }

  /**
   * Whether a request may go there: healthy, not drained, and closed or waiting for its trial. Plain loads (3 ns instead of 13): what
   * is a moment old does no harm, since every step is a compare-and-exchange.
   */
  isUsable(slot: number): boolean {
    const at = slot * CELLS;
    const state = this.cells[at + STATE]!;
    if (state !== BreakerState.Closed && state !== BreakerState.HalfOpen) return false;
    return this.cells[at + OUT] === 0;
  }

  /** Whether the breaker is closed, as plainly. */
  isClosed(slot: number): boolean {
    return this.cells[slot * CELLS + STATE] === BreakerState.Closed;
  }

  /** Notes a response that was none of the failures; has no effect on a breaker that is not closed. */
  succeeded(slot: number): void {
    const at = slot * CELLS;
    // Almost always 0 already: a load leaves the cache line where it is, a store would not.
    if (this.cells[at + FAILURES] !== 0 && this.cells[at + STATE] === BreakerState.Closed) {
      Atomics.store(this.cells, at + FAILURES, 0);
    }
  }

  /**
   * Notes a failure.
   * @param threshold failures in a row that open the breaker
   * @returns whether this very failure opened it
   */
  failed(slot: number, threshold: number): boolean {
    const at = slot * CELLS;
    if (Atomics.load(this.cells, at + STATE) !== BreakerState.Closed) return false;
    if (Atomics.add(this.cells, at + FAILURES, 1) + 1 < threshold) return false;
    return this.step(at, BreakerState.Closed, BreakerState.Open);
  }

  /**
   * Counts a request of a node whose breaker is closed, in blocks of `requests`.
   * @returns whether more of this block have failed than may
   */
  counted(slot: number, hasFailed: boolean, requests: number, mayFail: number): boolean {
    const at = slot * CELLS;
    if (Atomics.load(this.cells, at + STATE) !== BreakerState.Closed) return false;
    const seen = Atomics.add(this.cells, at + SEEN, 1) + 1;
    const missed = hasFailed ? Atomics.add(this.cells, at + MISSED, 1) + 1 : 0;
    if (missed > mayFail) return true;
    // Workers that count at this moment may lose a count.
    if (seen >= requests) this.countAnew(at);
    return false;
  }

  /** Of how many requests how many have failed, as `counted` has it. */
  recent(slot: number): { readonly requests: number; readonly failures: number } {
    const at = slot * CELLS;
    return { requests: Atomics.load(this.cells, at + SEEN), failures: Atomics.load(this.cells, at + MISSED) };
  }

  /** Takes the one trial of a half-open breaker for a worker. @returns false when another worker has it */
  takeTrial(slot: number, worker: number): boolean {
    const at = slot * CELLS;
    if (!this.step(at, BreakerState.HalfOpen, BreakerState.Trial)) return false;
    Atomics.store(this.cells, at + HOLDER, worker + 1);
    return true;
  }

  /** Ends a trial with its verdict. @returns false when the trial had been removed meanwhile */
  endTrial(slot: number, succeeded: boolean): boolean {
    const at = slot * CELLS;
    if (!succeeded) {
      Atomics.add(this.cells, at + FAILURES, 1);
      return this.step(at, BreakerState.Trial, BreakerState.Open);
    }
    if (!this.step(at, BreakerState.Trial, BreakerState.Closed)) return false;
    Atomics.store(this.cells, at + FAILURES, 0);
    this.countAnew(at);
    return true;
  }

  /** Closes a breaker that is not, since a request was answered all the same. @returns whether this was it */
  close(slot: number): boolean {
    const at = slot * CELLS;
    const state = Atomics.load(this.cells, at + STATE);
    if (state === BreakerState.Closed || !this.step(at, state, BreakerState.Closed)) return false;
    Atomics.store(this.cells, at + FAILURES, 0);
    this.countAnew(at);
    return true;
  }

  /** Thousandths of a node's share that are held back, since it has just recovered; 0 as a rule. A plain load. */
  heldBack(slot: number): number {
    return this.cells[slot * CELLS + HELD_BACK]!;
  }

  holdBack(slot: number, thousandths: number): void {
    Atomics.store(this.cells, slot * CELLS + HELD_BACK, thousandths);
  }

  /** Gives a trial back without a verdict: another request may take it. */
  returnTrial(slot: number): void {
    this.step(slot * CELLS, BreakerState.Trial, BreakerState.HalfOpen);
  }

  /** Returns the trials of a worker that has died. */
  returnTrialsOf(worker: number): void {
    for (let slot = 0; slot < this.size; slot++) {
      if (Atomics.load(this.cells, slot * CELLS + HOLDER) === worker + 1) this.returnTrial(slot);
    }
  }

  /** Ends the time that a breaker is open. @returns false when it is not open any more */
  halfOpen(slot: number): boolean {
    return this.step(slot * CELLS, BreakerState.Open, BreakerState.HalfOpen);
  }

  /** Makes sure that a breaker which a worker saw open is open here too, whatever table that worker looked at. */
  confirmOpen(slot: number): void {
    const at = slot * CELLS;
    if (this.step(at, BreakerState.Closed, BreakerState.Open)) return;
    this.step(at, BreakerState.Trial, BreakerState.Open);
  }

  /** The same for one that a worker saw closed by its trial. */
  confirmClosed(slot: number): void {
    const at = slot * CELLS;
    if (this.step(at, BreakerState.Trial, BreakerState.Closed)) Atomics.store(this.cells, at + FAILURES, 0);
  }

  /** Takes over what another table says of a node; for a new configuration, before any worker has it. */
  copyFrom(other: NodeTable, otherSlot: number, slot: number): void {
    for (let cell = 0; cell < CELLS; cell++) {
      this.cells[slot * CELLS + cell] = Atomics.load(other.cells, otherSlot * CELLS + cell);
    }
  }

  /** Forgets all of a node that nothing looks at any more. */
  clear(slot: number): void {
    for (let cell = 0; cell < CELLS; cell++) Atomics.store(this.cells, slot * CELLS + cell, 0);
  }

  private countAnew(at: number): void {
    Atomics.store(this.cells, at + SEEN, 0);
    Atomics.store(this.cells, at + MISSED, 0);
  }

  private mark(slot: number, bit: number, isSet: boolean): void {
    const at = slot * CELLS + OUT;
    if (isSet) Atomics.or(this.cells, at, bit);
    else Atomics.and(this.cells, at, ~bit);
  }

  private step(at: number, from: BreakerState, to: BreakerState): boolean {
    return Atomics.compareExchange(this.cells, at + STATE, from, to) === from;
  }
}

/** The most of a share that is held back, in thousandths: something always comes, so that a lone target is served. */
export const MAX_HELD_BACK = 990;

const CELLS = 7;
const STATE = 0;
const FAILURES = 1;
const OUT = 2;
const HOLDER = 3;
const HELD_BACK = 4;
const SEEN = 5;
const MISSED = 6;
const UNHEALTHY = 1;
const DRAINED = 2;
