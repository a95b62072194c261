import { SlabPool } from "../../../src/net/socket-buffers.ts";

/** A pool that knows which of its buffers are out. */
export class CountedSlabs extends SlabPool {
  /** Buffers that were taken and have not come back. */
  readonly out: Set<Buffer> = new Set();
  /** Buffers that came back although they were not out. */
  strangers = 0;

  override take(): Buffer {
    const slab = super.take();
    this.out.add(slab);
    return slab;
  }

  override give(slab: Buffer): void {
    // Large ones are made by the writer and never come from here.
    if (slab.length === SLAB_LENGTH && !this.out.delete(slab)) this.strangers++;
    super.give(slab);
  }
}

const SLAB_LENGTH = 16384;
