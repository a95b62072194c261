import { lateZlib } from "../proto/semantics/late-zlib.ts";

/** Who gets the messages of one call. */
export interface UnpackListener {
  /** @returns false if no more is wanted */
  onUnpacked(message: Uint8Array): boolean;
  /** A message is no gzip, or larger than is taken. */
  onUnpackFault(): void;
  /** What is unpacked beside the event loop is there: the listener calls `resume`, which hands it on. */
  onUnpackedAll(resume: () => void): void;
}

/** Bytes up to which a message is unpacked where it is: it takes less than asking another thread. */
const INLINE_BYTES = 64 * 1024;
/** Bytes that are unpacked so in a row; what comes then goes to another thread. */
const INLINE_BUDGET_BYTES = 256 * 1024;
/** The end of a gzip member: CRC and length, four bytes each. RFC 1952 §2.3.1. */
const TRAILER_BYTES = 8;

/**
 * Inflates the messages of one call and hands them on in their order: small ones at once, large ones when another thread has
 * them. While it is busy, the caller stops the stream, so that what waits is no more than came in one piece.
 */
export class MessageUnpacker {
  private readonly maxBytes: number;
  private readonly listener: UnpackListener;
  private readonly waiting: { readonly message: Uint8Array; readonly isPacked: boolean }[] = [];
  private budget = INLINE_BUDGET_BYTES;
  /** Whether another thread is at work, or messages wait for it. */
  isBusy = false;

  /** @param maxBytes of one message, unpacked */
  constructor(maxBytes: number, listener: UnpackListener) {
    this.maxBytes = maxBytes;
    this.listener = listener;
  }

  /** Takes the next message of the call. */
  add(message: Uint8Array, isPacked: boolean): void {
    this.waiting.push({ message, isPacked });
    if (!this.isBusy) this.work();
  }

  private work(): void {
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      const { message, isPacked } = next;
      const whole = !isPacked || message.length === 0 ? message : this.unpackedInline(message);
      if (whole === null) return this.unpackBeside(message);
      if (!this.listener.onUnpacked(whole)) return this.clear();
    }
  }

  /** @returns null if the message is large, or says that it is */
  private unpackedInline(message: Uint8Array): Uint8Array | null {
    if (message.length > INLINE_BYTES || message.length < TRAILER_BYTES || this.budget <= 0) return null;
    const { buffer, byteOffset, length } = message;
    if (new DataView(buffer, byteOffset).getUint32(length - 4, true) > INLINE_BYTES) return null;
    try {
      const whole = lateZlib().gunzipSync(message, { maxOutputLength: INLINE_BYTES });
      this.budget -= whole.length;
      return whole;
    } catch {
      // What is broken, and what has lied about its length, is examined again beside.
      return null;
    }
  }

  private unpackBeside(message: Uint8Array): void {
    this.isBusy = true;
    lateZlib().gunzip(message, { maxOutputLength: this.maxBytes }, (error, whole) => {
      this.isBusy = false;
      this.budget = INLINE_BUDGET_BYTES;
      this.listener.onUnpackedAll(() => {
        if (error !== null) this.listener.onUnpackFault();
        else if (this.listener.onUnpacked(whole)) this.work();
        else this.clear();
      });
    });
  }

  private clear(): void {
    this.waiting.length = 0;
  }
}
