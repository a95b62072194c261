import { EMPTY_BYTES } from "../core/bytes.ts";
import { H3_WRITE_BYTES } from "../core/limits.ts";
import { type QuicStream, writeNow } from "../net/quic.ts";
import type { UnsentBytes, UnsentHolder } from "../net/socket-buffers.ts";

/** The part of a reply that a stream does not take yet. While it waits, the memory that it keeps is reported. */
export class H3Backlog {
  private readonly unsent: UnsentBytes;
  private readonly holder: UnsentHolder;
  private bytes: Uint8Array = EMPTY_BYTES;
  private isReported = false;
  private kept = 0;

  constructor(unsent: UnsentBytes, holder: UnsentHolder) {
    this.unsent = unsent;
    this.holder = holder;
  }

  get isEmpty(): boolean {
    return this.bytes.length === 0;
  }

  /** Puts a piece behind what waits: a source can only be asked to hold, and goes on for as much as has come in one event. */
  add(piece: Uint8Array): void {
    this.bytes = this.isEmpty ? piece : Buffer.concat([this.bytes, piece]);
    if (this.isReported) this.report();
  }

  /** Writes what the stream takes. @returns whether that was all @throws when the stream is gone */
  writeTo(stream: QuicStream): boolean {
    while (!this.isEmpty) {
      if (!writeNow(stream, this.bytes.subarray(0, H3_WRITE_BYTES))) return false;
      this.bytes = this.bytes.subarray(H3_WRITE_BYTES);
    }
    return true;
  }

  /** It waits, still or again. */
  wait(): void {
    if (this.isReported) this.unsent.progressed(this.holder);
    this.isReported = true;
    this.report();
  }

  /** Nothing waits any more, or nobody wants it. */
  clear(): void {
    this.bytes = EMPTY_BYTES;
    if (this.isReported) this.unsent.remove(this.holder, this.kept);
    this.isReported = false;
    this.kept = 0;
  }

  private report(): void {
    const { buffer } = this.bytes;
    // What stands in shared memory is there anyway.
    const bytes = buffer instanceof SharedArrayBuffer ? 0 : buffer.byteLength;
    this.unsent.add(this.holder, bytes - this.kept);
    this.kept = bytes;
  }
}
