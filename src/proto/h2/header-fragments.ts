import { copyBytes } from "../../core/bytes.ts";

/** A header block that comes in several frames, gathered. RFC 9113 §4.3, §6.10. */
export class HeaderFragments {
  isOpen = false;
  streamId = 0;
  isEnd = false;
  length = 0;
  continuations = 0;
  private readonly maxBytes: number;
  private bytes: Buffer = NO_BYTES;

  /** @param maxBytes of one block; beyond them it is given up, and the session with it */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Takes the first part. @returns false when it is too large */
  begin(streamId: number, isEnd: boolean, bytes: Uint8Array, from: number, to: number): boolean {
    this.isOpen = true;
    this.streamId = streamId;
    this.isEnd = isEnd;
    this.length = 0;
    this.continuations = -1;
    return this.append(bytes, from, to);
  }

  /** Takes a further part. @returns false when the block becomes too large */
  append(bytes: Uint8Array, from: number, to: number): boolean {
    const need = this.length + to - from;
    if (need > this.maxBytes) return false;
    if (need > this.bytes.length) {
      const bigger = Buffer.allocUnsafeSlow(Math.min(this.maxBytes, need * 2));
      copyBytes(bigger, 0, this.bytes, 0, this.length);
      this.bytes = bigger;
    }
    this.length = copyBytes(this.bytes, this.length, bytes, from, to);
    this.continuations++;
    return true;
  }

  /** The block is complete. @returns its bytes, up to `length` */
  close(): Buffer {
    const { bytes } = this;
    this.isOpen = false;
    this.bytes = NO_BYTES;
    return bytes;
  }
}

const NO_BYTES: Buffer = Buffer.alloc(0);
