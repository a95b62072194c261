import { KeptBytes } from "../../core/kept-bytes.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { Coding } from "../../proto/semantics/accept-encoding.ts";
import type { TurnOwner, WaitingTurn } from "./codec-turns.ts";
import { openStream, type StreamCodec } from "./codecs.ts";
import type { CompressionPorts } from "./compression-services.ts";

/** Bytes of a stream that are compressed at a time, and all that may wait for it before its source is stopped. */
const COMPRESSION_SLICE_BYTES = 65_536;
const MAX_COMPRESSION_BACKLOG_BYTES = 131_072;

/** Who takes what a stream gives. */
interface StreamTaker {
  /** @returns whether the client takes more */
  give(ex: Exchange, packed: Uint8Array): boolean;
  wantMore(ex: Exchange): void;
  complete(ex: Exchange, pieces: readonly Uint8Array[], bytesIn: number, bytesOut: number): void;
  fail(error: unknown): void;
}

/**
 * A body that is compressed as it comes, one slice at a time, on the threads of the runtime. What comes meanwhile waits and
 * is one slice afterwards; each slice is flushed, so that nothing waits for what the origin sends later.
 */
export class CompressedStream implements TurnOwner {
  private readonly taker: StreamTaker;
  private readonly services: CompressionPorts;
  private readonly codec: StreamCodec;
  private ex: Exchange | null = null;
  /** What has not been given to the codec. */
  private readonly backlog: KeptBytes = new KeptBytes();
  private backlogBytes = 0;
  /** What the codec gave and the taker has not got. */
  private pieces: Buffer[] = [];
  private readonly holdsPieces: boolean;
  private isReleased = false;
  /** Whether the codec has something to do, or will have when its turn comes. */
  private busy = false;
  private turn: WaitingTurn | null = null;
  private hasTurn = false;
  private blocked = false;
  /** Whether the source was told to stop. */
  private stopped = false;
  private ended = false;
  private isOver = false;
  private bytesIn = 0;
  private bytesOut = 0;

  /** @param flushes whether each slice is; else all pieces wait until `giveHeld` or the end */
  constructor(taker: StreamTaker, services: CompressionPorts, coding: Coding, level: number, flushes: boolean) {
    this.taker = taker;
    this.services = services;
    this.holdsPieces = !flushes;
    this.codec = openStream(coding, level, flushes);
    this.codec.on("data", (piece: Buffer) => {
      this.pieces.push(piece);
      this.bytesOut += piece.length;
    });
    this.codec.on("end", () => this.inTurn((ex) => this.onEnd(ex)));
    this.codec.on("error", (error) => {
      if (!this.isOver) this.services.inTurn(() => this.taker.fail(error));
    });
  }

  /** @returns whether more may come */
  write(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    this.ex = ex;
    if (to > from) {
      this.backlog.keep(bytes, from, to);
      this.backlogBytes += to - from;
      this.bytesIn += to - from;
    }
    this.next();
    if (this.backlogBytes < MAX_COMPRESSION_BACKLOG_BYTES && !this.blocked) return true;
    this.stopped = true;
    return false;
  }

  /** No more comes. */
  finish(ex: Exchange): void {
    this.ex = ex;
    this.ended = true;
    this.next();
  }

  /** The client takes bytes again. */
  onWritable(ex: Exchange): void {
    this.ex = ex;
    this.blocked = false;
    this.goOn(ex);
  }

  /** The head has left: what was held for it follows. */
  giveHeld(ex: Exchange): void {
    this.ex = ex;
    this.isReleased = true;
    this.give(ex);
  }

  /** Frees the codec; nothing is called any more. */
  close(): void {
    this.isOver = true;
    this.ex = null;
    if (this.turn !== null) this.services.codecs.turns.drop(this.turn);
    this.turn = null;
    this.leave();
    this.backlog.drop();
    this.pieces = [];
    this.codec.destroy();
  }

  private next(): void {
    const { ex } = this;
    if (this.busy || this.blocked || this.isOver || ex === null) return;
    if (this.backlogBytes === 0 && !this.ended) return;
    this.busy = true;
    this.turn = this.services.codecs.turns.take(ex, this);
    if (this.turn === null) this.work();
  }

  onTurn(): void {
    this.turn = null;
    this.work();
  }

  private work(): void {
    this.hasTurn = true;
    if (this.backlogBytes > 0) this.codec.write(this.slice(), () => this.inTurn((ex) => this.onSliceDone(ex)));
    else this.codec.end();
  }

  /** Takes what is to be compressed next. */
  private slice(): Buffer {
    const all = this.backlog.takeWhole();
    const slice = all.subarray(0, COMPRESSION_SLICE_BYTES);
    if (slice.length < all.length) this.backlog.keepOwn(all.subarray(slice.length));
    this.backlogBytes -= slice.length;
    return slice;
  }

  private onSliceDone(ex: Exchange): void {
    this.busy = false;
    this.leave();
    this.give(ex);
    if (!this.isOver) this.goOn(ex);
  }

  /** The next slice, and then more of the source. */
  private goOn(ex: Exchange): void {
    this.next();
    if (this.blocked || !this.stopped || this.ended || this.backlogBytes >= COMPRESSION_SLICE_BYTES) return;
    this.stopped = false;
    this.taker.wantMore(ex);
  }

  private give(ex: Exchange): void {
    if (this.holdsPieces && !this.isReleased) return;
    const { pieces } = this;
    this.pieces = [];
    for (const piece of pieces) if (!this.isOver && !this.taker.give(ex, piece)) this.blocked = true;
  }

  private leave(): void {
    if (!this.hasTurn) return;
    this.hasTurn = false;
    this.services.codecs.turns.leave();
  }

  private onEnd(ex: Exchange): void {
    this.leave();
    this.give(ex);
    if (!this.isOver) this.taker.complete(ex, this.pieces, this.bytesIn, this.bytesOut);
  }

  /** The codec calls from outside of any event of a socket. */
  private inTurn(work: (ex: Exchange) => void): void {
    this.services.inTurn(() => {
      const { ex } = this;
      if (this.isOver || ex === null) return;
      try {
        work(ex);
      } catch (error) {
        this.taker.fail(error);
      }
    });
  }
}
