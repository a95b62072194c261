import { EMPTY_BYTES } from "../core/ascii.ts";
import { copyBytes } from "../core/bytes.ts";
import { RETURNED_CHUNK_BYTES } from "../core/limits.ts";

const MIN_CAPACITY = 1024;
/** How many times larger than what is left of it a chunk must be, so that a copy is worth its while. */
const COMPACT_SHARE = 2;

/**
 * Received bytes that have not been consumed. Usually one chunk as the socket gave it, used in place; only where a
 * message was cut does it become a buffer of its own that grows. Consumed bytes are never written over, so that
 * whoever keeps a reference to them may do so; only `giveBack` takes them away.
 */
export class InputBuffer {
  bytes: Uint8Array = EMPTY_BYTES;
  from = 0;
  to = 0;
  private owned: Buffer | null = null;
  /** Whether somebody may keep bytes that were consumed since the last `append`. */
  private isLent = false;

  get length(): number {
    return this.to - this.from;
  }

  /** The memory that unconsumed bytes keep. */
  get keptBytes(): number {
    return this.from === this.to ? 0 : this.bytes.buffer.byteLength;
  }

  /** The bytes will wait: what is left of a much larger chunk moves out of it, so that the chunk can go. */
  compact(): void {
    if (this.from === this.to || this.keptBytes < COMPACT_SHARE * this.length) return;
    const smaller = Buffer.allocUnsafeSlow(this.length);
    this.to = copyBytes(smaller, 0, this.bytes, this.from, this.to);
    this.from = 0;
    this.bytes = smaller;
    this.owned = null;
  }

  /**
   * Adds a chunk behind what is there.
   * @returns whether offsets into `bytes` that were taken earlier are void (the content moved)
   */
  append(chunk: Uint8Array): boolean {
    this.isLent = false;
    if (this.from === this.to) {
      this.bytes = chunk;
      this.from = 0;
      this.to = chunk.length;
      this.owned = null;
      return true;
    }
    if (this.owned !== null && this.to + chunk.length <= this.owned.length) {
      this.to = copyBytes(this.owned, this.to, chunk, 0, chunk.length);
      return false;
    }
    const moved = this.owned === null || this.from > 0;
    const capacity = Math.max(MIN_CAPACITY, (this.length + chunk.length) * 2);
    const bigger = Buffer.allocUnsafeSlow(capacity);
    const end = copyBytes(bigger, 0, this.bytes, this.from, this.to);
    this.to = copyBytes(bigger, end, chunk, 0, chunk.length);
    this.from = 0;
    this.bytes = bigger;
    this.owned = bigger;
    return moved;
  }

  /** Lets the bytes go when all are consumed. */
  release(): void {
    if (this.from < this.to) return;
    this.clear();
  }

  /** Whoever takes bytes now may keep them. */
  lend(): void {
    this.isLent = true;
  }

  /**
   * Gives the memory of a chunk back at once, where nobody needs it any more. Left to the garbage collector, a stream of large
   * chunks walks through tens of megabytes that no cache of the processor holds, which costs as much again as sending them.
   * @param chunk what was appended last, as a socket gave it
   * @param head what is read where it stands, in this chunk or in another
   */
  giveBack(chunk: Uint8Array, head: { readonly bytes: Uint8Array }): void {
    // Small ones are not worth the call; their `buffer` is not even asked for, which would move them out of the heap.
    if (chunk.length < RETURNED_CHUNK_BYTES) return;
    if (this.isLent || this.bytes === chunk || head.bytes === chunk) return;
    const { buffer } = chunk;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.length) buffer.transfer(0);
  }

  /** Drops everything. */
  clear(): void {
    this.bytes = EMPTY_BYTES;
    this.from = 0;
    this.to = 0;
    this.owned = null;
  }
}
