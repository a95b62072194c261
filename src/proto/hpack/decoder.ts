import { Byte, copyBytes } from "../../core/bytes.ts";
import { DynamicTable } from "./dynamic-table.ts";
import { type FieldTag, tagOf } from "./field-kind.ts";
import { decodeHuffman } from "./huffman.ts";
import type { LineBuffer } from "./line-buffer.ts";
import { STATIC_ENTRIES, STATIC_LINES, STATIC_SPANS } from "./static-table.ts";

/** What `HpackDecoder.next` came upon. */
export const enum FieldEvent {
  /** A field is in the line buffer. */
  Field = 0,
  /** The block is over. */
  Done,
  /** The block is malformed, and with it all that would come: COMPRESSION_ERROR. */
  Failed,
}

/** Gives the fields of one head, one after the other. */
export interface FieldSource {
  /** Where the field is in the line buffer. */
  readonly nameFrom: number;
  readonly nameTo: number;
  readonly valueFrom: number;
  readonly valueTo: number;
  readonly tag: FieldTag;
  /** Writes the next field as a line after `line.end`, which the caller moves. */
  next(line: LineBuffer): FieldEvent;
}

/** Integers beyond this are refused: nothing that may be as large is bounded otherwise. */
const MAX_INTEGER = 1 << 24;

/** Reads header blocks. RFC 7541. Each field becomes a line in a buffer of the caller's; the dynamic table stays here. */
export class HpackDecoder implements FieldSource {
  nameFrom = 0;
  nameTo = 0;
  valueFrom = 0;
  valueTo = 0;
  tag: FieldTag = 0;
  private readonly table: DynamicTable;
  private readonly maxTableBytes: number;
  private bytes: Uint8Array = STATIC_LINES;
  private at = 0;
  private to = 0;
  private sawField = false;

  /** @param maxTableBytes SETTINGS_HEADER_TABLE_SIZE as we have announced it */
  constructor(maxTableBytes: number) {
    this.maxTableBytes = maxTableBytes;
    this.table = new DynamicTable(maxTableBytes);
  }

  /** Makes ready for a complete block. */
  begin(bytes: Uint8Array, from: number, to: number): void {
    this.bytes = bytes;
    this.at = from;
    this.to = to;
    this.sawField = false;
  }

  /** Reads the next field; its line is after `line.end`, which the caller moves. RFC 7541 §6. */
  next(line: LineBuffer): FieldEvent {
    for (;;) {
      if (this.at >= this.to) return FieldEvent.Done;
      const first = this.bytes[this.at]!;
      if ((first & 0xe0) !== 0x20) {
        this.sawField = true;
        return this.readField(first, line) ? FieldEvent.Field : FieldEvent.Failed;
      }
      // RFC 7541 §4.2: the size changes at the beginning of a block only, and not beyond what was announced.
      const size = this.readInteger(0x1f);
      if (this.sawField || size < 0 || size > this.maxTableBytes) return FieldEvent.Failed;
      this.table.setMaxSize(size);
    }
  }

  private readField(first: number, line: LineBuffer): boolean {
    if (first >= 0x80) return this.copyIndexed(this.readInteger(0x7f), line);
    const isIndexing = (first & 0xc0) === 0x40;
    const nameIndex = this.readInteger(isIndexing ? 0x3f : 0x0f);
    if (nameIndex < 0) return false;
    this.nameFrom = line.end;
    const nameTo = nameIndex > 0 ? this.copyName(nameIndex, line) : this.readString(line, line.end);
    if (nameTo < 0) return false;
    this.nameTo = nameTo;
    const out = line.reserve(nameTo + 2 - line.end);
    out[nameTo] = Byte.Colon;
    out[nameTo + 1] = Byte.Space;
    this.valueFrom = nameTo + 2;
    const valueTo = this.readString(line, nameTo + 2);
    if (valueTo < 0) return false;
    this.valueTo = valueTo;
    line.bytes[valueTo] = Byte.Cr;
    line.bytes[valueTo + 1] = Byte.Lf;
    this.tag = tagOf(line.bytes, this.nameFrom, nameTo, this.valueFrom, valueTo);
    if (isIndexing) {
      this.table.insert(line.bytes, this.nameFrom, nameTo - this.nameFrom, valueTo - this.valueFrom, this.tag);
    }
    return true;
  }

  private copyIndexed(index: number, line: LineBuffer): boolean {
    if (index <= 0) return false;
    let bytes = STATIC_LINES;
    let from: number;
    let nameLength: number;
    let valueLength: number;
    if (index <= STATIC_ENTRIES) {
      from = STATIC_SPANS[index * 4]!;
      nameLength = STATIC_SPANS[index * 4 + 1]!;
      valueLength = STATIC_SPANS[index * 4 + 2]!;
      this.tag = STATIC_SPANS[index * 4 + 3]!;
    } else {
      const { table } = this;
      if (index - STATIC_ENTRIES > table.count) return false;
      const slot = table.slotAt(index - STATIC_ENTRIES - 1);
      bytes = table.bytes;
      from = table.lineFrom(slot);
      nameLength = table.nameLength(slot);
      valueLength = table.valueLength(slot);
      this.tag = table.tag(slot);
    }
    const length = nameLength + valueLength + 4;
    const at = line.end;
    copyBytes(line.reserve(length), at, bytes, from, from + length);
    this.nameFrom = at;
    this.nameTo = at + nameLength;
    this.valueFrom = this.nameTo + 2;
    this.valueTo = this.valueFrom + valueLength;
    return true;
  }

  /** @returns the offset after the name, or -1 if there is no such entry */
  private copyName(index: number, line: LineBuffer): number {
    const at = line.end;
    if (index <= STATIC_ENTRIES) {
      const from = STATIC_SPANS[index * 4]!;
      const length = STATIC_SPANS[index * 4 + 1]!;
      return copyBytes(line.reserve(length + 2), at, STATIC_LINES, from, from + length);
    }
    const { table } = this;
    if (index - STATIC_ENTRIES > table.count) return -1;
    const slot = table.slotAt(index - STATIC_ENTRIES - 1);
    const from = table.lineFrom(slot);
    const length = table.nameLength(slot);
    return copyBytes(line.reserve(length + 2), at, table.bytes, from, from + length);
  }

  /** @returns the offset after the text, or -1 if it is cut or malformed; there is room for a line's end after it */
  private readString(line: LineBuffer, at: number): number {
    if (this.at >= this.to) return -1;
    const isHuffman = this.bytes[this.at]! >= 0x80;
    const length = this.readInteger(0x7f);
    const from = this.at;
    if (length < 0 || length > this.to - from) return -1;
    this.at = from + length;
    const bound = isHuffman ? Math.ceil((length * 8) / 5) : length;
    const out = line.reserve(at - line.end + bound + 4);
    if (isHuffman) return decodeHuffman(this.bytes, from, from + length, out, at);
    return copyBytes(out, at, this.bytes, from, from + length);
  }

  /** Reads an integer whose prefix is `mask`. RFC 7541 §5.1. @returns -1 if it is cut or too large */
  private readInteger(mask: number): number {
    let value = this.bytes[this.at++]! & mask;
    if (value < mask) return value;
    for (let shift = 0; this.at < this.to; shift += 7) {
      const byte = this.bytes[this.at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (value > MAX_INTEGER || shift > 28) return -1;
      if (byte < 0x80) return value;
    }
    return -1;
  }
}
