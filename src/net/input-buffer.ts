import { EMPTY_BYTES } from "../core/ascii.ts";
import { copyBytes } from "../core/bytes.ts";

const MIN_CAPACITY = 1024;
/** How many times larger than what is left of it a chunk must be, so that a copy is worth its while. */
const COMPACT_SHARE = 2;

/**
 * Received bytes that have not been consumed. Usually one chunk as the socket gave it, used in place; only where a
 * message was cut does it become a buffer of its own that grows. Consumed bytes are never written over, so that
 * whoever keeps a reference to them may do so.
 */
export class InputBuffer {
  bytes: Uint8Array = EMPTY_BYTES;
  from = 0;
  to = 0;
  private owned: Buffer | null = null;

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

  /** Drops everything. */
  clear(): void {
    this.bytes = EMPTY_BYTES;
    this.from = 0;
    this.to = 0;
    this.owned = null;
  }
}
