import { MAX_FREE_SLABS, SLAB_BYTES } from "../core/limits.ts";

/** Output buffers of one size, kept for reuse; one pool a worker. */
export class SlabPool {
  private readonly free: Buffer[] = [];

  /** A buffer of SLAB_BYTES with arbitrary content. */
  take(): Buffer {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES);
  }

  /** Takes a buffer back that nothing refers to any more. */
  give(slab: Buffer): void {
    if (slab.length === SLAB_BYTES && this.free.length < MAX_FREE_SLABS) this.free.push(slab);
  }
}
