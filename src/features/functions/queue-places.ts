/**
 * The places of a module's queue, which all data workers share: as many as `functions.queue` says, for all of them together. The first cell is
 * what they have taken, the others what each of them has.
 */
export class QueuePlaces {
  private readonly cells: Int32Array;
  private readonly own: number;

  constructor(buffer: SharedArrayBuffer, worker: number) {
    this.cells = new Int32Array(buffer);
    this.own = 1 + worker;
  }

  /** Takes a place. @returns false if there is none */
  take(limit: number): boolean {
    const { cells } = this;
    for (;;) {
      const taken = Atomics.load(cells, 0);
      if (taken >= limit) return false;
      if (Atomics.compareExchange(cells, 0, taken, taken + 1) === taken) break;
    }
    Atomics.add(cells, this.own, 1);
    return true;
  }

  /** Takes so many, whether there are as many or not: all that wait already. */
  move(count: number): void {
    Atomics.add(this.cells, 0, count);
    Atomics.add(this.cells, this.own, count);
  }

  /** Gives a place back. */
  give(): void {
    Atomics.sub(this.cells, this.own, 1);
    Atomics.sub(this.cells, 0, 1);
  }
}

/** @param workers how many data workers there are */
export function createQueueCells(workers: number): SharedArrayBuffer {
  return new SharedArrayBuffer((1 + workers) * Int32Array.BYTES_PER_ELEMENT);
}

/** A data worker has ended: what it has taken is free. */
export function freeQueueOf(buffer: SharedArrayBuffer, worker: number): void {
  const cells = new Int32Array(buffer);
  Atomics.sub(cells, 0, Atomics.exchange(cells, 1 + worker, 0));
}
