import type { Fault } from "../../core/fault.ts";
import { TimerNode, type TimerOwner, type TimerWheel } from "../../core/timer-wheel.ts";
import {
  type Exchange,
  ExchangeState,
  type IdleExchangePorts,
  type ResponseSink,
  type ResponseSource,
} from "../../message/exchange.ts";
import { HeaderBlock } from "../../message/header-block.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { NowMs } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, Method } from "../../message/request-head.ts";

/** Milliseconds whose bytes may go out at once. */
const BURST_MS = 200;
/** Milliseconds between two pieces, at least. */
const PIECE_MS = 100;

/** What pacing asks of its worker. */
export interface PacingPorts {
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  readonly idle: IdleExchangePorts;
}

/** Bytes that wait for their time. */
interface Piece {
  readonly bytes: Uint8Array;
  from: number;
  readonly to: number;
}

/**
 * Sends the body of one response at no more than so many bytes a second: a token bucket, which fills only while the client takes
 * bytes. It stands nearest to the client, so that it counts the bytes sent, and is the client's source: the handler
 * waits while bytes wait here. docs/guards.md#bytes-a-second
 *
 *   Passing ──head of a response with a body──▶ Pacing ──last byte of an ended body, or the end of the exchange──▶ Over
 */
export class PacedSink extends PassingSink implements ResponseSource, TimerOwner {
  private readonly rate: number;
  private readonly ports: PacingPorts;
  private readonly burst: number;
  private readonly waitMs: number;
  /** Whose response is paced; null before and after. */
  private ex: Exchange | null = null;
  private uses = 0;
  private origin: ResponseSource;
  private pieces: Piece[] = [];
  /** Bytes that may go out, as of `countedMs`. */
  private tokens: number;
  private countedMs = 0;
  private isBlocked = false;
  private isGiving = false;
  private hasEnded = false;
  private timer: TimerNode | null = null;

  /** @param rate bytes a second, at least 1 */
  constructor(inner: ResponseSink, rate: number, ports: PacingPorts) {
    super(inner);
    this.rate = rate;
    this.ports = ports;
    this.burst = Math.max(1, (rate * BURST_MS) / 1000);
    this.waitMs = Math.max(PIECE_MS, 1000 / rate);
    this.tokens = this.burst;
    this.origin = ports.idle.source;
  }

  /** Bytes that wait are no copies. */
  override get returnsBytes(): boolean {
    return this.ex === null && super.returnsBytes;
  }

  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    const { body, hasLength, isRefusal } = response;
    if (isRefusal || !hasLength || body.length <= this.burst || ex.request.method === Method.Head)
      return this.inner.fixed(ex, response);
    ex.response.status = response.status;
    ex.response.headers.copyFrom(response.block);
    ex.response.framing = Framing.Length;
    ex.response.contentLength = body.length;
    this.head(ex);
    if (this.isOver(ex)) return;
    this.body(ex, body, 0, body.length);
    if (!this.isOver(ex)) this.end(ex);
  }

  override head(ex: Exchange): void {
    const { framing, withoutBody } = ex.response;
    if (!withoutBody && framing !== Framing.None && ex.request.method !== Method.Head) {
      this.ex = ex;
      this.uses = ex.uses;
      this.countedMs = this.ports.turn.nowMs;
      this.adopt(ex);
    }
    this.inner.head(ex);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.ex === null) return this.inner.body(ex, bytes, from, to);
    this.adopt(ex);
    const at = this.pieces.length === 0 ? this.give(ex, bytes, from, to) : from;
    if (this.isOver(ex)) return true;
    if (at < to) this.hold({ bytes, from: at, to });
    return this.pieces.length === 0 && !this.isBlocked;
  }

  override end(ex: Exchange): void {
    if (this.ex === null || this.pieces.length === 0) return this.finish(ex);
    this.adopt(ex);
    // The handler is done with the response.
    this.origin = this.ports.idle.source;
    this.hasEnded = true;
    const { trailers } = ex.response;
    if (trailers === null) return;
    const own = new HeaderBlock();
    own.copyFrom(trailers);
    ex.response.trailers = own;
  }

  override abort(ex: Exchange, fault: Fault): void {
    this.release();
    this.inner.abort(ex, fault);
  }

  onWritable(ex: Exchange): void {
    // The time for which the client took nothing gives it nothing.
    if (this.isBlocked) this.countedMs = this.ports.turn.nowMs;
    this.isBlocked = false;
    if (!this.isGiving) this.goOn(ex);
  }

  onCancelled(ex: Exchange): void {
    const { origin } = this;
    this.release();
    origin.onCancelled(ex);
  }

  onTimer(): void {
    const { ex } = this;
    if (ex === null) return;
    if (this.isOver(ex)) return this.release();
    this.adopt(ex);
    if (this.isBlocked) this.wait();
    else this.goOn(ex);
  }

  /** Becomes the client's source again. Another source meanwhile may have had the client's word that it takes bytes again. */
  private adopt(ex: Exchange): void {
    if (ex.source === this) return;
    this.origin = ex.source;
    ex.source = this;
    this.isBlocked = false;
  }

  /** Sends the bytes that wait, as far as they may go. */
  private goOn(ex: Exchange): void {
    const { pieces } = this;
    while (pieces.length > 0 && !this.isBlocked) {
      const piece = pieces[0]!;
      piece.from = this.give(ex, piece.bytes, piece.from, piece.to);
      if (this.isOver(ex)) return;
      if (piece.from < piece.to) break;
      pieces.shift();
    }
    if (pieces.length > 0) this.wait();
    else if (this.hasEnded) this.finish(ex);
    else if (!this.isBlocked) this.origin.onWritable(ex);
  }

  /** Sends as many bytes as may go now. @returns the first that may not */
  private give(ex: Exchange, bytes: Uint8Array, from: number, to: number): number {
    if (this.isBlocked) return from;
    const length = Math.min(to - from, this.allowed());
    if (length === 0) return from;
    this.tokens -= length;
    this.isBlocked = true;
    this.isGiving = true;
    const takesMore = this.inner.body(ex, bytes, from, from + length);
    this.isGiving = false;
    if (takesMore) this.isBlocked = false;
    return from + length;
  }

  private allowed(): number {
    const { nowMs } = this.ports.turn;
    this.tokens = Math.min(this.burst, this.tokens + (this.rate * (nowMs - this.countedMs)) / 1000);
    this.countedMs = nowMs;
    return Math.floor(this.tokens);
  }

  private hold(piece: Piece): void {
    this.pieces.push(piece);
    this.wait();
  }

  private wait(): void {
    this.timer ??= new TimerNode(this);
    if (this.timer.deadlineMs === 0) this.ports.wheel.arm(this.timer, this.ports.turn.nowMs + this.waitMs);
  }

  /** Whether the exchange has ended meanwhile, and may serve another request. */
  private isOver(ex: Exchange): boolean {
    return this.ex === null || ex.uses !== this.uses || ex.state === ExchangeState.Finished;
  }

  private finish(ex: Exchange): void {
    this.release();
    this.inner.end(ex);
  }

  /** Keeps nothing any more, and is no longer the client's source. */
  private release(): void {
    const { ex } = this;
    this.ex = null;
    if (ex !== null && ex.source === this) ex.source = this.origin;
    this.pieces = [];
    if (this.timer !== null) this.ports.wheel.remove(this.timer);
    this.timer = null;
  }
}
