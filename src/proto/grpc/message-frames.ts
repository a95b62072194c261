import { copyBytes } from "../../core/bytes.ts";

/** Bytes before each message: a flag and the length. gRPC over HTTP/2, "Length-Prefixed-Message". */
const PREFIX_BYTES = 5;

/** A message in its frame, not compressed. */
export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  frame[0] = 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

/** The fault in a stream of messages. */
export const enum FrameFault {
  None = 0,
  /** A message is compressed, though the stream has no coding for that, or the flag is none at all. */
  BadFlag,
  /** A message is longer than is taken. */
  TooLong,
}

/** Cuts a stream of bytes into messages. It holds one message at most. */
export class MessageReader {
  /** Whether the stream has a coding, so that messages may be compressed. */
  takesPacked = false;
  private readonly maxBytes: number;
  private readonly prefix: Buffer = Buffer.allocUnsafe(PREFIX_BYTES);
  private prefixLength = 0;
  /** The received part of a message that is longer than its first piece. */
  private message: Buffer | null = null;
  private filled = 0;

  /** @param maxBytes of one message */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Whether nothing of a further message has come. */
  get isBetweenMessages(): boolean {
    return this.prefixLength === 0;
  }

  /**
   * Takes bytes and hands on each message that they complete.
   * @param onMessage learns whether the message is compressed; @returns false to stop: what is left is forgotten
   */
  push(bytes: Uint8Array, onMessage: (message: Uint8Array, isPacked: boolean) => boolean): FrameFault {
    for (let at = 0; at < bytes.length; ) {
      if (this.prefixLength < PREFIX_BYTES) {
        const end = Math.min(bytes.length, at + PREFIX_BYTES - this.prefixLength);
        this.prefixLength = copyBytes(this.prefix, this.prefixLength, bytes, at, end);
        at = end;
        if (this.prefixLength < PREFIX_BYTES) break;
        if (this.prefix[0]! > (this.takesPacked ? 1 : 0)) return FrameFault.BadFlag;
        if (this.length > this.maxBytes) return FrameFault.TooLong;
      }
      // An empty message is complete with its prefix.
      const end = Math.min(bytes.length, at + this.length - this.filled);
      const whole = this.take(bytes, at, end);
      at = end;
      if (whole === null) break;
      this.prefixLength = 0;
      this.filled = 0;
      this.message = null;
      if (!onMessage(whole, this.prefix[0] === 1)) break;
    }
    return FrameFault.None;
  }

  private get length(): number {
    return this.prefix.readUInt32BE(1);
  }

  /** @returns the message when it is whole */
  private take(bytes: Uint8Array, from: number, to: number): Uint8Array | null {
    const { length } = this;
    if (this.filled === 0 && to - from === length) return bytes.subarray(from, to);
    // Room grows with the received data: a length that is only claimed costs nothing.
    this.message = grown(this.message, this.filled, this.filled + to - from, length);
    this.filled = copyBytes(this.message, this.filled, bytes, from, to);
    return this.filled === length ? this.message.subarray(0, length) : null;
  }
}

function grown(message: Buffer | null, filled: number, need: number, length: number): Buffer {
  if (message !== null && message.length >= need) return message;
  const larger = Buffer.allocUnsafe(Math.min(length, Math.max(need, MIN_ROOM, filled * 2)));
  if (message !== null) copyBytes(larger, 0, message, 0, filled);
  return larger;
}

const MIN_ROOM = 4096;
