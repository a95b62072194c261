import { equalsBytes, offsetBehind } from "../core/bytes.ts";
import { Fault } from "../core/fault.ts";
import type { TimerOwner } from "../core/timer-wheel.ts";
import type { ClientPeer } from "../message/client-peer.ts";
import { type BodyFlow, Exchange, ExchangeState, type IdleExchangePorts } from "../message/exchange.ts";
import type { TunnelEnd } from "../message/ports.ts";
import { Framing, Method } from "../message/request-head.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { InputBuffer } from "../net/socket-buffers.ts";
import { ChunkEvent, ChunkedDecoder } from "../proto/h1/chunked-decoder.ts";
import { faultOf, NEED_MORE } from "../proto/h1/outcome.ts";
import { findAccept, RequestParser } from "../proto/h1/request-parser.ts";
import { isForbiddenTrailer } from "../proto/h1/trailer-names.ts";
import { PREFACE } from "../proto/h2/frame.ts";
import { asksRate, BodyPace, isPassthrough, takeTrailers } from "./body-intake.ts";
import { ClientLink, type ClientSocketPorts, LifeState } from "./client-socket.ts";
import { ClientTunnel, type TunnelOwner } from "./client-tunnel.ts";
import { H1Response, type ResponseOwner } from "./h1-response.ts";
import { DRAIN_BYTES, DRAIN_IDLE_MS, DRAIN_MS, IDLE_NEWCOMER_MS } from "./limits.ts";

/** Bytes of a chunked request body that are handed on at a time in `passthrough`. docs/bodies.md#passthrough */
const PASSTHROUGH_BYTES = 32768;
/** Bytes after the request that is being answered for which a connection is read on; with more, the kernel holds them. */
export const PIPELINED_BYTES = 16_384;
/** Milliseconds that a response which needs no body waits for a short one, the draining included. docs/bodies.md#unread-bodies */
export const EARLY_REPLY_MS = 100;
/**
 * The same for a request that came while the one before it was being answered: its client may not have read that response yet,
 * which the end of the connection, with unread bytes after it, can destroy.
 */
export const EARLY_PIPELINED_MS = 200;

/**
 *   Idle ──first byte──▶ Head ──complete──▶ Exchange ──response over──▶ (body read?) ──yes──▶ Idle
 *                          │                   │                           └─no─▶ Draining ──▶ Idle
 *                          └─refused─▶ closing └──101──▶ Tunnel ──▶ closing
 */
const enum Stage {
  Idle = 0,
  Head,
  Exchange,
  Draining,
  Tunnel,
}

/** The server side of one HTTP/1.1 connection: bytes to Exchanges, one at a time and in order. */
export class H1Connection implements ResponseOwner, BodyFlow, TimerOwner, TunnelOwner {
  place = -1;
  private readonly ctx: ClientSocketPorts;
  protected readonly life: ClientLink;
  private readonly response: H1Response;
  protected readonly input: InputBuffer = new InputBuffer();
  protected readonly peer: ClientPeer;
  protected hasServed = false;
  /** Whether bytes of this request came while the one before it was being answered. */
  private isPipelined = false;
  private stage: Stage = Stage.Idle;
  /** The request under way; null if the connection is idle. */
  current: H1Request | null = null;
  private tunnel: ClientTunnel | null = null;
  private bodyPaused = false;
  /** Whether a little is read all the same, while it is. */
  private watchesEnd = false;
  private pumping = false;

  constructor(socket: ByteSocket, ctx: ClientSocketPorts, peer: ClientPeer) {
    this.ctx = ctx;
    this.life = new ClientLink(socket, ctx, this, peer.tls);
    this.response = new H1Response(this, this.life, this.input, ctx);
    this.peer = peer;
    this.life.arm(ctx.settings.headerTimeoutMs);
  }

  onData(chunk: Uint8Array): void {
    if (this.life.state !== LifeState.Open) this.life.onLateData(chunk.length);
    else if (this.tunnel !== null) this.tunnel.onData(chunk);
    else {
      if (this.input.append(chunk) && this.stage === Stage.Head) this.beginHead(this.current!);
      this.pump();
      this.input.giveBack(chunk, this.current?.exchange.request ?? this.input);
    }
  }

  onEnd(): void {
    this.life.clientEnded = true;
    if (this.life.state !== LifeState.Open) this.life.onLateEnd();
    else if (this.tunnel !== null) this.tunnel.onEnd();
    else this.pump();
  }

  /** RFC 9112 §9.6 lets a client end its direction and read on; most that do so have left. docs/operations.md#clients-that-leave */
  private limitAnswer(): void {
    if (this.stage === Stage.Exchange && this.life.state === LifeState.Open) this.life.limitAnswer();
  }

  onDrain(): void {
    if (!this.life.onDrain()) return;
    if (this.tunnel !== null) this.tunnel.onDrain();
    else if (this.current !== null && this.current.exchange.state === ExchangeState.Replying) {
      this.life.disarm();
      this.current.exchange.source.onWritable(this.current.exchange);
    } else this.pump();
  }

  onClose(): void {
    this.life.markClosed();
    this.dropAll();
  }

  /** An exception escaped from the handling of this connection: it costs the connection, nothing else. */
  onException(error: unknown): void {
    this.ctx.observer.onException(error);
    this.pumping = false;
    this.life.reset();
    try {
      this.dropAll();
    } catch (second) {
      // The handler of the connection is broken too; the worker must not be.
      this.ctx.observer.onException(second);
    }
  }

  onTimer(): void {
    if (this.life.goesOn()) return;
    if (this.life.state !== LifeState.Open || this.life.hasLeft) this.cut();
    else if (this.stage === Stage.Draining) this.endDraining();
    else if (this.stage === Stage.Head) this.refuse(Fault.HeaderTimeout);
    else if (this.life.writer.blocked || this.stage === Stage.Tunnel) this.cut();
    else if (this.stage === Stage.Idle) this.life.close();
    else if (this.response.held !== null) this.sendHeld(this.current!);
    else this.failBody(this.current!.pace.fault(this.ctx.turn.nowMs, this.ctx.settings));
  }

  /** The gateway is shutting down: an idle connection has a moment for a request that is under way, then it closes. */
  drain(): void {
    if (this.life.state !== LifeState.Open) return;
    if (this.current !== null) this.response.closeAfter = true;
    else if (!this.life.writer.blocked) this.life.arm(DRAIN_IDLE_MS);
  }

  /** The one timer says since when: it was set when the connection became idle. */
  idleMs(nowMs: number): number {
    const { life, hasServed } = this;
    if (this.stage !== Stage.Idle || life.state !== LifeState.Open || life.writer.blocked || this.input.length > 0)
      return -1;
    const { idleTimeoutMs, headerTimeoutMs } = this.ctx.settings;
    const idleMs = nowMs - life.deadlineMs + (hasServed ? idleTimeoutMs : headerTimeoutMs);
    return hasServed || idleMs >= IDLE_NEWCOMER_MS ? Math.max(0, idleMs) : -1;
  }

  closeIdle(): void {
    this.life.close();
  }

  /** Goes on as far as the input allows. Handlers that answer at once come back here, hence the flag. */
  private pump(): void {
    if (this.pumping) return;
    this.pumping = true;
    try {
      while (this.life.state === LifeState.Open && this.step()) {
        // Each step reads a head, a piece of a body, or ends a request.
      }
    } catch (error) {
      // It may have been another socket's event that led here, and that one has done nothing wrong.
      this.onException(error);
      return;
    }
    this.pumping = false;
    this.input.release();
    if (this.life.clientEnded) this.limitAnswer();
    this.balanceFlow();
  }

  /** @returns whether another step may be possible at once */
  private step(): boolean {
    if (this.stage === Stage.Idle) return this.beginRequest();
    if (this.stage === Stage.Head) return this.readHead(this.current!);
    return this.stage !== Stage.Tunnel && this.readBody(this.current!);
  }

  private beginRequest(): boolean {
    if (this.input.length === 0 || this.life.writer.blocked) {
      if (this.life.writer.blocked) this.life.armWriteStall();
      else if (this.life.clientEnded) this.life.startClosing(false);
      else this.life.arm(this.ctx.draining ? DRAIN_IDLE_MS : this.ctx.settings.idleTimeoutMs);
      return false;
    }
    const { ctx } = this;
    const request = ctx.requests.take<H1Request>() ?? new H1Request(ctx.idlePorts, ctx.settings);
    request.exchange.startedMs = this.ctx.turn.nowMs;
    this.beginHead(request);
    this.current = request;
    this.stage = Stage.Head;
    return true;
  }

  private beginHead(request: H1Request): void {
    request.parser.begin(this.input.from);
    request.exchange.request.reset(this.input.bytes);
  }

  private readHead(request: H1Request): boolean {
    const ex = request.exchange;
    const outcome = request.parser.parse(this.input.bytes, this.input.to, ex.request);
    if (outcome >= 0) {
      this.input.from = outcome;
      this.startExchange(request);
      return true;
    }
    if (outcome !== NEED_MORE) {
      const fault = faultOf(outcome);
      if (fault === Fault.RequestLineTooLong) findAccept(ex.request, this.input.to);
      this.refuse(fault);
    } else if (!this.life.clientEnded)
      this.life.arm(this.ctx.settings.headerTimeoutMs - (this.ctx.turn.nowMs - ex.startedMs));
    else if (request.parser.hasBegun(this.input.to)) this.refuse(Fault.HeadTruncated);
    else {
      this.release();
      this.life.startClosing(false);
    }
    return false;
  }

  private startExchange(request: H1Request): void {
    const ex = request.exchange;
    this.hasServed = true;
    this.stage = Stage.Exchange;
    this.bodyPaused = false;
    // CONNECT is never served, and what follows it is not HTTP.
    this.response.begin(!ex.request.keepAlive || ex.request.method === Method.Connect, ex.request.expectContinue);
    ex.open(this.response, this, this.peer, this.ctx.pipeline);
    request.beginBody();
    this.life.disarm();
    ex.pipeline.start(ex);
  }

  private readBody(request: H1Request): boolean {
    const ex = request.exchange;
    if (ex.bodyDone || this.bodyPaused) return false;
    if (this.input.length === 0) {
      if (this.life.clientEnded) this.failBody(Fault.BodyTruncated);
      else if (this.stage === Stage.Exchange && this.response.held === null) {
        this.awaitBody(request, ex);
      }
      return false;
    }
    const fault = request.body.readPiece(this.input, ex);
    // The consumer of the piece may have ended the exchange.
    if (this.current !== request) return true;
    if (fault !== Fault.None) {
      this.failBody(fault);
      return false;
    }
    const isEnough = ex.bodyDone || request.body.drainedBytes > DRAIN_BYTES;
    if (this.stage === Stage.Draining) {
      if (isEnough) this.endDraining();
    } else if (this.response.held !== null) {
      if (isEnough) this.sendHeld(request);
    } else if (ex.bodyDone) ex.body.onBodyEnd(ex);
    return true;
  }

  /** Sets the time that the client has for more of its body. Of a stream, and after a response that has begun, no rate is asked for. */
  private awaitBody({ pace }: H1Request, ex: Exchange): void {
    const { turn, settings } = this.ctx;
    const isTimed = ex.state === ExchangeState.Open && asksRate(ex);
    this.life.arm(isTimed ? pace.wait(turn.nowMs, ex.bodyBytes, settings) : settings.readTimeoutMs);
  }

  /** The body cannot be completed: the taker learns of it, the client gets the refusal or, with a response begun, a cut. */
  private failBody(fault: Fault): void {
    const request = this.current!;
    const ex = request.exchange;
    if (this.stage === Stage.Draining) this.endDraining();
    if (this.current !== request || ex.bodyDone || this.bodyPaused) return;
    ex.body.onBodyFault(ex, fault);
    ex.source.onCancelled(ex);
    if (this.current === request) this.response.abort(ex, fault);
  }

  /** Refuses a request that never became an exchange. */
  protected refuse(fault: Fault): void {
    const request = this.current!;
    this.response.begin(true, false);
    request.exchange.open(this.response, this, this.peer, this.ctx.pipeline);
    request.exchange.bodyDone = true;
    this.response.abort(request.exchange, fault);
  }

  isRestShort(): boolean {
    return this.current!.body.remaining - this.input.length <= DRAIN_BYTES;
  }

  /**
   * A response that does not need the body waits a moment for it: then the connection can be kept, and a client that
   * reads only after writing gets its response.
   */
  responseHeld(): void {
    this.discardBody(this.current!);
    this.life.arm(this.isPipelined ? EARLY_PIPELINED_MS : EARLY_REPLY_MS);
    this.pump();
  }

  responseOver(): void {
    const request = this.current!;
    const { closeAfter } = this.response;
    if (!request.exchange.bodyDone && !closeAfter) this.startDraining(request);
    else {
      const mayStillSend = this.input.length > 0 || !request.isLast();
      this.release();
      if (closeAfter) this.life.startClosing(mayStillSend);
    }
    this.pump();
  }

  responseCut(): void {
    this.release();
    this.life.reset();
    this.input.clear();
  }

  responseUpgraded(ex: Exchange, origin: TunnelEnd): TunnelEnd {
    this.stage = Stage.Tunnel;
    this.life.freeAnswer();
    this.tunnel = new ClientTunnel(this.life, this, this.input, ex, origin);
    return this.tunnel;
  }

  tunnelOver(): void {
    const request = this.current!;
    this.tunnel = null;
    this.response.finish(request.exchange);
    this.release();
    this.life.startClosing(true);
  }

  pauseBody(_ex: Exchange): void {
    this.bodyPaused = true;
    this.watchesEnd = false;
    this.current?.pace.stop(this.ctx.turn.nowMs);
  }

  holdBody(ex: Exchange): void {
    this.pauseBody(ex);
    this.watchesEnd = true;
  }

  resumeBody(_ex: Exchange): void {
    if (!this.bodyPaused) return;
    this.bodyPaused = false;
    this.pump();
  }

  /** Waiting counts as draining time. */
  private sendHeld(request: H1Request): void {
    this.life.disarm();
    this.response.sendHeld(request.exchange);
  }

  /** The rest of an unread body is read, within bounds, so that the connection can be kept. docs/bodies.md#unread-bodies */
  private startDraining(request: H1Request): void {
    this.discardBody(request);
    this.stage = Stage.Draining;
    this.life.arm(DRAIN_MS);
  }

  private discardBody(request: H1Request): void {
    request.body.beginDrain();
    request.exchange.body = this.ctx.idlePorts.body;
    request.exchange.source = this.ctx.idlePorts.source;
    this.bodyPaused = false;
  }

  private endDraining(): void {
    const complete = this.current!.exchange.bodyDone;
    this.release();
    if (!complete) this.life.startClosing(true);
  }

  protected release(): void {
    const request = this.current;
    this.life.freeAnswer();
    this.current = null;
    this.stage = Stage.Idle;
    this.bodyPaused = false;
    this.isPipelined = this.input.length > 0;
    if (request !== null) this.ctx.requests.give(request);
  }

  private cut(): void {
    this.life.reset();
    this.dropAll();
  }

  /** The socket is gone: the handler stops. */
  private dropAll(): void {
    const { current, tunnel } = this;
    this.current = null;
    this.tunnel = null;
    this.input.clear();
    tunnel?.onLost();
    if (current === null) return;
    this.response.cancel(current.exchange);
    this.ctx.requests.give(current);
  }

  /** Input that is not taken now is held by the kernel, not by the worker. */
  private balanceFlow(): void {
    if (this.life.state !== LifeState.Open || this.tunnel !== null) return;
    const ahead = this.stage === Stage.Head ? 0 : this.input.length;
    if (ahead > 0 || this.bodyPaused) this.input.compact();
    // Held back after a few pipelined requests, or a little of a body, the client's end would not be seen either.
    const room = this.stage === Stage.Exchange ? PIPELINED_BYTES : 0;
    if (ahead > room || (this.bodyPaused && !this.watchesEnd)) this.life.pause(this.input.keptBytes);
    else this.life.resume();
  }
}

/** All that a connection needs for one request; pooled a worker, so that an idle connection holds none of it. */
class H1Request {
  readonly exchange: Exchange;
  readonly parser: RequestParser;
  readonly body: RequestBody;
  readonly pace: BodyPace = new BodyPace();

  /** @param limits of its head: bytes, and fields together with those after a chunked body */
  constructor(idle: IdleExchangePorts, limits: { readonly maxHeadBytes: number; readonly maxFields: number }) {
    this.exchange = new Exchange(idle);
    this.parser = new RequestParser(limits.maxHeadBytes, limits.maxFields);
    this.body = new RequestBody(limits.maxFields);
  }

  /**
   * Whether the client sends nothing after this request, so that nothing can destroy the response when the connection is
   * closed at once: it asked for the close itself (RFC 9112 §9.6). Any other may still be sending, whatever we have
   * seen. Saves a system call and an event, 3 of 21 µs a connection.
   */
  isLast(): boolean {
    const { request, bodyDone, fault } = this.exchange;
    return !request.keepAlive && bodyDone && fault === Fault.None;
  }

  /** The head is complete: makes ready for the body. */
  beginBody(): void {
    this.body.begin(this.exchange);
    if (!this.exchange.bodyDone) this.pace.begin();
  }
}

/** More than any input holds. */
const ALL_BYTES = 0x7fffffff;

/** Cuts a request's body out of a connection's input and hands it to its consumer. RFC 9112 §6. */
class RequestBody {
  /** Body bytes that are still to come where the length is declared; -1 for a chunked body. */
  remaining = 0;
  private wireBytes = 0;
  private drainFrom = -1;
  private readonly decoder: ChunkedDecoder = new ChunkedDecoder(isForbiddenTrailer);
  private decoding = false;
  /** Bytes that the decoder sees at a time. */
  private windowBytes = 0;
  private readonly maxFields: number;

  /** @param maxFields header fields of a request together with its trailers */
  constructor(maxFields: number) {
    this.maxFields = maxFields;
  }

  /** Makes ready for the body of this request. */
  begin(ex: Exchange): void {
    this.remaining = ex.request.framing === Framing.Chunked ? -1 : ex.request.contentLength;
    this.wireBytes = 0;
    this.drainFrom = -1;
    this.decoding = false;
    ex.bodyDone = !ex.request.hasBody();
  }

  /** What comes from here on is thrown away, and counted. */
  beginDrain(): void {
    if (this.drainFrom < 0) this.drainFrom = this.wireBytes;
  }

  /** Bytes thrown away, framing included. */
  get drainedBytes(): number {
    return this.drainFrom < 0 ? 0 : this.wireBytes - this.drainFrom;
  }

  /**
   * Reads one piece: at most one `onBody` or one `onBodyEnd`, so that the caller can see what its taker did.
   * @returns Fault.None, or why the body is refused
   */
  readPiece(input: InputBuffer, ex: Exchange): Fault {
    return this.remaining < 0 ? this.readChunked(input, ex, input.from) : this.readCounted(input, ex);
  }

  private readCounted(input: InputBuffer, ex: Exchange): Fault {
    const from = input.from;
    const to = offsetBehind(from, this.remaining, input.to);
    input.from = to;
    this.remaining -= to - from;
    this.wireBytes += to - from;
    ex.bodyBytes += to - from;
    if (this.remaining === 0) ex.bodyDone = true;
    handOver(input, ex, from, to);
    return Fault.None;
  }

  private readChunked(input: InputBuffer, ex: Exchange, from: number): Fault {
    const decoder = this.decoder;
    // The limit is known only when the route is: the decoder begins with the first byte.
    if (!this.decoding) {
      decoder.begin(ex.maxBodyBytes);
      this.windowBytes = isPassthrough(ex) ? PASSTHROUGH_BYTES : ALL_BYTES;
    }
    this.decoding = true;
    const event = decoder.nextJoined(input.bytes, from, offsetBehind(from, this.windowBytes, input.to));
    if (event === ChunkEvent.Failed) return decoder.fault;
    input.from = decoder.consumed;
    this.wireBytes += decoder.consumed - from;
    if (event === ChunkEvent.Data) {
      ex.bodyBytes += decoder.dataTo - decoder.dataFrom;
      handOver(input, ex, decoder.dataFrom, decoder.dataTo);
    } else if (event === ChunkEvent.Done) {
      if (decoder.trailers.count + ex.request.headers.count > this.maxFields) return Fault.TrailersTooLarge;
      if (decoder.trailers.count > 0) {
        const fault = takeTrailers(ex, (block) => decoder.trailers.appendTo(block), isPassthrough(ex));
        if (fault !== Fault.None) return fault;
      }
      ex.bodyDone = true;
    }
    return Fault.None;
  }
}

function handOver(input: InputBuffer, ex: Exchange, from: number, to: number): void {
  const { body } = ex;
  body.onBody(ex, input.bytes, from, to);
  if (body.keepsNothing !== true) input.lend();
}

/** Takes over a connection that turns out to be one of HTTP/2. */
export interface UpgradeHandler {
  /** @param chunk all that has come so far */
  http2Begun(socket: ByteSocket, peer: ClientPeer, chunk: Uint8Array): void;
}

/**
 * A connection of HTTP/1.1 whose client may yet begin with HTTP/2's preface. RFC 9113 §3.4: no parser of HTTP/1.1 lets
 * that pass, so edge looks for it if it refuses a first head, and the choice costs HTTP/1.1 nothing.
 */
export class H1OrH2Connection extends H1Connection {
  private readonly upgrades: UpgradeHandler;
  private isHttp2 = false;

  constructor(socket: ByteSocket, ctx: ClientSocketPorts, peer: ClientPeer, upgrades: UpgradeHandler) {
    super(socket, ctx, peer);
    this.upgrades = upgrades;
  }

  override onData(chunk: Uint8Array): void {
    super.onData(chunk);
    // After all that the connection does for HTTP/1.1, whose exceptions are its own.
    if (this.isHttp2) this.handOver();
  }

  protected override refuse(fault: Fault): void {
    const preface = fault === Fault.UnsupportedVersion && !this.hasServed ? sniffPreface(this.input) : Preface.None;
    if (preface === Preface.Whole) this.isHttp2 = true;
    // The rest is still to come: the head's own time runs, and each piece leads here again.
    else if (preface === Preface.None || this.life.clientEnded) super.refuse(fault);
  }

  private handOver(): void {
    const { input, life } = this;
    const chunk = input.bytes.subarray(input.from, input.to);
    this.isHttp2 = false;
    this.release();
    input.clear();
    life.handOver();
    this.upgrades.http2Begun(life.socket, this.peer, chunk);
  }
}

/** How much of HTTP/2's preface a client has begun with. */
const enum Preface {
  None = 0,
  Begun,
  Whole,
}

/** Whether the received data is HTTP/2's preface (RFC 9113 §3.4), or can become it. */
function sniffPreface(input: InputBuffer): Preface {
  const { bytes, from, to } = input;
  const length = Math.min(to - from, PREFACE.length);
  if (!equalsBytes(bytes, from, from + length, PREFACE.subarray(0, length))) return Preface.None;
  return length === PREFACE.length ? Preface.Whole : Preface.Begun;
}
