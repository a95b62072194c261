import { Fault } from "../../core/fault.ts";
import type { Exchange, ResponseSource } from "../../message/exchange.ts";
import { FileIdentity } from "./file-identity.ts";
import { readFully } from "./file-variant.ts";
import type { OpenFile } from "./open-file.ts";

/** Calls back once the event loop has served others. */
export type Defer = (resume: () => void) => void;

/** Bytes read and handed on at a time. */
const PIECE_BYTES = 131072;
/** Bytes that a fast client gets before others have their turn. */
const TURN_BYTES = 4 * PIECE_BYTES;
/** Bytes that are read where the kernel took no more of the file: what it refuses of them has the socket report when it takes more. */
const PROBE_BYTES = 16384;

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
 * The body of a response out of an open file. The kernel sends it where the sink lets it; else it is read, one piece at a time. The
 * stream lets go of the file at the end, when the client is gone, and when the file fails or changes: a response whose length was
 * announced is cut then, never padded.
 */
export class FileStream implements ResponseSource {
  private readonly file: OpenFile;
  private readonly defer: Defer;
  private at: number;
  private readonly to: number;
  private readonly isWhole: boolean;
  /** Whether the file's bytes need not be read here. */
  private isDirect = true;
  /** Whether the file is still as its identity says, since it was examined in this turn. */
  private isFresh = true;
  /** Whether the response is complete or cut: nothing may be written any more. */
  private over = false;
  private deferred = false;

  /**
   * @param file is held by the caller, and still as its identity says; the stream releases it
   * @param from first byte to send
   * @param to after the last byte to send; more than `from`
   */
  constructor(file: OpenFile, from: number, to: number, defer: Defer) {
    this.file = file;
    this.at = from;
    this.to = to;
    this.isWhole = from === 0 && to === file.identity.sizeBytes;
    this.defer = defer;
  }

  get contentKey(): string | undefined {
    return this.isWhole ? this.file.identity.key : undefined;
  }

  /** Sends what the client takes now; the rest follows as it takes more. The response's head is out. */
  onWritable(ex: Exchange): void {
    if (this.deferred) return;
    const turnEnd = this.at + TURN_BYTES;
    while (this.at < turnEnd) {
      if (this.over || !(this.isDirect ? this.sendFile(ex, turnEnd) : this.sendPiece(ex, PIECE_BYTES))) return;
    }
    this.isFresh = false;
    this.giveWay(ex);
  }

  onCancelled(_ex: Exchange): void {
    this.close();
  }

  /** Has the kernel send what it takes. @returns whether more may be sent now */
  private sendFile(ex: Exchange, turnEnd: number): boolean {
    const to = Math.min(turnEnd, this.to);
    // Before the last byte leaves, the whole must still be the file that the entity tag names.
    if (to === this.to && !this.isFresh && !this.isUnchanged()) return this.fail(ex);
    this.isFresh = false;
    const sent = ex.sink.file?.(ex, this.file.fd, this.at, to) ?? -1;
    if (sent < 0) {
      this.isDirect = false;
      return true;
    }
    this.at += sent;
    if (this.at === this.to) return this.finish(ex);
    if (this.at === to) return true;
    const takesMore = this.sendPiece(ex, PROBE_BYTES);
    // Not the socket was in the way: a file system may not know the call.
    if (takesMore && sent === 0) this.isDirect = false;
    return takesMore;
  }

  /** Reads a piece and hands it on. @returns whether more may be sent now */
  private sendPiece(ex: Exchange, most: number): boolean {
    const piece = this.read(most);
    if (piece === null) return this.fail(ex);
    const { sink } = ex;
    const takesMore = sink.body(ex, piece, 0, piece.length);
    // A sink that may keep the bytes until the client takes them keeps the buffer.
    if (takesMore && sink.returnsBytes === true) giveBuffer(piece);
    if (this.over) return false;
    return this.at === this.to ? this.finish(ex) : takesMore;
  }

  /** The next piece, or null if the file cannot give it any more. */
  private read(most: number): Buffer | null {
    try {
      const piece = takeBuffer(Math.min(most, this.to - this.at));
      if (readFully(this.file.fd, piece, this.at) !== piece.length) return null;
      this.at += piece.length;
      return this.at === this.to && !this.isUnchanged() ? null : piece;
    } catch {
      return null;
    }
  }

  private isUnchanged(): boolean {
    try {
      return FileIdentity.ofOpen(this.file.fd).hasContentOf(this.file.identity);
    } catch {
      return false;
    }
  }

  private finish(ex: Exchange): false {
    this.close();
    ex.sink.end(ex);
    return false;
  }

  private fail(ex: Exchange): false {
    this.close();
    ex.sink.abort(ex, Fault.InternalError);
    return false;
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
    if (this.over) return;
    this.over = true;
    this.file.release();
  }
}
