import type { CacheMemory } from "./cache-memory.ts";

/**
 * What one thread is sending: how often it has pinned each entry it counts by itself, and whether at all is one bit in the
 * shared memory, so that the control thread can take all of a dead worker's pins back.
 */
export class CachePins {
  private readonly memory: CacheMemory;
  private readonly word: number;
  private readonly bit: number;
  private readonly counts: Uint32Array;

  /** @param id of this thread, 1 and up */
  constructor(memory: CacheMemory, id: number) {
    this.memory = memory;
    this.word = id >>> 5;
    this.bit = 1 << (id & 31);
    this.counts = new Uint32Array(memory.slots);
  }

  add(slot: number): void {
    const { words, pinsAt, pinWords } = this.memory;
    if (this.counts[slot]!++ === 0) Atomics.or(words, pinsAt + slot * pinWords + this.word, this.bit);
  }

  /** @returns whether this was the thread's last pin of the entry */
  drop(slot: number): boolean {
    const { words, pinsAt, pinWords } = this.memory;
    if (--this.counts[slot]! > 0) return false;
    Atomics.and(words, pinsAt + slot * pinWords + this.word, ~this.bit);
    return true;
  }
}
