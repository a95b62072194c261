/** Nonces that are remembered at a time; eight bytes each. */
const NONCES = 131_072;
/** Slots among which one nonce may be. */
const PLACES = 16;
/** Bits of a slot that say until when it counts, in seconds since the memory was made: eight years. */
const TIME_BITS = 28n;
const TIME_MASK = (1n << TIME_BITS) - 1n;
const HASH_MASK = (1n << 36n) - 1n;
const HEADER_BYTES = 16;

/** Memory for the nonces of all workers, made once a process. */
export function nonceBuffer(nowMs: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(HEADER_BYTES + NONCES * 8);
  const words = new BigUint64Array(buffer);
  words[0] = BigInt(Math.floor(nowMs / 1000));
  words[1] = crypto.getRandomValues(new BigUint64Array(1))[0]!;
  return buffer;
}

/**
 * The nonces of signatures that verified, until they are too old anyway: each counts once, by whichever worker. A slot is one
 * word that is written by compare and exchange; if all places of a nonce are in use, it is refused.
 */
export class NonceMemory {
  private readonly slots: BigUint64Array;
  private readonly beginS: number;
  private readonly seed: bigint;

  constructor(buffer: SharedArrayBuffer) {
    const words = new BigUint64Array(buffer, 0, 2);
    this.beginS = Number(words[0]!);
    this.seed = words[1]!;
    this.slots = new BigUint64Array(buffer, HEADER_BYTES);
  }

  /**
   * @param untilS seconds since the epoch
   * @returns whether it was new, and is remembered
   */
  take(nonce: string, untilS: number, nowMs: number): boolean {
    const { slots } = this;
    const hash = Bun.hash.xxHash64(nonce, this.seed);
    const first = Number(hash % BigInt(NONCES / PLACES)) * PLACES;
    const mark = (hash >> TIME_BITS) & HASH_MASK;
    const now = BigInt(Math.max(0, Math.floor(nowMs / 1000) - this.beginS));
    const until = BigInt(Math.max(0, untilS - this.beginS));
    if (until > TIME_MASK) return false;
    const wanted = (mark << TIME_BITS) | until;
    for (let tries = 0; tries < PLACES; tries++) {
      let free = -1;
      let old = 0n;
      for (let i = first; i < first + PLACES; i++) {
        const word = Atomics.load(slots, i);
        if ((word & TIME_MASK) > now) {
          if (word >> TIME_BITS === mark) return false;
        } else if (free < 0) {
          free = i;
          old = word;
        }
      }
      if (free < 0) return false;
      if (Atomics.compareExchange(slots, free, old, wanted) === old) return this.isAlone(first, free, mark, now);
    }
    return false;
  }

  /** Another worker may have taken it at the same time, in a slot that has just become free: then it counts for neither. */
  private isAlone(first: number, own: number, mark: bigint, now: bigint): boolean {
    for (let i = first; i < first + PLACES; i++) {
      const word = Atomics.load(this.slots, i);
      if (i !== own && (word & TIME_MASK) > now && word >> TIME_BITS === mark) return false;
    }
    return true;
  }
}
