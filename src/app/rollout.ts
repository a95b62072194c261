/** What the workers have said to one question. */
interface Round {
  readonly id: number;
  readonly waitsFor: "prepared" | "applied";
  readonly left: Set<number>;
  readonly errors: string[];
  readonly timer: Timer;
  readonly resolve: (errors: readonly string[]) => void;
}

/**
 * Brings a configuration to all workers or to none: first every worker builds it, and only when all have is it taken up.
 * docs/operations.md#reload
 */
export class Rollout {
  private readonly workers: () => Iterable<number>;
  private readonly patienceMs: number;
  private round: Round | null = null;

  /**
   * @param workers those that serve now
   * @param patienceMs how long one of them may take to build a configuration, and to take it up
   */
  constructor(workers: () => Iterable<number>, patienceMs: number) {
    this.workers = workers;
    this.patienceMs = patienceMs;
  }

  /**
   * Waits until every worker has answered, or is gone: its successor begins with what is in use then.
   * @param ask asks them
   * @returns why it failed, nothing where all is well
   */
  all(waitsFor: Round["waitsFor"], id: number, ask: () => void): Promise<readonly string[]> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.giveUp(), this.patienceMs);
      this.round = { id, waitsFor, left: new Set(this.workers()), errors: [], timer, resolve };
      ask();
      this.check();
    });
  }

  /** A worker has answered. @param error "" where it could */
  onAnswer(worker: number, kind: Round["waitsFor"], id: number, error: string): void {
    const { round } = this;
    if (round === null || round.id !== id || round.waitsFor !== kind) return;
    if (!round.left.delete(worker)) return;
    if (error !== "" && !round.errors.includes(error)) round.errors.push(error);
    this.check();
  }

  /** A worker is gone. */
  onDeath(worker: number): void {
    this.round?.left.delete(worker);
    this.check();
  }

  private giveUp(): void {
    const { round } = this;
    if (round === null) return;
    const late = [...round.left].join(", ");
    round.errors.push(`worker ${late} has not ${round.waitsFor} it within ${this.patienceMs / 1000} s`);
    round.left.clear();
    this.check();
  }

  private check(): void {
    const { round } = this;
    if (round === null || round.left.size > 0) return;
    this.round = null;
    clearTimeout(round.timer);
    round.resolve(round.errors);
  }
}
