/** Hash of a text of characters below 0x100, 0 to 2^32-1. */
export function hashText(text: string): number {
  let hash = OFFSET;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME);
  return mixed(hash);
}

/** Hash of `bytes[from, to)`: the same as that of the text they spell. */
export function hashBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = OFFSET;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i]!, PRIME);
  return mixed(hash);
}

/** Spreads the bits of a number: every one of them moves every bit of the result (the end of MurmurHash3). */
export function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

// FNV-1a.
const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;
