import type { BodyHold } from "./body-hold.ts";

/** Request bodies in spool files together if no setting says otherwise; less where the disk has less than twice that free. */
export const DEFAULT_SPOOLED_BYTES = 16 * 1024 * 1024 * 1024;

/** Where a pool's counts are: one a worker from `from` on, and the wishes for room after both pools. */
interface PoolPlace {
  readonly from: number;
  readonly workers: number;
  readonly worker: number;
}

/**
 * One budget of all workers, in KiB. Each worker writes what it has taken into a cell of its own and then adds all cells up:
 * two that take the last room at once may both be refused, and never both get it.
 */
export class BodyPool {
  /** The setting that limits it. */
  readonly key: string;
  limitKib = 0;
  /** The bodies of this worker that are still coming and hold some of it, those first that have been stalled longest. */
  readonly holds: Set<BodyHold> = new Set();
  private readonly cells: Int32Array;
  private readonly place: PoolPlace;
  private readonly wishes: number;
  private bytes = 0;
  private kib = 0;
  private granted: number;

  constructor(key: string, cells: Int32Array, place: PoolPlace) {
    this.key = key;
    this.cells = cells;
    this.place = place;
    this.wishes = 2 * place.workers + (place.from === 0 ? 0 : 1);
    this.granted = Atomics.load(cells, this.wishes);
  }

  /** Bytes that this worker has taken. */
  get ownBytes(): number {
    return this.bytes;
  }

  /** This worker takes more, or less. */
  change(bytes: number): void {
    this.bytes += bytes;
    const kib = Math.ceil(this.bytes / 1024);
    if (kib === this.kib) return;
    this.kib = kib;
    Atomics.store(this.cells, this.place.from + this.place.worker, kib);
  }

  /** Whether all workers together have taken more than there is. */
  isFull(): boolean {
    return this.totalKib > this.limitKib;
  }

  /** KiB that all workers together have taken. */
  get totalKib(): number {
    const { from, workers } = this.place;
    let sum = 0;
    for (let i = from; i < from + workers; i++) sum += Atomics.load(this.cells, i);
    return sum;
  }

  /** No body of this worker can make room: the other workers are asked to. */
  askForRoom(): void {
    this.granted = Atomics.add(this.cells, this.wishes, 1) + 1;
  }

  /** Whether another worker has asked for room since the last call. */
  isAskedForRoom(): boolean {
    const wishes = Atomics.load(this.cells, this.wishes);
    const isNew = wishes !== this.granted;
    this.granted = wishes;
    return isNew;
  }
}
