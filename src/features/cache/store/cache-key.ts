import { copyBytes, LOWER } from "../../../core/bytes.ts";

/** A key that is complete. */
export interface KeyBytes {
  readonly bytes: Buffer;
  /** Words of both halves, and bytes of each. */
  readonly wordCount: number;
  readonly uriBytes: number;
  readonly variantBytes: number;
  readonly uriHash: number;
  readonly variantHash: number;
}

/**
 * The key of a request, being put together: first what names the resource (authority and target), then what tells its
 * answers apart (method and Accept-Encoding). Between two parts stands a NUL, which occurs in none of them, so that no two
 * different requests have one key, whatever colons a client writes. Both halves are hashed by themselves: all responses of
 * one resource stand in one bucket, and go together when it is invalidated.
 */
export class CacheKey implements KeyBytes {
  /** The bytes of both halves, each filled up with NULs to whole words. */
  bytes: Buffer = Buffer.alloc(FIRST_BYTES);
  words: Int32Array = new Int32Array(this.bytes.buffer, this.bytes.byteOffset, FIRST_BYTES / 4);
  /** Bytes of the halves. */
  uriBytes = 0;
  variantBytes = 0;
  uriHash = 0;
  variantHash = 0;
  private readonly seed: number;
  private end = 0;

  /** @param seed of the cache: see CacheMemory */
  constructor(seed: number) {
    this.seed = seed;
  }

  /** Words of the first half; the second begins after them. */
  get uriWords(): number {
    return (this.uriBytes + 3) >>> 2;
  }

  /** Words of both halves. */
  get wordCount(): number {
    return this.uriWords + ((this.variantBytes + 3) >>> 2);
  }

  /** Begins a key; room is made for this many bytes. */
  begin(length: number): void {
    if (length + SLACK_BYTES > this.bytes.length) this.grow(length + SLACK_BYTES);
    this.end = 0;
  }

  /** Adds bytes with their letters in lower case. */
  addLower(bytes: Uint8Array, from: number, to: number): void {
    const out = this.bytes;
    let { end } = this;
    for (let i = from; i < to; i++) out[end++] = LOWER[bytes[i]!]!;
    this.end = end;
  }

  /** Adds bytes as they are. */
  add(bytes: Uint8Array, from: number, to: number): void {
    this.end = copyBytes(this.bytes, this.end, bytes, from, to);
  }

  /** Adds one byte: the end of a part, or a method. */
  addByte(byte: number): void {
    this.bytes[this.end++] = byte;
  }

  /** The first half is complete: the second follows. */
  endUri(): void {
    this.uriBytes = this.end;
    this.pad();
    this.uriHash = hashWords(this.words, 0, this.end >>> 2, this.seed);
  }

  /** The key is complete. */
  endVariant(): void {
    const from = this.uriWords << 2;
    this.variantBytes = this.end - from;
    this.pad();
    this.variantHash = hashWords(this.words, from >>> 2, this.end >>> 2, this.seed);
  }

  /** The same key, to be kept. */
  copy(): KeyBytes {
    const { uriBytes, variantBytes, uriHash, variantHash, wordCount } = this;
    const bytes = Buffer.from(this.bytes.subarray(0, wordCount * 4));
    return { bytes, wordCount, uriBytes, variantBytes, uriHash, variantHash };
  }

  private pad(): void {
    while ((this.end & 3) !== 0) this.bytes[this.end++] = 0;
  }

  private grow(length: number): void {
    const size = (length + 3) & ~3;
    this.bytes = Buffer.from(new ArrayBuffer(size * 2));
    this.words = new Int32Array(this.bytes.buffer, 0, size >>> 1);
  }
}

function hashWords(words: Int32Array, from: number, to: number, seed: number): number {
  let hash = seed;
  for (let i = from; i < to; i++) {
    hash = Math.imul(hash ^ words[i]!, 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (to - from), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

const FIRST_BYTES = 4096;
/** Separators, the method, and filling up. */
const SLACK_BYTES = 16;
