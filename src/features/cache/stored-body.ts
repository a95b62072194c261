import type { Exchange, IdleExchangePorts, ResponseSink, ResponseSource } from "../../message/exchange.ts";
import { BlockCursor } from "./store/cache-blocks.ts";
import { Slot } from "./store/cache-memory.ts";
import type { CacheStore } from "./store/cache-store.ts";

/** Notified that a body has been sent to its end. */
export interface BodyEnd {
  onBodySent(ex: Exchange): void;
}

/**
 * Sends the body of an entry, or of one that is still being fetched, out of the shared memory: runs of blocks go to the
 * client as they stand there. The caller that begins it holds the entry until `onBodySent`.
 */
export class StoredBody implements ResponseSource {
  private readonly store: CacheStore;
  private readonly idle: IdleExchangePorts;
  private readonly cursor: BlockCursor;
  private sink: ResponseSink;
  private end: BodyEnd | null = null;
  /** What is left: of that which can be sent now, and of all. */
  private available = 0;
  private left = 0;
  private blocked = false;
  private sending = false;
  /** Whether it may end: no other part works on the exchange any more. */
  private mayEnd = false;

  constructor(store: CacheStore, idle: IdleExchangePorts) {
    this.store = store;
    this.idle = idle;
    this.cursor = new BlockCursor(store.memory);
    this.sink = idle.sink;
  }

  /**
   * Makes ready to send bytes of an entry's body.
   * @param from first byte, counted from the beginning of the body
   * @param length bytes in all; Infinity where that is not known before `complete`
   * @param available of them, those that are there already
   */
  begin(sink: ResponseSink, slot: number, from: number, length: number, available: number, end: BodyEnd): void {
    const { words } = this.store.memory;
    const at = this.store.memory.at(slot);
    this.sink = sink;
    this.end = end;
    this.left = length;
    this.available = available;
    this.blocked = false;
    this.mayEnd = false;
    if (length > 0) {
      this.cursor.seek(words[at + Slot.FirstBlock]!, this.store.keyBytesOf(slot) + words[at + Slot.HeadBytes]! + from);
    }
  }

  /** More of the body is there. */
  grow(ex: Exchange, bytes: number): void {
    this.available += bytes;
    this.send(ex);
  }

  /** What is there now is all of the body, and the response may end with it. */
  complete(ex: Exchange): void {
    this.left = this.available;
    this.finish(ex);
  }

  /** The response may end with the body. */
  finish(ex: Exchange): void {
    this.mayEnd = true;
    this.send(ex);
  }

  /** Nothing is to be sent any more. */
  stop(): void {
    this.end = null;
    this.available = 0;
    this.sink = this.idle.sink;
  }

  onWritable(ex: Exchange): void {
    this.blocked = false;
    this.send(ex);
  }

  onCancelled(): void {
    this.stop();
  }

  /** Sends what can be sent, and ends when that is all. A sink may call back at once, hence the flag. */
  private send(ex: Exchange): void {
    if (this.sending) return;
    this.sending = true;
    while (this.available > 0 && !this.blocked) {
      const length = this.cursor.run(this.available);
      this.available -= length;
      this.left -= length;
      if (!this.give(ex, this.cursor.from, this.cursor.to)) this.blocked = true;
    }
    this.sending = false;
    const { end } = this;
    // The client's bytes are in the kernel's hands, or copied: nothing refers to the entry any more.
    if (end === null || this.left > 0 || this.blocked || !this.mayEnd) return;
    this.stop();
    end.onBodySent(ex);
  }

  private give(ex: Exchange, from: number, to: number): boolean {
    const { data } = this.store.memory;
    if (this.sink.returnsBytes === true) return this.sink.body(ex, data, from, to);
    const copy = Buffer.from(data.subarray(from, to));
    return this.sink.body(ex, copy, 0, copy.length);
  }
}
