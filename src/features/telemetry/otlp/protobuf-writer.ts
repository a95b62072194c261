import { copyBytes } from "../../../core/bytes.ts";

/**
 * Writes messages of Protocol Buffers one after the other into memory that is used again. What is written is the shortest form of the
 * wire format (protobuf.dev/programming-guides/encoding). The caller sees to it that there is room.
 */
export class ProtobufWriter {
  readonly bytes: Buffer;
  private readonly view: DataView;
  /** Where the next byte goes. */
  at = 0;

  /** @param size in bytes; it does not grow */
  constructor(size: number) {
    this.bytes = Buffer.alloc(size);
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, size);
  }

  byte(value: number): void {
    this.bytes[this.at++] = value;
  }

  /** @param value a whole number from 0 to 2^53-1 */
  varint(value: number): void {
    const { bytes } = this;
    let { at } = this;
    let rest = value;
    while (rest > 0xffffffff) {
      bytes[at++] = (rest & 127) | 128;
      rest = Math.floor(rest / 128);
    }
    let low = rest >>> 0;
    while (low > 127) {
      bytes[at++] = (low & 127) | 128;
      low >>>= 7;
    }
    bytes[at++] = low;
    this.at = at;
  }

  /** Bytes as they are: what was put together before. */
  raw(from: Uint8Array, first = 0, last: number = from.length): void {
    this.at = copyBytes(this.bytes, this.at, from, first, last);
  }

  /** A time as `fixed64` of nanoseconds. @param ms since the epoch, with fractions */
  time(ms: number): void {
    const seconds = Math.floor(ms / 1000);
    const nanos = Math.round((ms - seconds * 1000) * 1e6);
    // 10^9 is 1953125 * 2^9: the product is a whole number below 2^53, of which 23 bits belong to the lower half.
    const high = seconds * 1953125;
    const low = (high % 0x800000) * 512 + nanos;
    const carry = low > 0xffffffff ? 1 : 0;
    this.view.setUint32(this.at, low >>> 0, true);
    this.view.setUint32(this.at + 4, Math.floor(high / 0x800000) + carry, true);
    this.at += 8;
  }

  fixed32(value: number): void {
    this.view.setUint32(this.at, value, true);
    this.at += 4;
  }

  /** Begins what is written with its length before it. @returns what `close` wants */
  open(): number {
    this.at += LENGTH_BYTES;
    return this.at;
  }

  /** Writes the length of what has been written since `open`. */
  close(from: number): void {
    const length = this.at - from;
    const size = varintSize(length);
    if (size !== LENGTH_BYTES) this.bytes.copyWithin(from - LENGTH_BYTES + size, from, this.at);
    this.at = from - LENGTH_BYTES;
    this.varint(length);
    this.at += length;
  }

  /** The field `attributes` with a text, one character a byte. */
  textAttribute(name: AttributeName, from: Uint8Array, first: number, last: number): void {
    const before = this.at;
    const length = last - first;
    this.beginText(name, length);
    const { bytes } = this;
    let { at } = this;
    let any = 0;
    for (let i = first; i < last; i++) {
      const byte = from[i]!;
      bytes[at++] = byte;
      any |= byte;
    }
    this.at = at;
    if (any < 0x80) return;
    this.at = before;
    this.beginText(name, length + highBytes(from, first, last));
    this.latin1(from, first, last);
  }

  /** The field `attributes` with a whole number from 0 to 2^53-1. */
  numberAttribute(name: AttributeName, value: number): void {
    const length = 1 + varintSize(value);
    this.byte(name.field);
    this.varint(name.bytes.length + 1 + length);
    this.raw(name.bytes);
    this.byte(length);
    this.byte(INT_VALUE);
    this.varint(value);
  }

  /** Bytes of Latin-1 as UTF-8. */
  latin1(from: Uint8Array, first: number, last: number): void {
    const { bytes } = this;
    for (let i = first; i < last; i++) {
      const byte = from[i]!;
      if (byte < 0x80) bytes[this.at++] = byte;
      else {
        bytes[this.at++] = 0xc0 | (byte >>> 6);
        bytes[this.at++] = 0x80 | (byte & 0x3f);
      }
    }
  }

  private beginText({ field, bytes }: AttributeName, length: number): void {
    const inner = 1 + varintSize(length) + length;
    this.byte(field);
    this.varint(bytes.length + varintSize(inner) + inner);
    this.raw(bytes);
    this.varint(inner);
    this.byte(STRING_VALUE);
    this.varint(length);
  }
}

/** The beginning of attributes with the same name: which field of their message they are, and what comes before their values. */
export interface AttributeName {
  readonly field: number;
  readonly bytes: Uint8Array;
}

/** @param field the number of the message's field that has its attributes @param name of ASCII, shorter than 128 */
export function attributeName(field: number, name: string): AttributeName {
  return { field: (field << 3) | DELIMITED, bytes: Buffer.from(`\n${String.fromCharCode(name.length)}${name}\x12`) };
}

/** A field with its length, put together ahead. @param number of the field */
export function delimited(number: number, body: Uint8Array): Uint8Array {
  const head = new ProtobufWriter(MAX_HEAD_BYTES);
  head.varint((number << 3) | DELIMITED);
  head.varint(body.length);
  return Buffer.concat([head.bytes.subarray(0, head.at), body]);
}

/** An attribute, put together ahead. @param number the number of the message's field that has its attributes */
export function attribute(number: number, name: string, value: string | number): Uint8Array {
  let inner: Uint8Array;
  if (typeof value === "string") inner = delimited(1, Buffer.from(value));
  else {
    const writer = new ProtobufWriter(MAX_HEAD_BYTES);
    writer.byte(INT_VALUE);
    writer.varint(value);
    inner = writer.bytes.subarray(0, writer.at);
  }
  return delimited(number, Buffer.concat([delimited(1, Buffer.from(name)), delimited(2, inner)]));
}

/** How many bytes of a text become two in UTF-8. */
export function highBytes(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let i = from; i < to; i++) count += bytes[i]! >>> 7;
  return count;
}

/** @param value a whole number from 0 to 2^53-1 */
export function varintSize(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x200000) return 3;
  if (value < 0x10000000) return 4;
  let size = 5;
  for (let rest = Math.floor(value / 0x800000000); rest > 0; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** Wire type 2. */
const DELIMITED = 2;
/** The fields `string_value` and `int_value` of an AnyValue. */
const STRING_VALUE = (1 << 3) | DELIMITED;
const INT_VALUE = 3 << 3;
/** A tag and a number. */
const MAX_HEAD_BYTES = 16;
/** Room for a length before it is known: that of most spans takes two bytes. */
const LENGTH_BYTES = 2;
