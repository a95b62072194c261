/** Tells when every worker has taken what was sent to it before: messages are taken in order, so one behind them is enough. */
export class WorkerFence {
  private readonly send: (id: number) => void;
  private readonly workers: () => Iterable<number>;
  private readonly waits: Map<number, Wait> = new Map();
  private lastId = 0;

  /**
   * @param send sends the fence to every worker
   * @param workers those that serve now
   */
  constructor(send: (id: number) => void, workers: () => Iterable<number>) {
    this.send = send;
    this.workers = workers;
  }

  /** Resolves when all workers have answered, or are gone, or take too long about it. */
  settled(): Promise<void> {
    const id = ++this.lastId;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.end(id), PATIENCE_MS);
      this.waits.set(id, { left: new Set(this.workers()), resolve, timer });
      this.send(id);
      this.check(id);
    });
  }

  /** A worker has answered. */
  onFenced(worker: number, id: number): void {
    this.waits.get(id)?.left.delete(worker);
    this.check(id);
  }

  /** A worker is gone; its successor begins with what is there. */
  onDeath(worker: number): void {
    for (const id of [...this.waits.keys()]) this.onFenced(worker, id);
  }

  private check(id: number): void {
    if (this.waits.get(id)?.left.size === 0) this.end(id);
  }

  private end(id: number): void {
    const wait = this.waits.get(id);
    if (wait === undefined) return;
    this.waits.delete(id);
    clearTimeout(wait.timer);
    wait.resolve();
  }
}

interface Wait {
  readonly left: Set<number>;
  readonly resolve: () => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

const PATIENCE_MS = 5000;
