// Texts by text, in memory that all threads share: written once, then only read.

/** Numbers at the beginning: entries, slots. */
const HEADER_INTS = 2;
/** Of an entry: hash, beginning of its key, beginning of its value, end of that, mark. */
const ENTRY_INTS = 5;
const INT_BYTES = Int32Array.BYTES_PER_ELEMENT;

const ENTRIES_PER_STEP = 20_000;

/** A table as its bytes: 20 bytes an entry, 8 to 16 for finding it, and the texts. */
export type TextTableMemory = SharedArrayBuffer;

/** Collects the entries of a table. Texts are one character a byte. */
export class TextTableBuilder {
  private readonly numbers: Map<string, number> = new Map();
  private ints = new Int32Array(1024 * ENTRY_INTS);
  private bytes: Buffer = Buffer.allocUnsafe(65_536);
  private length = 0;

  get size(): number {
    return this.numbers.size;
  }

  /** Adds an entry. @returns -1, or the number of the entry that has the key already: then nothing is added */
  add(key: string, value: string, mark = 0): number {
    const known = this.numbers.get(key);
    if (known !== undefined) return known;
    const number = this.numbers.size;
    this.numbers.set(key, number);
    this.makeRoom(number, key.length + value.length);
    const { length } = this;
    this.bytes.latin1Write(key, length, key.length);
    this.bytes.latin1Write(value, length + key.length, value.length);
    this.length = length + key.length + value.length;
    this.ints.set([hashOf(key), length, length + key.length, this.length, mark], number * ENTRY_INTS);
    return -1;
  }

  /** The table, a part at a time. */
  *finish(): Generator<undefined, TextTableMemory, undefined> {
    const count = this.numbers.size;
    let slots = 8;
    while (slots < count * 2) slots *= 2;
    const headInts = HEADER_INTS + slots + count * ENTRY_INTS;
    const memory = new SharedArrayBuffer(headInts * INT_BYTES + this.length);
    const ints = new Int32Array(memory, 0, headInts);
    ints[0] = count;
    ints[1] = slots;
    ints.set(this.ints.subarray(0, count * ENTRY_INTS), HEADER_INTS + slots);
    for (let number = 0; number < count; number++) {
      if (number % ENTRIES_PER_STEP === ENTRIES_PER_STEP - 1) yield undefined;
      let slot = this.ints[number * ENTRY_INTS]! & (slots - 1);
      while (ints[HEADER_INTS + slot] !== 0) slot = (slot + 1) & (slots - 1);
      ints[HEADER_INTS + slot] = number + 1;
    }
    new Uint8Array(memory, headInts * INT_BYTES).set(this.bytes.subarray(0, this.length));
    return memory;
  }

  private makeRoom(number: number, more: number): void {
    if ((number + 1) * ENTRY_INTS > this.ints.length) {
      const wider = new Int32Array(this.ints.length * 2);
      wider.set(this.ints);
      this.ints = wider;
    }
    if (this.length + more <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + more));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}

/** Looks texts up: one hash over the key, whatever the number of entries. */
export class TextTable {
  readonly size: number;
  private readonly ints: Int32Array;
  private readonly bytes: Buffer;
  private readonly mask: number;
  /** Place of the first entry among the numbers. */
  private readonly from: number;

  constructor(memory: TextTableMemory) {
    const [size, slots] = new Int32Array(memory, 0, HEADER_INTS);
    this.size = size!;
    this.mask = slots! - 1;
    this.from = HEADER_INTS + slots!;
    const headInts = this.from + size! * ENTRY_INTS;
    this.ints = new Int32Array(memory, 0, headInts);
    this.bytes = Buffer.from(memory, headInts * INT_BYTES);
  }

  /** The number of the entry with a key; -1 if there is none. */
  find(key: string): number {
    const { ints, mask, from } = this;
    const hash = hashOf(key);
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = ints[HEADER_INTS + slot]! - 1;
      if (number < 0) return -1;
      const at = from + number * ENTRY_INTS;
      if (ints[at] === hash && this.hasKey(at, key)) return number;
    }
  }

  keyOf(number: number): string {
    const at = this.from + number * ENTRY_INTS;
    return this.bytes.latin1Slice(this.ints[at + 1], this.ints[at + 2]);
  }

  valueOf(number: number): string {
    const at = this.from + number * ENTRY_INTS;
    return this.bytes.latin1Slice(this.ints[at + 2], this.ints[at + 3]);
  }

  markOf(number: number): number {
    return this.ints[this.from + number * ENTRY_INTS + 4]!;
  }

  private hasKey(at: number, key: string): boolean {
    const { bytes } = this;
    const begin = this.ints[at + 1]!;
    if (this.ints[at + 2]! - begin !== key.length) return false;
    for (let i = 0; i < key.length; i++) if (bytes[begin + i] !== key.charCodeAt(i)) return false;
    return true;
  }
}

/** Native: it costs a tenth of a loop over the characters. */
function hashOf(key: string): number {
  return Bun.hash.xxHash32(key) | 0;
}

/** A table without entries. */
export const NO_TEXTS: TextTable = new TextTable(emptyTable());

function emptyTable(): TextTableMemory {
  const { done, value } = new TextTableBuilder().finish().next();
  if (done !== true) throw new Error("an empty table has parts");
  return value;
}
