/**
 * Counters that are made while the gateway runs, one for each key that comes up, in memory that threads share. One
 * thread writes a table and any thread reads it:
 *
 *     used (Int32) | unused (Int32) | counts (Float64 × capacity) | keys (Int32 × capacity)
 *
 * Slot 0 takes everything that found no free slot, so that no peer can make the table grow.
 */

/** Key of slot 0. */
export const OVERFLOW_KEY = -1;

/**
 * Makes an empty table.
 * @param capacity slots, the one for the overflow included
 */
export function createSeriesTable(capacity: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(HEADER_BYTES + capacity * BYTES_PER_SLOT);
  keysOf(buffer)[0] = OVERFLOW_KEY;
  usedOf(buffer)[0] = 1;
  return buffer;
}

/** The one thread's hand on its table. A successor of a thread that died goes on where that one stopped. */
export class SeriesWriter {
  private readonly counts: Float64Array;
  private readonly keys: Int32Array;
  private readonly used: Int32Array;
  private readonly slots: Map<number, number> = new Map();

  constructor(buffer: SharedArrayBuffer) {
    this.counts = countsOf(buffer);
    this.keys = keysOf(buffer);
    this.used = usedOf(buffer);
    for (let slot = 1; slot < this.used[0]!; slot++) this.slots.set(this.keys[slot]!, slot);
  }

  /**
   * The slot of a key, taken now when the key is new. Callers keep it: it holds for the life of the table.
   * @param key a number from 0 to 2^31-1
   * @returns 0, the overflow, when the table is full
   */
  slotOf(key: number): number {
    const known = this.slots.get(key);
    if (known !== undefined) return known;
    const slot = this.used[0]!;
    if (slot === this.keys.length) return 0;
    this.keys[slot] = key;
    this.slots.set(key, slot);
    // Readers look at `used` first, so a slot that they see has its key.
    Atomics.store(this.used, 0, slot + 1);
    return slot;
  }

  /** Counts one. A reader may see it a moment later; nothing on this path is atomic, since nobody else writes here. */
  increment(slot: number): void {
    this.counts[slot]!++;
  }
}

/** Adds the counts of a table to the sums by key in `into`, the overflow under OVERFLOW_KEY when it counted anything. */
export function addSeries(buffer: SharedArrayBuffer, into: Map<number, number>): void {
  const counts = countsOf(buffer);
  const keys = keysOf(buffer);
  const used = Atomics.load(usedOf(buffer), 0);
  for (let slot = 0; slot < used; slot++) {
    const count = counts[slot]!;
    if (count === 0) continue;
    const key = keys[slot]!;
    into.set(key, (into.get(key) ?? 0) + count);
  }
}

function capacityOf(buffer: SharedArrayBuffer): number {
  return (buffer.byteLength - HEADER_BYTES) / BYTES_PER_SLOT;
}

function usedOf(buffer: SharedArrayBuffer): Int32Array {
  return new Int32Array(buffer, 0, 1);
}

function countsOf(buffer: SharedArrayBuffer): Float64Array {
  return new Float64Array(buffer, HEADER_BYTES, capacityOf(buffer));
}

function keysOf(buffer: SharedArrayBuffer): Int32Array {
  const capacity = capacityOf(buffer);
  return new Int32Array(buffer, HEADER_BYTES + capacity * 8, capacity);
}

const HEADER_BYTES = 8;
const BYTES_PER_SLOT = 12;
