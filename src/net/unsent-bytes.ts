import { DEFAULT_UNSENT_BYTES } from "../core/limits.ts";

/** Somebody who keeps bytes for a peer that does not take them. */
export interface UnsentHolder {
  /** Gives up on the peer: the connection is cut, and what it keeps is let go. */
  abandon(): void;
}

/**
 * The memory that waits in one worker for peers that do not read, clients and origins. One connection keeps at most one
 * received chunk, but thousands together would exhaust the memory; beyond the limit those are cut that have taken nothing
 * for longest.
 */
export class UnsentBytes {
  /** Bytes that all holders together may keep at the end of a turn. */
  limit: number = DEFAULT_UNSENT_BYTES;
  /** Hears of a connection that is cut. */
  onAbandoned: () => void = () => {};
  private sum = 0;
  /** In the order of their last progress. */
  private readonly holders: Set<UnsentHolder> = new Set();

  /** Bytes kept now. */
  get total(): number {
    return this.sum;
  }

  /** A holder keeps more, or less. */
  add(holder: UnsentHolder, bytes: number): void {
    this.sum += bytes;
    this.holders.add(holder);
  }

  /** The peer has taken something. */
  progressed(holder: UnsentHolder): void {
    if (this.holders.delete(holder)) this.holders.add(holder);
  }

  /** The holder keeps nothing any more. @param bytes what it kept until now */
  remove(holder: UnsentHolder, bytes: number): void {
    this.sum -= bytes;
    this.holders.delete(holder);
  }

  /** Cuts connections until the rest is within the limit. */
  enforce(): void {
    for (const holder of this.holders) {
      if (this.sum <= this.limit) return;
      holder.abandon();
      this.onAbandoned();
    }
  }
}
