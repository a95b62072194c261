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
  /** Table sizes that the peer must be told of before the next block; -1 is none. */
  private smallestSize = -1;
  private scratch: Buffer = Buffer.allocUnsafeSlow(MAX_INDEXED_BYTES * 2 + 4);

  /** The peer's SETTINGS_HEADER_TABLE_SIZE. RFC 7541 §4.2. */
  setPeerTableSize(size: number): void {
    const bytes = Math.min(size, MAX_TABLE_BYTES);
    if (bytes === this.tableBytes) return;
    this.tableBytes = bytes;
    this.smallestSize = this.smallestSize < 0 ? bytes : Math.min(this.smallestSize, bytes);
    this.table.setMaxSize(bytes);
  }

  /** Begins a block. @returns the offset behind what had to be said first */
  begin(out: Buffer, start: number): number {
    if (this.smallestSize < 0) return start;
    let at = start;
    if (this.smallestSize < this.tableBytes) at = writeInteger(out, at, 0x20, 0x1f, this.smallestSize);
    this.smallestSize = -1;
    return writeInteger(out, at, 0x20, 0x1f, this.tableBytes);
  }

  /** Writes `:status`. @param status 100 to 599 */
  status(out: Buffer, start: number, status: number): number {
    const index = STATUS_INDEX[status]!;
    if (index > 0) {
      out[start] = 0x80 | index;
      return start + 1;
    }
    out[start] = STATUS_NAME;
    out[start + 1] = 3;
    out[start + 2] = 0x30 + Math.floor(status / 100);
    out[start + 3] = 0x30 + (Math.floor(status / 10) % 10);
    out[start + 4] = 0x30 + (status % 10);
    return start + 5;
  }

  /** Writes an entry of the static table as it is. */
  indexed(out: Buffer, at: number, index: number): number {
    out[at] = 0x80 | index;
    return at + 1;
  }

  /** Writes a field whose value never comes again or must not be kept, with a name from the static table. */
  plain(out: Buffer, start: number, nameIndex: number, bytes: Uint8Array, from: number, to: number): number {
    return writeString(out, writeInteger(out, start, 0, 0x0f, nameIndex), bytes, from, to);
  }

  /**
   * Writes a field. Its name may be written in any case.
   * @param id the name's, or Other; then the name stands in `bytes[nameFrom, nameTo)`
   */
  field(
    out: Buffer,
    start: number,
    id: HeaderId,
    bytes: Uint8Array,
    nameFrom: number,
    nameTo: number,
    valueFrom: number,
    valueTo: number,
  ): number {
    const nameIndex = NAME_INDEX[id]!;
    const policy = POLICY[id]!;
    const name = id === HeaderId.Other || id === HeaderId.NamedByConnection ? null : LOWER_NAMES[id]!;
    if (policy !== Policy.Index || valueTo - valueFrom > MAX_INDEXED_BYTES || nameTo - nameFrom > MAX_INDEXED_BYTES) {
      const at = writeInteger(out, start, policy === Policy.Never ? 0x10 : 0, 0x0f, nameIndex);
      const behindName = nameIndex > 0 ? at : writeName(out, at, name, bytes, nameFrom, nameTo);
      return writeString(out, behindName, bytes, valueFrom, valueTo);
    }
    const hash = hashOf(id, bytes, nameFrom, nameTo, valueFrom, valueTo);
    const row = (hash ^ (hash >>> 8) ^ (hash >>> 16)) & (ROWS - 1);
    const age = this.table.inserted - this.entries[row]!;
    if (this.entries[row] !== 0 && age < this.table.count) {
      const slot = this.table.slotAt(age);
      if (this.isEntry(slot, name, bytes, nameFrom, nameTo, valueFrom, valueTo)) {
        return writeInteger(out, start, 0x80, 0x7f, STATIC_ENTRIES + 1 + age);
      }
    }
    if (this.seen[row] === hash)
      return this.insert(out, start, row, nameIndex, name, bytes, nameFrom, nameTo, valueFrom, valueTo);
    this.seen[row] = hash;
    const at = writeInteger(out, start, 0, 0x0f, nameIndex);
    const behindName = nameIndex > 0 ? at : writeName(out, at, name, bytes, nameFrom, nameTo);
    return writeString(out, behindName, bytes, valueFrom, valueTo);
  }

  private insert(
    out: Buffer,
    start: number,
    row: number,
    nameIndex: number,
    name: Uint8Array | null,
    bytes: Uint8Array,
    nameFrom: number,
    nameTo: number,
    valueFrom: number,
    valueTo: number,
  ): number {
    const { scratch } = this;
    const nameEnd =
      name === null ? lowerCopy(scratch, 0, bytes, nameFrom, nameTo) : lowerCopy(scratch, 0, name, 0, name.length);
    const valueEnd = copyBytes(scratch, nameEnd + 2, bytes, valueFrom, valueTo);
    this.table.insert(scratch, 0, nameEnd, valueTo - valueFrom, 0);
    this.entries[row] = this.table.count > 0 ? this.table.inserted : 0;
    let at = writeInteger(out, start, 0x40, 0x3f, nameIndex);
    if (nameIndex === 0) at = writeCompact(out, at, scratch, 0, nameEnd);
    at = writeCompact(out, at, scratch, nameEnd + 2, valueEnd);
    return at;
  }

  private isEntry(
    slot: number,
    name: Uint8Array | null,
    bytes: Uint8Array,
    nameFrom: number,
    nameTo: number,
    valueFrom: number,
    valueTo: number,
  ): boolean {
    const { table } = this;
    const length = valueTo - valueFrom;
    const nameLength = name === null ? nameTo - nameFrom : name.length;
    if (table.nameLength(slot) !== nameLength || table.valueLength(slot) !== length) return false;
    const own = table.bytes;
    const at = table.lineFrom(slot);
    if (name === null) {
      for (let i = 0; i < nameLength; i++) if (own[at + i] !== LOWER[bytes[nameFrom + i]!]) return false;
    } else for (let i = 0; i < nameLength; i++) if (own[at + i] !== name[i]) return false;
    const valueAt = at + nameLength + 2;
    for (let i = 0; i < length; i++) if (own[valueAt + i] !== bytes[valueFrom + i]) return false;
    return true;
  }
}

/** Writes an integer behind `bits`, with a prefix of `mask`. RFC 7541 §5.1. */
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

function writeName(
  out: Buffer,
  start: number,
  name: Uint8Array | null,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  if (name !== null) return writeString(out, start, name, 0, name.length);
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
  /** Secret: never to be put into a table by anybody on the way. RFC 7541 §7.1.3. */
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
