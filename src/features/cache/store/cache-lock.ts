import { MemoryHead } from "./cache-memory.ts";

/** Tenths of a millisecond that a thread waits for the lock of the cache before it does without. */
const CACHE_LOCK_WAITS = 20;

/**
 * The one lock of a cache. It is held for well under a microsecond, but for repairs; the word says by whom, so that the
 * control thread can take it from a worker that has died. No thread that serves waits for it longer than a few milliseconds: one that
 * does not get it does without the cache.
 */
export class CacheLock {
  private readonly words: Int32Array;
  private readonly id: number;
  private readonly waits: number;

  /**
   * @param id of this thread, 1 and up
   * @param waits tenths of a millisecond that it waits at most
   */
  constructor(words: Int32Array, id: number, waits: number = CACHE_LOCK_WAITS) {
    this.waits = waits;
    this.words = words;
    this.id = id;
  }

  /** Takes the lock. @returns false when it cannot be had within a few milliseconds */
  take(): boolean {
    const { words, id } = this;
    if (Atomics.compareExchange(words, MemoryHead.Lock, 0, id) === 0) return true;
    for (let spins = 0; spins < SPINS; spins++) {
      if (Atomics.load(words, MemoryHead.Lock) === 0 && Atomics.compareExchange(words, MemoryHead.Lock, 0, id) === 0)
        return true;
    }
    for (let waits = 0; waits < this.waits; waits++) {
      // The holder may be waiting for a processor: sleeping lets it have ours.
      const holder = Atomics.load(words, MemoryHead.Lock);
      if (holder !== 0) Atomics.wait(words, MemoryHead.Lock, holder, WAIT_MS);
      if (Atomics.compareExchange(words, MemoryHead.Lock, 0, id) === 0) return true;
    }
    return false;
  }

  give(): void {
    Atomics.store(this.words, MemoryHead.Lock, 0);
  }

  /** Takes the lock from a thread that has ended. @returns false when that thread does not hold it */
  takeFrom(dead: number): boolean {
    return Atomics.compareExchange(this.words, MemoryHead.Lock, dead, this.id) === dead;
  }
}

const SPINS = 1000;
const WAIT_MS = 0.1;
