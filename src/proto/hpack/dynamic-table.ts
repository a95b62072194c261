import { copyBytes } from "../../core/bytes.ts";
import type { FieldTag } from "./field-kind.ts";

/** What an entry counts beyond its name and value. RFC 7541 §4.1. */
export const ENTRY_OVERHEAD = 32;
/** A line's colon, space, CR and LF. */
const LINE_EXTRA = 4;
const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * The dynamic table of one direction. RFC 7541 §2.3.2, §4. Entries are lines in one buffer of twice the table's size, in
 * the order they came; when its end is reached, the live ones move to the front. No insertion allocates.
 */
export class DynamicTable {
  /** The lines; an entry's offsets are into this. */
  bytes: Buffer = NO_BYTES;
  /** Number of entries. */
  count = 0;
  /** Entries that were ever inserted: the newest has this number. */
  inserted = 0;
  /** Size by RFC 7541 §4.1. */
  size = 0;
  private readonly capacity: number;
  private readonly mask: number;
  /** Four numbers an entry: line from, name length, value length, tag. */
  private rows: Int32Array = NO_SPANS;
  private maxSize: number;
  private end = 0;

  /** @param capacity largest size that the table can ever have, in bytes */
  constructor(capacity: number) {
    this.capacity = capacity;
    this.maxSize = capacity;
    let slots = 1;
    while (slots * ENTRY_OVERHEAD < capacity) slots *= 2;
    this.mask = slots - 1;
  }

  /** Sets the size that may be used now. @param size 0 to `capacity` */
  setMaxSize(size: number): void {
    this.maxSize = Math.min(size, this.capacity);
    this.evictTo(this.maxSize);
  }

  /**
   * Offset of an entry's four numbers in `rows`.
   * @param index 0 is the newest, `count - 1` the oldest
   */
  slotAt(index: number): number {
    return ((this.inserted - index) & this.mask) * 4;
  }

  lineFrom(slot: number): number {
    return this.rows[slot]!;
  }

  nameLength(slot: number): number {
    return this.rows[slot + 1]!;
  }

  valueLength(slot: number): number {
    return this.rows[slot + 2]!;
  }

  tag(slot: number): FieldTag {
    return this.rows[slot + 3]!;
  }

  /** Puts a line into the table. One larger than the table empties it. RFC 7541 §4.4. */
  insert(bytes: Uint8Array, lineFrom: number, nameLength: number, valueLength: number, tag: FieldTag): void {
    const size = nameLength + valueLength + ENTRY_OVERHEAD;
    this.evictTo(this.maxSize - size);
    if (size > this.maxSize) return;
    if (this.rows === NO_SPANS) {
      this.rows = new Int32Array((this.mask + 1) * 4);
      this.bytes = Buffer.allocUnsafeSlow(this.capacity * 2);
    }
    const length = nameLength + valueLength + LINE_EXTRA;
    if (this.end + length > this.bytes.length) this.compact();
    const at = this.end;
    this.end = copyBytes(this.bytes, at, bytes, lineFrom, lineFrom + length);
    this.inserted++;
    const slot = this.slotAt(0);
    this.rows[slot] = at;
    this.rows[slot + 1] = nameLength;
    this.rows[slot + 2] = valueLength;
    this.rows[slot + 3] = tag;
    this.count++;
    this.size += size;
  }

  private evictTo(size: number): void {
    while (this.count > 0 && this.size > size) {
      const slot = this.slotAt(this.count - 1);
      this.size -= this.rows[slot + 1]! + this.rows[slot + 2]! + ENTRY_OVERHEAD;
      this.count--;
    }
    if (this.count === 0) this.end = 0;
  }

  /** The live lines stand side by side: they move together. */
  private compact(): void {
    const from = this.rows[this.slotAt(this.count - 1)]!;
    this.bytes.copyWithin(0, from, this.end);
    this.end -= from;
    for (let i = 0; i < this.count; i++) {
      const slot = this.slotAt(i);
      this.rows[slot] = this.rows[slot]! - from;
    }
  }
}

const NO_SPANS: Int32Array = new Int32Array(0);
