import { closeSync } from "node:fs";
import { Fault } from "../../core/fault.ts";
import type { Exchange, ReplySource } from "../../message/exchange.ts";
import { FileIdentity } from "./file-identity.ts";
import { readFully } from "./file-variant.ts";

/** Calls back once the event loop has served others. */
export type Defer = (resume: () => void) => void;

/** Bytes read and handed on at a time. */
const PIECE_BYTES = 131072;
/** Pieces that a fast client gets before others have their turn. */
const PIECES_PER_TURN = 4;

/** One that is free, for pieces of this thread's streams: memory that is used again and again stays in the processor's caches. */
let free: Buffer | null = null;

function takeBuffer(length: number): Buffer {
  // A consumer that keeps a small piece must not retain a large buffer.
  if (length <= PIECE_BYTES / 2) return Buffer.allocUnsafeSlow(length);
  const buffer = free ?? Buffer.allocUnsafeSlow(PIECE_BYTES);
  free = null;
  return length === PIECE_BYTES ? buffer : buffer.subarray(0, length);
}

function giveBuffer({ buffer }: Buffer): void {
  if (buffer.byteLength === PIECE_BYTES) free = Buffer.from(buffer);
}

/**
 * The body of a response out of an open file, one piece at a time. It owns the descriptor and closes it at the end, when
 * the client is gone, and when the file fails or changes: a response whose length was announced is cut then, never padded.
 */
export class FileStream implements ReplySource {
  private fd: number;
  private readonly identity: FileIdentity;
  private readonly defer: Defer;
  private at: number;
  private readonly to: number;
  private readonly isWhole: boolean;
  /** Whether the response is complete or cut: nothing may be written any more. */
  private over = false;
  private deferred = false;

  /**
   * @param fd the open file; the stream closes it
   * @param identity the file's identity, which the response's head was made from
   * @param from first byte to send
   * @param to after the last byte to send; more than `from`
   */
  constructor(fd: number, identity: FileIdentity, from: number, to: number, defer: Defer) {
    this.fd = fd;
    this.identity = identity;
    this.at = from;
    this.to = to;
    this.isWhole = from === 0 && to === identity.sizeBytes;
    this.defer = defer;
  }

  get contentKey(): string | undefined {
    return this.isWhole ? this.identity.key : undefined;
  }

  /** Sends what the client takes now; the rest follows as it takes more. The response's head is out. */
  onWritable(ex: Exchange): void {
    if (this.deferred) return;
    for (let n = 0; n < PIECES_PER_TURN; n++) {
      if (this.over) return;
      const piece = this.read();
      if (piece === null) {
        this.close();
        ex.sink.abort(ex, Fault.InternalError);
        return;
      }
      const { sink } = ex;
      const takesMore = sink.body(ex, piece, 0, piece.length);
      // A sink that may keep the bytes until the client takes them keeps the buffer.
      if (takesMore && sink.returnsBytes === true) giveBuffer(piece);
      if (this.over) return;
      if (this.at === this.to) {
        this.close();
        ex.sink.end(ex);
        return;
      }
      if (!takesMore) return;
    }
    this.giveWay(ex);
  }

  onCancelled(_ex: Exchange): void {
    this.close();
  }

  /** The next piece, or null where the file cannot give it any more. */
  private read(): Buffer | null {
    try {
      const piece = takeBuffer(Math.min(PIECE_BYTES, this.to - this.at));
      if (readFully(this.fd, piece, this.at) !== piece.length) return null;
      this.at += piece.length;
      // Before the last byte leaves, the whole must still be the file that the entity tag names.
      if (this.at === this.to && !FileIdentity.ofOpen(this.fd).hasContentOf(this.identity)) return null;
      return piece;
    } catch {
      return null;
    }
  }

  /** Lets other connections have their turn. The exchange may be over, and used again, when ours comes. */
  private giveWay(ex: Exchange): void {
    this.deferred = true;
    this.defer(() => {
      this.deferred = false;
      if (!this.over) this.onWritable(ex);
    });
  }

  private close(): void {
    this.over = true;
    if (this.fd < 0) return;
    closeSync(this.fd);
    this.fd = -1;
  }
}
