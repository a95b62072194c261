import { Byte, EMPTY_BYTES } from "../../../core/ascii.ts";

/**
 * The text of a body in UTF-16 or UTF-32, one byte a character; those beyond ASCII become a byte that means nothing. RFC 4627 §3 tells
 * them by where the zeros are in the first four bytes, and some readers of JSON still do, as readers of XML must.
 * @returns no bytes where it is neither
 */
export function narrowed(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const layout = to - from < 4 ? null : layoutOf(bytes[from]!, bytes[from + 1]!, bytes[from + 2]!, bytes[from + 3]!);
  if (layout === null) return EMPTY_BYTES;
  const { width, place, skip } = layout;
  const count = Math.floor((to - from - skip) / width);
  const out = Buffer.allocUnsafe(count);
  for (let i = 0; i < count; i++) {
    const at = from + skip + i * width;
    let rest = 0;
    for (let k = 0; k < width; k++) if (k !== place) rest |= bytes[at + k]!;
    out[i] = rest === 0 ? bytes[at + place]! : BEYOND_ASCII;
  }
  return out;
}

/** Bytes a character, which of them has ASCII's characters, and the length of the mark in front. */
interface Layout {
  readonly width: number;
  readonly place: number;
  readonly skip: number;
}

function layoutOf(a: number, b: number, c: number, d: number): Layout | null {
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? layout(4, 0, 4) : layout(2, 0, 2);
  if (a === 0xfe && b === 0xff) return layout(2, 1, 2);
  if (a === 0 && b === 0)
    return c === 0xfe && d === 0xff ? layout(4, 3, 4) : c === 0 && d !== 0 ? layout(4, 3, 0) : null;
  if (b === 0 && c === 0 && d === 0) return isText(a) ? layout(4, 0, 0) : null;
  // What begins a string of JSON or an element may be followed by any character.
  if (b === 0 && (isOpening(a) || (d === 0 && isText(a) && isText(c)))) return layout(2, 0, 0);
  return a === 0 && (isOpening(b) || (c === 0 && isText(b) && isText(d))) ? layout(2, 1, 0) : null;
}

function isText(byte: number): boolean {
  return (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d);
}

function isOpening(byte: number): boolean {
  return byte === Byte.Quote || byte === Byte.Less;
}

function layout(width: number, place: number, skip: number): Layout {
  return { width, place, skip };
}

const BEYOND_ASCII = 0x80;
