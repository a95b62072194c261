import { OVERFLOW_ID } from "./label-registry.ts";

/*
 * Names that come up while the gateway runs, such as those of peers, numbered by the one thread that writes a table; any thread
 * reads it:
 *
 *     used (Int32) | ends (Int32 × NAMES) | bytes (latin1)
 *
 * The number OVERFLOW_ID stands for all names that found no room, so that no peer can make the table grow.
 */

/** Names in a table, the one for the overflow included. */
export const MAX_NAMES = 256;
/** Bytes of the longest name that gets a number of its own. */
export const MAX_LABEL_BYTES = 255;
const TEXT_AT = 4 + MAX_NAMES * 4;
const TEXT_BYTES = 32 * 1024;

/** Makes an empty table. */
export function createNameTable(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(TEXT_AT + TEXT_BYTES);
  new Int32Array(buffer, 0, 1)[0] = 1;
  return buffer;
}

/** The one thread's hand on its table. A successor of a dead thread goes on from its numbers. */
export class NameWriter {
  private readonly used: Int32Array;
  private readonly ends: Int32Array;
  private readonly text: Buffer;
  private readonly ids: Map<string, number>;

  constructor(buffer: SharedArrayBuffer) {
    this.used = new Int32Array(buffer, 0, 1);
    this.ends = new Int32Array(buffer, 4, MAX_NAMES);
    this.text = Buffer.from(buffer, TEXT_AT, TEXT_BYTES);
    this.ids = new Map(namesIn(buffer).map((name, id) => [name, id]));
  }

  /** The number of a name, given now when it is new. @returns OVERFLOW_ID if there is no room for it */
  idOf(name: string): number {
    const known = this.ids.get(name);
    if (known !== undefined) return known;
    const id = this.used[0]!;
    const from = this.ends[id - 1]!;
    if (id === MAX_NAMES || name.length > MAX_LABEL_BYTES || from + name.length > TEXT_BYTES) return OVERFLOW_ID;
    this.text.latin1Write(name, from);
    this.ends[id] = from + name.length;
    this.ids.set(name, id);
    // Readers look at `used` first, so a number that they see has its name.
    Atomics.store(this.used, 0, id + 1);
    return id;
  }
}

/** The names in a table by their numbers; the first is "", for the overflow. */
export function namesIn(buffer: SharedArrayBuffer): string[] {
  const used = Atomics.load(new Int32Array(buffer, 0, 1), 0);
  const ends = new Int32Array(buffer, 4, MAX_NAMES);
  const text = Buffer.from(buffer, TEXT_AT, TEXT_BYTES);
  return Array.from({ length: used }, (_, id) => (id === 0 ? "" : text.latin1Slice(ends[id - 1]!, ends[id]!)));
}
