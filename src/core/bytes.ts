/** Copying and slicing of byte ranges where it is hot. */

const bufferCopy = Buffer.prototype.copy;
const bufferSlice = Buffer.prototype.latin1Slice;
/** Below this a loop is cheaper: a native copy costs some 21 ns whatever its length, a loop 0.7 ns a byte. */
const LOOP_BYTES = 24;

/**
 * Copies `bytes[from, to)` to `out` at `at`; the caller has made sure that there is room.
 * @returns the offset behind the copy
 */
export function copyBytes(out: Buffer, at: number, bytes: Uint8Array, from: number, to: number): number {
  if (to - from > LOOP_BYTES) {
    // Every array that comes off a socket is a Buffer; on another one this still works, some ten times slower.
    bufferCopy.call(bytes as Buffer, out, at, from, to);
    return at + to - from;
  }
  let end = at;
  for (let i = from; i < to; i++) out[end++] = bytes[i]!;
  return end;
}

/**
 * The offset `count` bytes behind `from`, at most `to`. Lengths may be beyond 2^31 and are doubles then; offsets never are.
 * What adds the two makes doubles of offsets, and once such a one has come along, all that is compiled for small integers
 * is compiled again for doubles, for good.
 * @param count 0 to 2^53-1
 */
export function offsetBehind(from: number, count: number, to: number): number {
  return count < to - from ? from + (count | 0) : to;
}

/** The text of `bytes[from, to)`, one character a byte. */
export function sliceText(bytes: Uint8Array, from: number, to: number): string {
  return bufferSlice.call(bytes as Buffer, from, to);
}

/** Where `byte` stands first in `bytes[from, to)`; `to` where it does not. */
export function indexOfByte(bytes: Uint8Array, byte: number, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] !== byte) at++;
  return at;
}

/**
 * Writes a whole number in decimal digits.
 * @param value 0 to 2^53-1
 * @returns the offset behind the digits
 */
export function writeDecimal(out: Buffer, at: number, value: number): number {
  if (value < 10) {
    out[at] = 0x30 + value;
    return at + 1;
  }
  let digits = 1;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) digits++;
  const end = at + digits;
  let rest = value;
  for (let i = end - 1; i >= at; i--) {
    const next = Math.floor(rest / 10);
    out[i] = 0x30 + (rest - next * 10);
    rest = next;
  }
  return end;
}

/**
 * Writes a whole number in lower-case hexadecimal digits.
 * @param value 0 to 2^31-1
 * @returns the offset behind the digits
 */
export function writeHex(out: Buffer, at: number, value: number): number {
  let shift = 28;
  while (shift > 0 && value >>> shift === 0) shift -= 4;
  let end = at;
  for (; shift >= 0; shift -= 4) {
    const digit = (value >>> shift) & 15;
    out[end++] = digit < 10 ? 0x30 + digit : 0x57 + digit;
  }
  return end;
}
