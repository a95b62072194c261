import { Fault, faultRow } from "../core/fault.ts";
import { COPY_BODY_BYTES, DRAIN_BYTES, DRAIN_MS, LINGER_BYTES, LINGER_MS, TUNNEL_IDLE_MS } from "../core/limits.ts";
import { type TimerHolder, TimerNode } from "../core/timer-wheel.ts";
import { ClientPeer } from "../message/client.ts";
import { type Exchange, ExchangeState } from "../message/exchange.ts";
import type { FixedReply } from "../message/fixed-reply.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import { Method } from "../message/method.ts";
import type { BodyFlow, ReplySink, TunnelEnd } from "../message/ports.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { InputBuffer } from "../net/input-buffer.ts";
import { SocketWriter } from "../net/socket-writer.ts";
import { faultOf, NEED_MORE } from "../proto/h1/outcome.ts";
import { CONTINUE_LINE } from "../proto/h1/reply-encoder.ts";
import type { EdgeContext } from "./edge-context.ts";
import { endChunks, writeChunk, writeFixed, writeHead, writeInterim } from "./h1-reply.ts";
import type { H1Request } from "./h1-request.ts";
import { replyForFault } from "./refusal.ts";

/**
 *            ┌──────────────────────────── next request ───────────────────────────┐
 *   Idle ──first byte──▶ Head ──head complete──▶ Exchange ──reply over──▶ (body read?) ──yes──▶ Idle
 *                          │                        │                        └─no─▶ Draining ─▶ Idle
 *                          └──refused──┐            └──101──▶ Tunnel
 *                                      ▼
 *   any ──last answer written──▶ Closing ──flushed──▶ Lingering ──client closes or time is up──▶ Closed
 */
const enum Phase {
  Idle = 0,
  Head,
  Exchange,
  Draining,
  Tunnel,
  Closing,
  Lingering,
  Closed,
}

/** The server side of one HTTP/1.1 connection: bytes to Exchanges and replies to bytes. */
export class H1Connection implements ReplySink, BodyFlow, TimerHolder, TunnelEnd {
  private readonly socket: ByteSocket;
  private readonly ctx: EdgeContext;
  private readonly writer: SocketWriter;
  private readonly timer: TimerNode;
  private readonly input: InputBuffer = new InputBuffer();
  private readonly peer: ClientPeer;
  private current: H1Request | null = null;
  private phase: Phase = Phase.Idle;
  private tunnel: TunnelEnd | null = null;
  private clientEnded = false;
  private socketPaused = false;
  private bodyPaused = false;
  private pumping = false;
  private lingerBytes = 0;

  constructor(socket: ByteSocket, ctx: EdgeContext, tls: boolean) {
    this.socket = socket;
    this.ctx = ctx;
    this.writer = new SocketWriter(socket, ctx.writers);
    this.timer = new TimerNode(this);
    this.peer = new ClientPeer(socket.remoteAddress, tls, 0);
    ctx.wheel.arm(this.timer, ctx.turn.nowMs + ctx.settings.headerTimeoutMs);
  }

  // ── what the socket says ──────────────────────────────────────────────────────────────────────────────────────

  /** Bytes from the client. */
  onData(chunk: Uint8Array): void {
    if (this.phase >= Phase.Tunnel) {
      this.onLateData(chunk);
      return;
    }
    const moved = this.input.append(chunk);
    if (moved && this.phase === Phase.Head) this.restartHead();
    this.pump();
  }

  /** The client has ended its direction. */
  onEnd(): void {
    this.clientEnded = true;
    if (this.phase === Phase.Tunnel) this.tunnel?.tunnelEnd();
    else if (this.phase === Phase.Lingering) this.close();
    else this.pump();
  }

  /** The kernel takes bytes again. */
  onDrain(): void {
    const sentAll = this.writer.onDrain();
    if (!sentAll) {
      this.armWriteStall();
      return;
    }
    if (this.phase === Phase.Closing) this.finishClosing();
    else if (this.phase === Phase.Tunnel) this.tunnel?.tunnelWritable();
    else if (this.current !== null && this.current.exchange.state === ExchangeState.Replying) {
      this.ctx.wheel.disarm(this.timer);
      this.current.exchange.source.onWritable(this.current.exchange);
    } else this.pump();
  }

  /** The socket is gone. */
  onClose(): void {
    if (this.phase === Phase.Closed) return;
    const request = this.current;
    const tunnel = this.tunnel;
    this.enterClosed();
    if (tunnel !== null) tunnel.tunnelClose();
    if (request !== null) this.cancel(request);
  }

  /** An exception escaped from the handling of this connection: it costs the connection, nothing else. */
  onException(error: unknown): void {
    this.ctx.observer.onException(error);
    this.pumping = false;
    this.socket.terminate();
    this.onClose();
  }

  onTimer(): void {
    if (this.writer.blocked && this.phase !== Phase.Head) {
      this.reset();
      return;
    }
    switch (this.phase) {
      case Phase.Idle:
        this.close();
        break;
      case Phase.Head:
        this.refuse(Fault.HeaderTimeout);
        break;
      case Phase.Exchange:
        if (!this.current!.exchange.bodyDone && !this.bodyPaused) this.failBody(Fault.BodyTimeout);
        break;
      case Phase.Draining:
        this.endDraining();
        break;
      case Phase.Tunnel:
        this.tunnel?.tunnelClose();
        this.reset();
        break;
      default:
        this.reset();
    }
  }

  /** The gateway is shutting down: an idle connection closes, a busy one after its answer. */
  drain(): void {
    if (this.phase === Phase.Idle) this.close();
    if (this.current !== null) this.current.closeAfter = true;
  }

  // ── requests ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Goes on as far as the input allows. Handlers that answer at once come back here through `end`, hence the flag. */
  private pump(): void {
    if (this.pumping) return;
    this.pumping = true;
    let more = true;
    while (more) {
      switch (this.phase) {
        case Phase.Idle:
          more = this.beginRequest();
          break;
        case Phase.Head:
          more = this.readHead();
          break;
        case Phase.Exchange:
        case Phase.Draining:
          more = this.readBody();
          break;
        default:
          more = false;
      }
    }
    this.pumping = false;
    this.input.release();
    this.balanceFlow();
  }

  private beginRequest(): boolean {
    if (this.input.length === 0) {
      this.enterIdle();
      return false;
    }
    if (this.writer.blocked) {
      this.armWriteStall();
      return false;
    }
    const request = this.ctx.takeRequest();
    request.parser.begin(this.input.from);
    request.exchange.request.reset(this.input.bytes);
    request.exchange.startedMs = this.ctx.turn.nowMs;
    this.current = request;
    this.phase = Phase.Head;
    return true;
  }

  private restartHead(): void {
    const request = this.current!;
    request.parser.begin(this.input.from);
    request.exchange.request.reset(this.input.bytes);
  }

  private readHead(): boolean {
    const request = this.current!;
    const ex = request.exchange;
    const outcome = request.parser.parse(this.input.bytes, this.input.to, ex.request);
    if (outcome >= 0) {
      this.input.from = outcome;
      this.startExchange(request);
      return true;
    }
    if (outcome !== NEED_MORE) this.refuse(faultOf(outcome));
    else if (!this.clientEnded) this.ctx.wheel.arm(this.timer, ex.startedMs + this.ctx.settings.headerTimeoutMs);
    else if (request.parser.hasBegun(this.input.to)) this.refuse(Fault.HeadTruncated);
    else {
      this.release();
      this.startClosing(false);
    }
    return false;
  }

  private startExchange(request: H1Request): void {
    const ex = request.exchange;
    this.phase = Phase.Exchange;
    this.bodyPaused = false;
    request.chunkedReply = false;
    request.closeAfter = !ex.request.keepAlive;
    request.continuePending = ex.request.expectContinue;
    ex.state = ExchangeState.Open;
    ex.sink = this;
    ex.flow = this;
    ex.client = this.peer;
    ex.pipeline = this.ctx.pipeline;
    request.body.begin(ex);
    this.ctx.wheel.disarm(this.timer);
    ex.pipeline.start(ex);
  }

  private readBody(): boolean {
    const request = this.current!;
    const ex = request.exchange;
    if (ex.bodyDone || this.bodyPaused) return false;
    if (this.input.length === 0) {
      if (this.clientEnded) this.failBody(Fault.BodyTruncated);
      else if (this.phase === Phase.Exchange) this.armBodyTimeout();
      return false;
    }
    const fault = request.body.readPiece(this.input, ex);
    if (this.current !== request) return true;
    if (fault !== Fault.None) {
      this.failBody(fault);
      return false;
    }
    if (this.phase === Phase.Draining) {
      if (ex.bodyDone) this.endDraining();
      else if (request.body.wireBytes - this.lingerBytes > DRAIN_BYTES) this.endDraining();
    } else if (ex.bodyDone) ex.body.onBodyEnd(ex);
    return true;
  }

  /** The body cannot be completed: the taker is told, the client gets the refusal or, with an answer begun, a cut. */
  private failBody(fault: Fault): void {
    const request = this.current!;
    const ex = request.exchange;
    if (this.phase === Phase.Draining) {
      this.endDraining();
      return;
    }
    ex.body.onBodyFault(ex, fault);
    ex.source.onCancelled(ex);
    if (this.current === request && ex.state !== ExchangeState.Finished) this.abort(ex, fault);
  }

  /** Refuses a request that never became an exchange. */
  private refuse(fault: Fault): void {
    const request = this.current!;
    const ex = request.exchange;
    ex.state = ExchangeState.Open;
    ex.sink = this;
    ex.client = this.peer;
    ex.pipeline = this.ctx.pipeline;
    ex.bodyDone = true;
    request.chunkedReply = false;
    request.continuePending = false;
    if (isTlsRecord(this.input)) {
      this.release();
      this.reset();
      return;
    }
    this.abort(ex, fault);
  }

  // ── ReplySink ─────────────────────────────────────────────────────────────────────────────────────────────────

  fixed(ex: Exchange, reply: FixedReply): void {
    const request = this.current!;
    ex.reply.status = reply.status;
    this.decideClose(request);
    ex.state = ExchangeState.Replying;
    const withBody = ex.request.method !== Method.Head;
    if (withBody) ex.sentBytes += reply.body.length;
    writeFixed(this.writer, request, reply, withBody, this.ctx.clock.dateBytes);
    this.end(ex);
  }

  interim(ex: Exchange, status: number, headers: HeaderBlock): void {
    if (ex.request.minor === 1 && ex.state === ExchangeState.Open) writeInterim(this.writer, status, headers);
  }

  head(ex: Exchange): void {
    const request = this.current!;
    this.decideClose(request);
    ex.state = ExchangeState.Replying;
    writeHead(this.writer, request, this.ctx.clock.dateBytes);
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const request = this.current!;
    ex.sentBytes += to - from;
    if (request.chunkedReply) writeChunk(this.writer, bytes, from, to);
    else if (to - from <= COPY_BODY_BYTES) this.writer.copy(bytes, from, to);
    else this.writer.write(bytes, from, to);
    if (this.writer.blocked) this.armWriteStall();
    return !this.writer.blocked;
  }

  end(ex: Exchange): void {
    const request = this.current!;
    if (request.chunkedReply) endChunks(this.writer, ex.reply.trailers);
    ex.state = ExchangeState.Finished;
    ex.pipeline.onEnd(ex);
    if (ex.bodyDone) this.finish(request);
    else this.startDraining(request);
    if (!this.pumping) this.pump();
  }

  abort(ex: Exchange, fault: Fault): void {
    if (ex.state === ExchangeState.Finished) return;
    const request = this.current!;
    ex.fault = fault;
    const row = faultRow(fault);
    if (ex.state === ExchangeState.Replying || row.status === 0) {
      ex.state = ExchangeState.Finished;
      ex.pipeline.onEnd(ex);
      this.release();
      this.reset();
      return;
    }
    if (row.close) {
      request.closeAfter = true;
      // Nothing behind a refused message may run: what is left of it is read and thrown away by the lingering close.
      ex.bodyDone = true;
      this.input.clear();
    }
    this.fixed(ex, replyForFault(ex, fault));
  }

  wantBody(_ex: Exchange): void {
    const request = this.current!;
    if (!request.continuePending) return;
    request.continuePending = false;
    if (this.input.length === 0) this.writer.copy(CONTINUE_LINE, 0, CONTINUE_LINE.length);
  }

  upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    const request = this.current!;
    ex.state = ExchangeState.Replying;
    request.closeAfter = true;
    writeHead(this.writer, request, this.ctx.clock.dateBytes);
    this.tunnel = tunnel;
    this.phase = Phase.Tunnel;
    this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + TUNNEL_IDLE_MS);
    return this;
  }

  /** Called by the tunnel's other end once it is ready: what the client sent early goes through. */
  tunnelStart(): void {
    const { bytes, from, to } = this.input;
    this.input.clear();
    if (to > from && !this.tunnel!.tunnelWrite(bytes, from, to)) this.pauseSocket();
    else this.resumeSocket();
    if (this.clientEnded) this.tunnel?.tunnelEnd();
  }

  // ── BodyFlow ──────────────────────────────────────────────────────────────────────────────────────────────────

  pauseBody(_ex: Exchange): void {
    this.bodyPaused = true;
  }

  resumeBody(_ex: Exchange): void {
    if (!this.bodyPaused) return;
    this.bodyPaused = false;
    this.pump();
  }

  // ── TunnelEnd: what the upstream sends ────────────────────────────────────────────────────────────────────────

  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.phase !== Phase.Tunnel) return true;
    this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + TUNNEL_IDLE_MS);
    this.current!.exchange.sentBytes += to - from;
    return this.writer.write(bytes, from, to);
  }

  tunnelEnd(): void {
    if (this.phase === Phase.Tunnel) this.endTunnel();
  }

  tunnelWritable(): void {
    this.resumeSocket();
  }

  tunnelClose(): void {
    if (this.phase === Phase.Tunnel) this.endTunnel();
  }

  private endTunnel(): void {
    this.tunnel = null;
    const request = this.current!;
    request.exchange.state = ExchangeState.Finished;
    request.exchange.pipeline.onEnd(request.exchange);
    this.release();
    this.startClosing(true);
  }

  // ── ending ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** RFC 9112 §9.3; a body that will not be read to its end cannot be followed by another request. */
  private decideClose(request: H1Request): void {
    const ex = request.exchange;
    if (ex.reply.close || this.ctx.draining) request.closeAfter = true;
    if (ex.bodyDone) return;
    const unsent = request.continuePending && this.input.length === 0;
    if (unsent || request.body.remaining - this.input.length > DRAIN_BYTES) request.closeAfter = true;
  }

  private finish(request: H1Request): void {
    const close = request.closeAfter;
    const refused = request.exchange.fault !== Fault.None;
    this.release();
    this.phase = Phase.Idle;
    if (close) this.startClosing(refused || this.input.length > 0);
  }

  private startDraining(request: H1Request): void {
    const ex = request.exchange;
    ex.body = this.ctx.idlePorts.body;
    this.bodyPaused = false;
    if (request.closeAfter) {
      this.release();
      this.startClosing(true);
      return;
    }
    this.phase = Phase.Draining;
    this.lingerBytes = request.body.wireBytes;
    this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + DRAIN_MS);
  }

  private endDraining(): void {
    const request = this.current!;
    const complete = request.exchange.bodyDone;
    this.release();
    this.phase = Phase.Idle;
    if (!complete) this.startClosing(true);
  }

  /** @param linger whether the client may still be sending, so that closing at once would destroy the answer */
  private startClosing(linger: boolean): void {
    this.input.clear();
    this.phase = Phase.Closing;
    this.lingerBytes = linger && !this.clientEnded ? LINGER_BYTES : 0;
    this.writer.flushTurn();
    if (this.writer.blocked) this.armWriteStall();
    else this.finishClosing();
  }

  private finishClosing(): void {
    if (this.lingerBytes === 0) {
      this.close();
      return;
    }
    this.phase = Phase.Lingering;
    this.socket.shutdown();
    this.resumeSocket();
    this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + LINGER_MS);
  }

  private onLateData(chunk: Uint8Array): void {
    if (this.phase === Phase.Tunnel) {
      this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + TUNNEL_IDLE_MS);
      if (!this.tunnel!.tunnelWrite(chunk, 0, chunk.length)) this.pauseSocket();
    } else if (this.phase === Phase.Lingering) {
      this.lingerBytes -= chunk.length;
      if (this.lingerBytes <= 0) this.reset();
    }
  }

  private cancel(request: H1Request): void {
    const ex = request.exchange;
    const begun = ex.state === ExchangeState.Open || ex.state === ExchangeState.Replying;
    if (begun) {
      ex.fault = Fault.Cancelled;
      ex.state = ExchangeState.Finished;
      ex.body.onBodyFault(ex, Fault.Cancelled);
      ex.source.onCancelled(ex);
      ex.pipeline.onEnd(ex);
    }
    this.ctx.giveRequest(request);
  }

  private enterIdle(): void {
    if (this.clientEnded || this.ctx.draining) this.startClosing(false);
    else this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + this.ctx.settings.idleTimeoutMs);
  }

  private release(): void {
    const request = this.current;
    this.current = null;
    if (request !== null) this.ctx.giveRequest(request);
  }

  private close(): void {
    this.writer.flushTurn();
    this.socket.end();
    this.enterClosed();
  }

  private reset(): void {
    const request = this.current;
    this.enterClosed();
    if (request !== null) this.cancel(request);
    this.socket.terminate();
  }

  private enterClosed(): void {
    this.phase = Phase.Closed;
    this.current = null;
    this.tunnel = null;
    this.input.clear();
    this.writer.close();
    this.ctx.wheel.remove(this.timer);
    this.ctx.observer.onClose();
  }

  // ── flow ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Input that nobody takes now is held by the kernel, not by us. */
  private balanceFlow(): void {
    if (this.phase >= Phase.Tunnel) return;
    const held = this.input.length > 0 && this.phase !== Phase.Head;
    if (held || this.bodyPaused) this.pauseSocket();
    else this.resumeSocket();
  }

  private pauseSocket(): void {
    if (this.socketPaused) return;
    this.socketPaused = true;
    this.socket.pause();
  }

  private resumeSocket(): void {
    if (!this.socketPaused) return;
    this.socketPaused = false;
    this.socket.resume();
  }

  private armBodyTimeout(): void {
    this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + this.ctx.settings.readTimeoutMs);
  }

  private armWriteStall(): void {
    this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + this.ctx.settings.writeTimeoutMs);
  }
}

/** A TLS client on the plain port cannot read an answer: 0x16 0x03 is a handshake record. */
function isTlsRecord(input: InputBuffer): boolean {
  return input.length >= 2 && input.bytes[input.from] === 0x16 && input.bytes[input.from + 1] === 0x03;
}
