import { copyBytes, LOWER, latin1 } from "../../core/bytes.ts";
import { HEADER_ID_COUNT, HeaderId, headerName } from "../../message/header-block.ts";
import { DynamicTable } from "./dynamic-table.ts";
import { encodeHuffman, huffmanLength } from "./huffman.ts";
import { STATIC_ENTRIES, staticIndex, staticNameIndex } from "./static-table.ts";

/** Bytes that a field may take beyond its name and value. */
export const FIELD_EXTRA = 16;
/** Bytes that the beginning of a block may take. */
export const BLOCK_EXTRA = 16;
/** The largest table that is used, whatever the peer would allow. RFC 7541 §4.2: less than announced is always right. */
const MAX_TABLE_BYTES = 4096;
/** Longer values are not worth a place in the table. */
const MAX_INDEXED_BYTES = 256;
/** Rows of the two lookup tables. */
const ROWS = 256;
/** The output between two blocks. */
const NO_BLOCK: Buffer = Buffer.alloc(0);

/**
 * Writes header blocks. RFC 7541. A field goes into the dynamic table when it comes a second time, so that values that
 * never come again (ids, lengths) push nothing out. What goes into the table is Huffman-coded, since that is paid once;
 * what does not is copied as it is.
 */
export class HpackEncoder {
  private readonly table: DynamicTable = new DynamicTable(MAX_TABLE_BYTES);
  /** By hash: the number of the entry that was inserted with it (see DynamicTable.inserted); 0 is none. */
  private readonly entries: Int32Array = new Int32Array(ROWS);
  /** By hash: the hash of the field that was seen last. */
  private readonly seen: Int32Array = new Int32Array(ROWS);
  private tableBytes = MAX_TABLE_BYTES;
  /** Table sizes that the peer must learn of before the next block; -1 is none. */
  private smallestSize = -1;
  private scratch: Buffer = Buffer.allocUnsafeSlow(MAX_INDEXED_BYTES * 2 + 4);
  /** Where the block is written, and the offset of its next byte. */
  private out: Buffer = NO_BLOCK;
  private at = 0;

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. RFC 7541 §4.2. */
  setPeerTableSize(size: number): void {
    const bytes = Math.min(size, MAX_TABLE_BYTES);
    if (bytes === this.tableBytes) return;
    this.tableBytes = bytes;
    this.smallestSize = this.smallestSize < 0 ? bytes : Math.min(this.smallestSize, bytes);
    this.table.setMaxSize(bytes);
  }

  /** Begins a block at `out[start]`; `end` gives the offset after it. Between them each method writes one field. */
  begin(out: Buffer, start: number): void {
    this.out = out;
    this.at = start;
    if (this.smallestSize < 0) return;
    if (this.smallestSize < this.tableBytes) this.at = writeInteger(out, start, 0x20, 0x1f, this.smallestSize);
    this.smallestSize = -1;
    this.at = writeInteger(out, this.at, 0x20, 0x1f, this.tableBytes);
  }

  /** Ends the block. @returns the offset after it */
  end(): number {
    this.out = NO_BLOCK;
    return this.at;
  }

  /** Writes `:status`. @param status 100 to 599 */
  status(status: number): void {
    const index = STATUS_INDEX[status]!;
    if (index > 0) return this.indexed(index);
    const { out, at } = this;
    out[at] = STATUS_NAME;
    out[at + 1] = 3;
    out[at + 2] = 0x30 + Math.floor(status / 100);
    out[at + 3] = 0x30 + (Math.floor(status / 10) % 10);
    out[at + 4] = 0x30 + (status % 10);
    this.at = at + 5;
  }

  /** Writes an entry of the static table as it is. */
  indexed(index: number): void {
    this.out[this.at++] = 0x80 | index;
  }

  /** Writes a field whose value never comes again or must not be kept, with a name from the static table. */
  plain(nameIndex: number, bytes: Uint8Array, from: number, to: number): void {
    const { out } = this;
    this.at = writeString(out, writeInteger(out, this.at, 0, 0x0f, nameIndex), bytes, from, to);
  }

  /**
   * Writes a field. Its name may be written in any case.
   * @param id the name's, or Other; then the name is in `bytes[nameFrom, nameTo)`
   */
  field(id: HeaderId, bytes: Uint8Array, nameFrom: number, nameTo: number, valueFrom: number, valueTo: number): void {
    if (POLICY[id] !== Policy.Index || valueTo - valueFrom > MAX_INDEXED_BYTES || nameTo - nameFrom > MAX_INDEXED_BYTES)
      return this.literal(id, bytes, nameFrom, nameTo, valueFrom, valueTo);
    const { table } = this;
    const name = ownName(id);
    const hash = hashOf(id, bytes, nameFrom, nameTo, valueFrom, valueTo);
    const row = (hash ^ (hash >>> 8) ^ (hash >>> 16)) & (ROWS - 1);
    const age = table.inserted - this.entries[row]!;
    if (this.entries[row] !== 0 && age < table.count) {
      const slot = table.slotAt(age);
      const isName =
        name === null ? this.hasName(slot, bytes, nameFrom, nameTo) : this.hasName(slot, name, 0, name.length);
      if (isName && this.hasValue(slot, bytes, valueFrom, valueTo)) {
        this.at = writeInteger(this.out, this.at, 0x80, 0x7f, STATIC_ENTRIES + 1 + age);
        return;
      }
    }
    if (this.seen[row] !== hash) {
      this.seen[row] = hash;
      return this.literal(id, bytes, nameFrom, nameTo, valueFrom, valueTo);
    }
    const nameEnd =
      name === null
        ? lowerCopy(this.scratch, 0, bytes, nameFrom, nameTo)
        : lowerCopy(this.scratch, 0, name, 0, name.length);
    this.insert(row, NAME_INDEX[id]!, nameEnd, bytes, valueFrom, valueTo);
  }

  /** Writes a field that is not in the table, and leaves it out of the table. */
  private literal(
    id: HeaderId,
    bytes: Uint8Array,
    nameFrom: number,
    nameTo: number,
    valueFrom: number,
    valueTo: number,
  ): void {
    const { out } = this;
    const nameIndex = NAME_INDEX[id]!;
    let at = writeInteger(out, this.at, POLICY[id] === Policy.Never ? 0x10 : 0, 0x0f, nameIndex);
    if (nameIndex === 0) {
      const name = ownName(id);
      at = name === null ? writeName(out, at, bytes, nameFrom, nameTo) : writeString(out, at, name, 0, name.length);
    }
    this.at = writeString(out, at, bytes, valueFrom, valueTo);
  }

  /** Writes a field whose name is in `scratch[0, nameEnd)`, and puts it into the table. */
  private insert(
    row: number,
    nameIndex: number,
    nameEnd: number,
    bytes: Uint8Array,
    valueFrom: number,
    valueTo: number,
  ): void {
    const { out, scratch } = this;
    const valueEnd = copyBytes(scratch, nameEnd + 2, bytes, valueFrom, valueTo);
    this.table.insert(scratch, 0, nameEnd, valueTo - valueFrom, 0);
    this.entries[row] = this.table.count > 0 ? this.table.inserted : 0;
    let at = writeInteger(out, this.at, 0x40, 0x3f, nameIndex);
    if (nameIndex === 0) at = writeCompact(out, at, scratch, 0, nameEnd);
    this.at = writeCompact(out, at, scratch, nameEnd + 2, valueEnd);
  }

  /** @param bytes the name in any case */
  private hasName(slot: number, bytes: Uint8Array, from: number, to: number): boolean {
    const { table } = this;
    const length = to - from;
    if (table.nameLength(slot) !== length) return false;
    const own = table.bytes;
    const at = table.lineFrom(slot);
    for (let i = 0; i < length; i++) if (own[at + i] !== LOWER[bytes[from + i]!]) return false;
    return true;
  }

  private hasValue(slot: number, bytes: Uint8Array, from: number, to: number): boolean {
    const { table } = this;
    const length = to - from;
    if (table.valueLength(slot) !== length) return false;
    const own = table.bytes;
    const at = table.lineFrom(slot) + table.nameLength(slot) + 2;
    for (let i = 0; i < length; i++) if (own[at + i] !== bytes[from + i]) return false;
    return true;
  }
}

/** A known name in lower case; null for one that is in the bytes of its field alone. */
function ownName(id: HeaderId): Uint8Array | null {
  return id === HeaderId.Other || id === HeaderId.NamedByConnection ? null : LOWER_NAMES[id]!;
}

/** Writes an integer after `bits`, with a prefix of `mask`. RFC 7541 §5.1. */
function writeInteger(out: Buffer, start: number, bits: number, mask: number, value: number): number {
  if (value < mask) {
    out[start] = bits | value;
    return start + 1;
  }
  let at = start;
  out[at++] = bits | mask;
  let rest = value - mask;
  for (; rest >= 128; rest >>= 7) out[at++] = 0x80 | (rest & 0x7f);
  out[at++] = rest;
  return at;
}

function writeName(out: Buffer, start: number, bytes: Uint8Array, from: number, to: number): number {
  return lowerCopy(out, writeInteger(out, start, 0, 0x7f, to - from), bytes, from, to);
}

function writeString(out: Buffer, start: number, bytes: Uint8Array, from: number, to: number): number {
  return copyBytes(out, writeInteger(out, start, 0, 0x7f, to - from), bytes, from, to);
}

/** The shorter of both forms. */
function writeCompact(out: Buffer, start: number, bytes: Uint8Array, from: number, to: number): number {
  const length = huffmanLength(bytes, from, to);
  if (length >= to - from) return writeString(out, start, bytes, from, to);
  return encodeHuffman(bytes, from, to, out, writeInteger(out, start, 0x80, 0x7f, length));
}

function lowerCopy(out: Buffer, at: number, bytes: Uint8Array, from: number, to: number): number {
  let end = at;
  for (let i = from; i < to; i++) out[end++] = LOWER[bytes[i]!]!;
  return end;
}

function hashOf(
  id: HeaderId,
  bytes: Uint8Array,
  nameFrom: number,
  nameTo: number,
  valueFrom: number,
  valueTo: number,
): number {
  let hash = (id + 1) * 0x9e3779b1;
  if (id === HeaderId.Other)
    for (let i = nameFrom; i < nameTo; i++) hash = Math.imul(hash ^ LOWER[bytes[i]!]!, 0x01000193);
  for (let i = valueFrom; i < valueTo; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash | 0;
}

/** How a field is represented. */
const enum Policy {
  Index = 0,
  /** Different each time: without indexing. */
  Once,
  /** Secret: never to be put into a table by any intermediary. RFC 7541 §7.1.3. */
  Never,
}

const ONCE: readonly HeaderId[] = [
  HeaderId.ContentLength,
  HeaderId.ContentRange,
  HeaderId.XRequestId,
  HeaderId.ETag,
  HeaderId.LastModified,
  HeaderId.Location,
  HeaderId.Age,
  HeaderId.Traceparent,
];
const NEVER: readonly HeaderId[] = [HeaderId.SetCookie, HeaderId.Cookie, HeaderId.Authorization];

const POLICY: Uint8Array = new Uint8Array(HEADER_ID_COUNT);
for (const id of ONCE) POLICY[id] = Policy.Once;
for (const id of NEVER) POLICY[id] = Policy.Never;

const LOWER_NAMES: readonly Uint8Array[] = Array.from({ length: HEADER_ID_COUNT }, (_, id) =>
  latin1((headerName(id) ?? "").toLowerCase()),
);
/** Index of each known name in the static table, or 0. */
const NAME_INDEX: Uint8Array = Uint8Array.from({ length: HEADER_ID_COUNT }, (_, id) =>
  staticNameIndex((headerName(id) ?? "").toLowerCase()),
);
/** Index of the entry of each status in the static table, or 0. */
const STATUS_INDEX: Uint8Array = Uint8Array.from({ length: 600 }, (_, status) => staticIndex(":status", `${status}`));
const STATUS_NAME: number = staticNameIndex(":status");
