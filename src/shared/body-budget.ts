/**
 * Room for buffered request bodies, in memory and in spool files, shared by all workers.
 *
 *     Int32: blocks in use by all | blocks in use by worker 0 | worker 1 …
 */
export const BUDGET_BLOCK_BYTES = 16384;

/** Makes the shared count, 0 everywhere. */
export function createBodyBudget(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * (1 + workers));
}

/** Gives back what a worker held when it ended. */
export function returnBudgetOf(buffer: SharedArrayBuffer, worker: number): void {
  const cells = new Int32Array(buffer);
  Atomics.sub(cells, 0, Atomics.exchange(cells, 1 + worker, 0));
}

/** One worker's access to the budget. */
export class BodyBudget {
  private readonly cells: Int32Array;
  private readonly own: number;
  private readonly limitBlocks: number;

  /** @param limitBytes all buffered bodies of all workers together; rounded down to whole blocks */
  constructor(buffer: SharedArrayBuffer, worker: number, limitBytes: number) {
    this.cells = new Int32Array(buffer);
    this.own = 1 + worker;
    this.limitBlocks = Math.floor(limitBytes / BUDGET_BLOCK_BYTES);
  }

  /** Takes one block. @returns false when there is none left */
  take(): boolean {
    if (Atomics.add(this.cells, 0, 1) >= this.limitBlocks) {
      Atomics.sub(this.cells, 0, 1);
      return false;
    }
    Atomics.add(this.cells, this.own, 1);
    return true;
  }

  /** Gives blocks back. */
  give(blocks: number): void {
    Atomics.sub(this.cells, 0, blocks);
    Atomics.sub(this.cells, this.own, blocks);
  }

  /** Blocks in use by all workers. */
  get usedBlocks(): number {
    return Atomics.load(this.cells, 0);
  }
}
