import type { QuicStream } from "node:quic";
import { EMPTY_BYTES } from "../core/bytes.ts";
import { Fault } from "../core/fault.ts";
import { KeptBytes } from "../core/kept-bytes.ts";
import { TimerNode, type TimerOwner } from "../core/timer-wheel.ts";
import type { ClientPeer } from "../message/client-peer.ts";
import { type BodyFlow, cancelExchange, type Exchange, ExchangeState, finishExchange } from "../message/exchange.ts";
import { Framing, type RequestHead } from "../message/request-head.ts";
import { H3Error } from "../net/h3-error.ts";
import { endWithTrailers, receivedBytes, resetStream, sentBytes, writable, writeNow } from "../net/quic.ts";
import type { UnsentOwner } from "../net/socket-buffers.ts";
import type { TrailerReader } from "../proto/h2/trailer-reader.ts";
import type { FieldDictionary, FieldRecord } from "../proto/h3/field-dictionary.ts";
import { trailerRecord } from "../proto/h3/response-record.ts";
import { LineBuffer } from "../proto/hpack/line-buffer.ts";
import { asksRate, BodyPace, HeldBody, keepTrailers } from "./body-intake.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import { H3ResponseSink, type H3ResponseStream } from "./h3-response-sink.ts";
import { ResponseStall } from "./response-stall.ts";

/** How long the end of an HTTP/3 request without a declared length is waited for, before a body is expected of it. */
const H3_HEAD_ALONE_MS = 50;
/** Bytes that go to an HTTP/3 stream in one call: what it holds beyond what it has been asked to. */
const H3_WRITE_BYTES = 65_536;
/** Requests with a longer body, or one of unknown length, do not wait for GOAWAY. */
const H3_MAX_HELD_BYTES = 65_536;

/** The connection, as its streams see it. */
export interface H3StreamSession {
  readonly ctx: ClientSocketPorts;
  readonly peer: ClientPeer;
  readonly endpoint: { readonly trailerReader: TrailerReader; readonly dictionary: FieldDictionary };
  /** What requests wait for before they begin; null for nothing. */
  readonly held: Promise<void> | null;
  /** Takes no further request; the connection closes when those that are there are answered. */
  leave(): void;
  /** A stream is over. */
  forget(stream: H3Stream): void;
  readHead(fields: FieldRecord, lines: LineBuffer, head: RequestHead, isEnd: boolean): Fault;
  /** One event of the runtime: a turn. What escapes from it costs the stream. */
  inTurn(stream: H3Stream, work: () => void): void;
}

/**
 * One request over HTTP/3 and its response. RFC 9114 §4.1. The runtime's stream is read as it comes; what the taker of the
 * body has not asked for is held (HeldBody), since not to read would hold no client back.
 */
export class H3Stream implements H3ResponseStream, BodyFlow, TimerOwner, UnsentOwner {
  readonly exchange: Exchange;
  readonly session: H3StreamSession;
  /** Whether `100 Continue` has been asked for and not been sent. */
  continuePending = false;
  /** The trailers that have come, judged when the body is over. */
  trailers: FieldRecord | null = null;
  private readonly stream: QuicStream;
  private readonly lines: LineBuffer = new LineBuffer();
  private readonly sink: H3ResponseSink = new H3ResponseSink(this);
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly pieces: AsyncIterator<readonly Uint8Array[]>;
  private readonly startedMs: number;
  /** Body bytes that are still to come where the length is declared; -1 if it is not. */
  private remaining = -1;
  private isPaused = false;
  private readonly held: HeldBody = new HeldBody(new KeptBytes());
  private readonly pace: BodyPace = new BodyPace();
  /** Whether the client has ended its direction. */
  private hasEnded = false;
  private isOver = false;
  private readonly backlog: H3Backlog = new H3Backlog();
  private readonly stall: ResponseStall = new ResponseStall(this, this.timer);
  /** Bytes that had gone out, and had come in on the connection, when it was asked last. */
  private sent = 0;
  private received = 0;
  /** Whether the response was over with its head. */
  private isHeadAll = false;
  /** The response is complete but for what waits. */
  private isEnding = false;

  /** @param exchange is the stream's until it calls `session.forget` */
  constructor(session: H3StreamSession, stream: QuicStream, exchange: Exchange) {
    this.session = session;
    this.stream = stream;
    this.exchange = exchange;
    this.pieces = stream[Symbol.asyncIterator]();
    this.startedMs = session.ctx.turn.nowMs;
  }

  // ── what the client sends ─────────────────────────────────────────────────────────────────────────────────────

  /** Takes the request from its head to its end. Never rejects. */
  async receive(fields: FieldRecord): Promise<void> {
    let next = this.pieces.next();
    try {
      // A head that declares a length is followed by a body. Any other is usually followed by the stream's end.
      const first = "content-length" in fields ? null : await Promise.race([next, headIsAlone()]);
      if (this.session.held !== null && mayWait(fields, first?.done === true)) await this.session.held;
      if (!this.isOver) this.session.inTurn(this, () => this.start(fields, first?.done === true));
      for (let piece = await next; piece.done !== true; piece = await next) {
        for (const bytes of piece.value) {
          if (this.isOver) return;
          this.session.inTurn(this, () => this.take(bytes));
        }
        if (this.isOver) return;
        next = this.pieces.next();
      }
      if (this.isOver || this.exchange.bodyDone) return;
      // The runtime tells of trailers a moment after the body's end.
      await Bun.sleep(0);
      this.hasEnded = true;
      if (!this.isOver) this.session.inTurn(this, () => this.deliverHeld());
    } catch {
      this.session.inTurn(this, () => this.onLost());
    }
  }

  private start(fields: FieldRecord, isEnd: boolean): void {
    const { session, exchange: ex } = this;
    const { ctx } = session;
    ex.startedMs = this.startedMs;
    const fault = session.readHead(fields, this.lines, ex.request, isEnd);
    ex.open(this.sink, this, session.peer, ctx.pipeline);
    ex.bodyDone = isEnd || !ex.request.hasBody();
    this.remaining = isEnd || ex.request.framing !== Framing.Chunked ? ex.request.contentLength : -1;
    if (fault !== Fault.None) {
      this.sink.abort(ex, fault);
      return;
    }
    this.continuePending = ex.request.expectContinue && !isEnd;
    ex.pipeline.start(ex);
    this.awaitBody();
  }

  private take(bytes: Uint8Array): void {
    if (this.exchange.bodyDone) return;
    if (!this.isPaused && this.held.isEmpty) this.onPiece(bytes);
    else {
      const fault = this.held.keep(this.session.ctx.bodies, this.exchange, bytes, 0, bytes.length);
      if (fault !== Fault.None) this.failBody(fault);
    }
  }

  /** Hands on what may be handed on now, and the end after it. */
  private deliverHeld(): void {
    const { exchange: ex, held } = this;
    while (!this.isOver && !this.isPaused && !ex.bodyDone) {
      const piece = held.next();
      if (piece === null) {
        if (this.hasEnded) this.onEnd();
        break;
      }
      this.onPiece(piece);
    }
    this.awaitBody();
  }

  private onPiece(bytes: Uint8Array): void {
    const { exchange: ex } = this;
    const { length } = bytes;
    const isDeclared = this.remaining >= 0;
    this.continuePending = false;
    ex.bodyBytes += length;
    if (isDeclared) this.remaining -= length;
    if (isDeclared && this.remaining < 0) this.failBody(Fault.LengthMismatch);
    else if (!isDeclared && ex.maxBodyBytes > 0 && ex.bodyBytes > ex.maxBodyBytes) this.failBody(Fault.BodyTooLarge);
    else {
      ex.body.onBody(ex, Buffer.from(bytes.buffer, bytes.byteOffset, length), 0, length);
      this.awaitBody();
    }
  }

  private onEnd(): void {
    const { exchange: ex } = this;
    if (this.remaining > 0) {
      this.failBody(Fault.LengthMismatch);
      return;
    }
    const fault = this.trailers === null ? Fault.None : this.takeTrailers(ex, this.trailers);
    if (fault !== Fault.None) {
      this.failBody(fault);
      return;
    }
    ex.bodyDone = true;
    ex.body.onBodyEnd(ex);
    this.awaitBody();
  }

  private takeTrailers(ex: Exchange, fields: FieldRecord): Fault {
    const { trailerReader, dictionary } = this.session.endpoint;
    dictionary.begin(fields);
    const fault = trailerReader.read(dictionary, this.lines);
    return fault === Fault.None ? keepTrailers(ex, trailerReader.trailers, this.session.ctx.settings.maxFields) : fault;
  }

  /** The client gives the request up, or is gone. */
  onLost(): void {
    if (this.isOver) return;
    cancelExchange(this.exchange, this.session.ctx.turn.nowMs);
    this.release();
  }

  /** The body cannot be completed: its taker learns of it, the client gets the refusal or, with a response begun, a reset. */
  private failBody(fault: Fault): void {
    const { exchange: ex } = this;
    if (ex.state === ExchangeState.Finished) return;
    ex.body.onBodyFault(ex, fault);
    ex.source.onCancelled(ex);
    if (!this.isOver) this.sink.abort(ex, fault);
  }

  /** Sets the time that the client has for more of its body, where it is its turn. */
  private awaitBody(): void {
    if (this.isOver || this.stall.isWaiting) return;
    const { wheel, turn, settings } = this.session.ctx;
    const { exchange: ex } = this;
    const isDue = !ex.bodyDone && !this.isPaused && !this.hasEnded && ex.state === ExchangeState.Open;
    if (isDue && !asksRate(ex)) wheel.arm(this.timer, turn.nowMs + settings.readTimeoutMs);
    else if (isDue) wheel.arm(this.timer, turn.nowMs + this.pace.wait(turn.nowMs, ex.bodyBytes, settings));
    else {
      this.pace.stop(turn.nowMs);
      wheel.disarm(this.timer);
    }
  }

  pauseBody(_ex: Exchange): void {
    this.isPaused = true;
    this.awaitBody();
  }

  resumeBody(_ex: Exchange): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.deliverHeld();
  }

  // ── the response's way out ────────────────────────────────────────────────────────────────────────────────────

  sendInterim(fields: FieldRecord): void {
    this.stream.sendInformationalHeaders(fields as never);
  }

  /** @returns whether the client is still there */
  sendHead(fields: FieldRecord, isAll: boolean): boolean {
    if (this.stream.sendHeaders(fields as never, { terminal: isAll })) {
      this.isHeadAll = isAll;
      return true;
    }
    this.onLost();
    return false;
  }

  /** Sends response bytes. @returns false when the source should hold */
  send(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.isOver || this.isHeadAll) return true;
    const { backlog, stall } = this;
    backlog.add(bytes.subarray(from, to));
    if (!stall.isWaiting) return this.flush();
    stall.keep(this.session.ctx, backlog.keptBytes);
    return false;
  }

  /** The response is complete; what waits goes first. */
  endResponse(): void {
    if (this.isOver) return;
    this.isEnding = true;
    this.exchange.source = this.session.ctx.idlePorts.source;
    if (this.backlog.length === 0) this.complete();
  }

  private flush(): boolean {
    const { backlog, stream } = this;
    try {
      backlog.writeTo(stream);
    } catch {
      this.onLost();
      return true;
    }
    if (backlog.length === 0) return true;
    this.stall.wait(this.session.ctx, backlog.keptBytes, this.newlySent());
    writable(stream).then(
      (isThere) => this.session.inTurn(this, () => (isThere ? this.onWritable() : this.onLost())),
      () => this.session.inTurn(this, () => this.onLost()),
    );
    return false;
  }

  /**
   * Bytes that went out since it was asked last. The runtime takes a piece when the one before has left, and says no more of it than
   * that: to a slow client, a piece takes longer than `write_timeout`. While nothing comes from the client, what goes out are probes
   * for one that has vanished (RFC 9002 §6.2.4).
   */
  private newlySent(): number {
    const received = receivedBytes(this.stream);
    if (received === this.received) return 0;
    this.received = received;
    const before = this.sent;
    this.sent = sentBytes(this.stream);
    return this.sent - before;
  }

  private onWritable(): void {
    if (this.isOver || !this.flush() || this.isOver) return;
    this.stall.stop(this.session.ctx);
    if (this.isEnding) this.complete();
    else {
      this.awaitBody();
      this.exchange.source.onWritable(this.exchange);
    }
  }

  onTimer(): void {
    const { ctx } = this.session;
    if (this.stall.isWaiting) {
      if (!this.stall.goesOn(ctx, this.backlog.keptBytes, this.newlySent())) this.abandon();
    } else {
      const { turn, settings } = ctx;
      this.failBody(this.pace.fault(turn.nowMs, settings));
    }
  }

  /** The client does not take the response, or too much waits for too many clients. */
  abandon(): void {
    const { exchange: ex } = this;
    resetStream(this.stream, H3Error.RequestCancelled);
    if (ex.state !== ExchangeState.Finished) this.onLost();
  }

  /** An exception escaped: it costs the stream. */
  onException(error: unknown): void {
    const { observer } = this.session.ctx;
    observer.onException(error);
    resetStream(this.stream, H3Error.InternalError);
    try {
      this.onLost();
    } catch (second) {
      // The handler of the stream is broken too; the worker must not be.
      observer.onException(second);
    }
  }

  private complete(): void {
    const { exchange: ex, stream } = this;
    if (!this.isHeadAll) {
      const { trailers } = ex.response;
      const { writeTimeoutMs } = this.session.ctx.settings;
      if (trailers === null) stream.writer.endSync();
      else void endWithTrailers(stream, trailerRecord(trailers), writeTimeoutMs);
    }
    this.finish(ex);
    this.release();
  }

  /** The exchange is over: the taps are notified. */
  finish(ex: Exchange): void {
    finishExchange(ex, this.session.ctx.turn.nowMs);
  }

  /** Aborts the stream, so that the client does not take what has arrived for complete. */
  reset(code: H3Error): void {
    resetStream(this.stream, code);
    this.release();
  }

  private release(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.stall.stop(this.session.ctx);
    this.backlog.clear();
    this.session.ctx.wheel.remove(this.timer);
    // RFC 9114 §4.1: the rest of the request is not wanted.
    void this.pieces.return?.();
    this.held.drop();
    this.session.forget(this);
  }
}

/** Whether a request may wait for GOAWAY: what comes of a body meanwhile, the runtime keeps without a bound. */
function mayWait(fields: FieldRecord, isEnd: boolean): boolean {
  return isEnd || Number(fields["content-length"]) <= H3_MAX_HELD_BYTES;
}

function headIsAlone(): Promise<null> {
  return Bun.sleep(H3_HEAD_ALONE_MS).then(() => null);
}

/** The part of a response that a stream does not take yet. */
class H3Backlog {
  private bytes: Uint8Array = EMPTY_BYTES;

  get length(): number {
    return this.bytes.length;
  }

  /** Memory that it keeps; what is in shared memory is there anyway. */
  get keptBytes(): number {
    const { buffer } = this.bytes;
    return buffer instanceof SharedArrayBuffer ? 0 : buffer.byteLength;
  }

  /** Puts a piece after what waits: a source can only be asked to hold, and goes on for as much as has come in one event. */
  add(piece: Uint8Array): void {
    this.bytes = this.length === 0 ? piece : Buffer.concat([this.bytes, piece]);
  }

  /** Writes what the stream takes; what it does not take stays. @throws when the stream is gone */
  writeTo(stream: QuicStream): void {
    while (this.length > 0 && writeNow(stream, this.bytes.subarray(0, H3_WRITE_BYTES))) {
      this.bytes = this.bytes.subarray(H3_WRITE_BYTES);
    }
  }

  clear(): void {
    this.bytes = EMPTY_BYTES;
  }
}

/**
 * A stream whose head has not come yet: it has `header_timeout`, like a head over any other protocol. RFC 9114 §4.1.1: it
 * is then rejected, so that the client knows that nothing of it was examined.
 */
export class H3HeadWait implements TimerOwner {
  private readonly ctx: ClientSocketPorts;
  private readonly stream: QuicStream;
  private readonly timer: TimerNode = new TimerNode(this);

  constructor(ctx: ClientSocketPorts, stream: QuicStream) {
    this.ctx = ctx;
    this.stream = stream;
    ctx.wheel.arm(this.timer, ctx.turn.nowMs + ctx.settings.headerTimeoutMs);
  }

  /** The head is there, or the stream is gone. */
  end(): void {
    this.ctx.wheel.remove(this.timer);
  }

  onTimer(): void {
    resetStream(this.stream, H3Error.RequestRejected);
  }
}
