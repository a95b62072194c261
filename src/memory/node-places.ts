/**
 * The slots of the table of nodes that live changes of targets give and take back. They give a free slot away as late as possible: a worker
 * may still be ending a request to the node that had it.
 */
export class NodePlaces {
  private next: number;
  /** The first of them for the longest time. */
  private free: readonly number[];

  constructor(next: number, free: readonly number[] = []) {
    this.next = next;
    this.free = free;
  }

  /** Slots that a table needs. */
  get size(): number {
    return this.next;
  }

  /** A trial: nothing of it counts until its result takes the place of this. @param room slots of the table */
  taking(room: number): { take(): number; after(gone: readonly number[]): NodePlaces } {
    let { next } = this;
    let used = 0;
    const take = (): number => {
      if (next >= room && used < this.free.length) return this.free[used++]!;
      return next++;
    };
    return { take, after: (gone) => new NodePlaces(next, [...this.free.slice(used), ...gone]) };
  }
}

/** Slots of a table for so many nodes: room for others, so that a change of targets needs no other table as a rule. */
export function roomFor(nodes: number): number {
  return nodes + Math.ceil(nodes / 4) + SPARE;
}

const SPARE = 64;
