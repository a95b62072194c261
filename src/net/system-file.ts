import { dlopen, FFIType, ptr } from "bun:ffi";

/**
 * Reads of a file that the kernel has in its memory, on the spot: preadv2(2) with RWF_NOWAIT. What is not there is not waited for, so that
 * no event loop stands still for a disk.
 */
export class ReadyReads {
  private readonly buffer: Buffer;
  private readonly read: ((fd: number, iov: number, count: number, offset: number, flags: number) => number) | null;
  private readonly base: number;
  private readonly limit: number;

  /** @param limit bytes of a read at most */
  constructor(limit: number) {
    this.limit = limit;
    // In memory that does not move: addresses of it are written into it, once.
    this.buffer = Buffer.allocUnsafeSlow(limit + SIZES * IOV_BYTES);
    this.read = load();
    this.base = this.read === null ? 0 : ptr(this.buffer);
    for (let i = 0; i < SIZES; i++) {
      const at = limit + i * IOV_BYTES;
      this.buffer.writeBigUInt64LE(BigInt(this.base), at);
      this.buffer.writeBigUInt64LE(BigInt(Math.min(limit, LEAST_BYTES * 4 ** i)), at + 8);
    }
  }

  /** @returns the bytes, which hold until the next call; null if they are not at hand, or there are not so many */
  at(fd: number, offset: number, length: number): Buffer | null {
    if (this.read === null || length > this.limit) return null;
    let size = 0;
    while (size < SIZES - 1 && LEAST_BYTES * 4 ** size < length) size++;
    const iov = this.base + this.limit + size * IOV_BYTES;
    return this.read(fd, iov, 1, offset, RWF_NOWAIT) < length ? null : this.buffer.subarray(0, length);
  }
}

function load(): ReadyReads["read"] {
  if (process.platform !== "linux") return null;
  const { i32, i64_fast, u64 } = FFIType;
  try {
    const { preadv2 } = dlopen("libc.so.6", {
      preadv2: { args: [i32, u64, i32, i64_fast, i32], returns: i64_fast },
    }).symbols;
    return (fd, iov, count, offset, flags) => Number(preadv2(fd, iov, count, offset, flags));
  } catch {
    return null;
  }
}

/** Sizes of reads: the least, and four times as much for each of the others. */
const LEAST_BYTES = 4096;
const SIZES = 4;
const IOV_BYTES = 16;
const RWF_NOWAIT = 8;
