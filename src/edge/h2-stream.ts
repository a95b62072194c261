import { Fault } from "../core/fault.ts";
import { H2_STREAM_WINDOW_BYTES } from "../core/limits.ts";
import { TimerNode, type TimerOwner } from "../core/timer-wheel.ts";
import type { ClientPeer } from "../message/client-peer.ts";
import {
  type BodyFlow,
  cancelExchange,
  Exchange,
  ExchangeState,
  finishExchange,
  type IdleExchangePorts,
} from "../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../message/header-block.ts";
import type { PrebuiltResponse } from "../message/prebuilt-response.ts";
import { Framing } from "../message/request-head.ts";
import type { UnsentOwner } from "../net/socket-buffers.ts";
import { ErrorCode } from "../proto/h2/frame.ts";
import { RecvFlow, StreamInflow } from "../proto/h2/recv-flow.ts";
import { type OutWay, SendFlow } from "../proto/h2/send-flow.ts";
import type { Session } from "../proto/h2/session.ts";
import { LineBuffer } from "../proto/hpack/line-buffer.ts";
import { asksRate, BodyPace, type BodyRoom, HeldBody, keepTrailers } from "./body-intake.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import type { H2HeadWriter } from "./h2-head-writer.ts";
import { H2ResponseSink, type H2ResponseStream } from "./h2-response-sink.ts";
import { DRAIN_BYTES, DRAIN_MS } from "./limits.ts";
import { ResponseStall } from "./response-stall.ts";

/** The connection, as its streams see it. */
export interface H2StreamConnection extends OutWay {
  readonly ctx: ClientSocketPorts;
  readonly peer: ClientPeer;
  readonly heads: H2HeadWriter;
  readonly streams: {
    /** The stream waits for its turn. */
    enqueue(stream: H2Stream): void;
    /** We have reset the stream: what the client had sent before it heard of it is passed over. */
    remember(streamId: number): void;
    /** The stream is closed. */
    forget(stream: H2Stream): void;
  };
  /** No further stream is accepted. */
  goAway(): void;
  /** After every event: sets the one timer, stops or goes on reading, and closes what is over. */
  settle(): void;
  /** An exception escaped: it costs the connection. */
  onException(error: unknown): void;
}

/**
 * One stream: a request and its response. RFC 9113 §5.1, seen from the server:
 *
 *   open ──client ends──▶ half-closed (remote) ──response ends──▶ closed
 *     └──response ends──▶ discarding (half-closed local) ──client ends, or enough is thrown away──▶ closed
 *
 * Pooled a worker: a connection holds as many as it has streams.
 */
export class H2Stream implements H2ResponseStream, BodyFlow, TimerOwner, UnsentOwner {
  readonly exchange: Exchange;
  /** Holds the request's head. */
  readonly lines: LineBuffer = new LineBuffer();
  readonly body: H2RequestBody = new H2RequestBody();
  readonly incoming: StreamInflow = this.body.inflow;
  private readonly pace: BodyPace = new BodyPace();
  readonly out: SendFlow = new SendFlow();
  id = 0;
  /** Whether the stream waits for the connection's window or for the kernel. */
  isQueued = false;
  /** Whether `100 Continue` has been asked for and not been sent. */
  continuePending = false;
  /** How the stream is reset after its response; -1 if it need not be. */
  resetBehind = -1;
  connection!: H2StreamConnection;
  readonly sink: H2ResponseSink = new H2ResponseSink(this);
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly stall: ResponseStall = new ResponseStall(this, this.timer);
  /** Counts the uses of this object, so that who calls out can see that the stream is over. */
  private uses = 0;
  /** The response is complete but for what waits. */
  private isEnding = false;
  /** A response that waits for the rest of the request's body; null when there is none. */
  private held: PrebuiltResponse | null = null;
  private isDiscarding = false;
  private discarded = 0;

  constructor(idle: IdleExchangePorts) {
    this.exchange = new Exchange(idle);
  }

  /** Takes a stream's number. */
  begin(connection: H2StreamConnection, id: number): void {
    this.connection = connection;
    this.id = id;
    this.uses++;
    this.pace.begin();
    this.isQueued = false;
    this.continuePending = false;
    this.resetBehind = -1;
    this.sink.asksTunnel = false;
    this.isEnding = false;
    this.held = null;
    this.isDiscarding = false;
    this.discarded = 0;
    this.out.begin(id, connection.session.peer.initialWindowBytes);
  }

  /** The head is there. @param fault why it is refused */
  start(fault: Fault, isEnd: boolean): void {
    const { connection, exchange: ex, uses } = this;
    ex.open(this.sink, this, connection.peer, connection.ctx.pipeline);
    this.body.begin(ex, this.id, connection.session, isEnd);
    if (fault !== Fault.None) {
      this.sink.abort(ex, fault);
      return;
    }
    this.continuePending = ex.request.expectContinue && !isEnd;
    if (this.sink.asksTunnel) this.incoming.isPaused = true;
    ex.pipeline.start(ex);
    if (this.uses === uses) this.awaitBody();
  }

  /** DATA has come; the connection's window is smaller by `flowBytes` already. */
  onData(bytes: Uint8Array, from: number, to: number, flowBytes: number, isEnd: boolean): void {
    const { incoming, exchange: ex, uses } = this;
    this.continuePending = false;
    const outcome = incoming.receive(to - from, flowBytes, isEnd);
    if (outcome === RecvFlow.BeyondWindow) this.connection.session.fail(ErrorCode.FlowControlError);
    else if (outcome === RecvFlow.WrongLength) this.failBody(Fault.LengthMismatch);
    else if (this.isDiscarding || this.held !== null) this.discard(flowBytes);
    else if (incoming.isPaused || incoming.holds) {
      const fault = this.body.keep(this.connection.ctx.bodies, ex, bytes, from, to);
      incoming.credit(flowBytes - (to - from));
      if (fault !== Fault.None) this.failBody(fault);
    } else {
      if (!ex.bodyDone) this.deliver(bytes, from, to);
      if (this.uses === uses) incoming.credit(flowBytes);
    }
  }

  /** The request ends with trailers. @param fault why they are refused */
  onTrailers(fault: Fault, trailers: HeaderBlock | null): void {
    const { body, incoming, exchange: ex } = this;
    const found = body.endWithTrailers(ex, trailers, this.connection.ctx.settings.maxFields);
    if (fault !== Fault.None || found !== Fault.None) this.failBody(fault === Fault.None ? found : fault);
    else if (this.isDiscarding || this.held !== null) this.discard(0);
    else if (!incoming.isPaused && !incoming.holds && !ex.bodyDone) this.deliver(NO_BYTES, 0, 0);
  }

  /** The client gives the stream up, or is gone. */
  onCancelled(): void {
    const { exchange: ex, uses } = this;
    cancelExchange(ex, this.connection.ctx.turn.nowMs);
    if (this.uses === uses) this.release();
  }

  /** The client has ended its direction: neither the rest of a body nor a larger window will come. */
  onClientEnd(): void {
    const { connection, incoming, out, stall } = this;
    if (this.isDiscarding) this.resetAndRelease(ErrorCode.NoError);
    else if (!incoming.isEnded) this.failBody(Fault.BodyTruncated);
    else if (stall.isWaiting && Math.min(out.window, connection.session.sendWindow) <= 0) this.cut(ErrorCode.Cancel);
  }

  /** Hands a piece on, and the end after it where it is the last. */
  private deliver(bytes: Uint8Array, from: number, to: number): void {
    const { exchange: ex, incoming, uses } = this;
    ex.bodyBytes += to - from;
    const isOpenEnded = ex.request.framing === Framing.Chunked;
    if (isOpenEnded && ex.maxBodyBytes > 0 && ex.bodyBytes > ex.maxBodyBytes) {
      this.failBody(Fault.BodyTooLarge);
      return;
    }
    const isLast = incoming.isEnded && !incoming.holds;
    if (isLast) ex.bodyDone = true;
    if (to > from) ex.body.onBody(ex, bytes, from, to);
    if (this.uses !== uses || this.isDiscarding) return;
    if (isLast) ex.body.onBodyEnd(ex);
    if (this.uses === uses) this.awaitBody();
  }

  /** The body cannot be completed: its taker learns of it, the client gets the refusal or, with a response begun, a reset. */
  private failBody(fault: Fault): void {
    const { exchange: ex, uses } = this;
    if (this.isDiscarding) {
      this.resetAndRelease(ErrorCode.ProtocolError);
      this.connection.session.noteReset();
      return;
    }
    if (ex.state === ExchangeState.Finished) return;
    this.held = null;
    ex.body.onBodyFault(ex, fault);
    ex.source.onCancelled(ex);
    if (this.uses === uses) this.sink.abort(ex, fault);
  }

  /**
   * Anything after the response is discarded for DRAIN_MS. The window of the stream does not open for it, which bounds
   * it, and the client has time to read the response before the reset. docs/bodies.md#unread-bodies
   */
  private discard(flowBytes: number): void {
    this.discarded += flowBytes;
    if (this.held !== null) {
      if (this.incoming.isEnded || this.discarded > DRAIN_BYTES) this.sendHeld();
    } else if (this.incoming.isEnded) this.release();
  }

  /**
   * A response that needs no body waits a moment for it: so a malformed request is still refused, and a client that reads
   * only after writing gets its response. @returns false if there is nothing to wait for
   */
  hold(response: PrebuiltResponse): boolean {
    const { exchange: ex, connection, incoming } = this;
    const isShort = ex.request.contentLength <= DRAIN_BYTES;
    if (ex.bodyDone || incoming.isEnded || this.continuePending || !isShort || this.held !== null) return false;
    this.held = response;
    this.forgetBody(ex);
    connection.ctx.wheel.arm(this.timer, connection.ctx.turn.nowMs + DRAIN_MS);
    return true;
  }

  private sendHeld(): void {
    const { exchange: ex, held } = this;
    this.held = null;
    ex.bodyDone = true;
    this.connection.ctx.wheel.disarm(this.timer);
    this.sink.fixed(ex, held!);
  }

  /** What comes of the body from here on is thrown away. */
  private forgetBody(ex: Exchange): void {
    const { idlePorts } = this.connection.ctx;
    ex.body = idlePorts.body;
    ex.flow = idlePorts.flow;
    ex.source = idlePorts.source;
    this.body.drop();
    this.incoming.isPaused = false;
  }

  /** Sets the time that the client has for more of its body, where it is its turn. */
  private awaitBody(): void {
    if (this.stall.isWaiting || this.isDiscarding || this.held !== null) return;
    const { wheel, turn, settings } = this.connection.ctx;
    const { exchange: ex, incoming } = this;
    const isDue = !ex.bodyDone && !incoming.isPaused && !incoming.isEnded && ex.state === ExchangeState.Open;
    if (isDue && !asksRate(ex)) {
      this.pace.stop(turn.nowMs);
      wheel.arm(this.timer, turn.nowMs + settings.readTimeoutMs);
    } else if (isDue) wheel.arm(this.timer, turn.nowMs + this.pace.wait(turn.nowMs, ex.bodyBytes, settings));
    else {
      this.pace.stop(turn.nowMs);
      wheel.disarm(this.timer);
    }
  }

  pauseBody(_ex: Exchange): void {
    this.incoming.isPaused = true;
    this.awaitBody();
  }

  resumeBody(ex: Exchange): void {
    const { incoming, uses } = this;
    if (!incoming.isPaused) return;
    incoming.isPaused = false;
    while (this.uses === uses && !incoming.isPaused && !this.isDiscarding) {
      const piece = this.body.nextKept();
      if (piece === null) break;
      this.deliver(piece, 0, piece.length);
      if (this.uses === uses) incoming.credit(piece.length);
    }
    if (this.uses !== uses || incoming.isPaused || this.isDiscarding) return;
    if (incoming.isEnded && !ex.bodyDone) this.deliver(NO_BYTES, 0, 0);
    else this.awaitBody();
  }

  /** Sends response bytes. @returns false when the source should hold */
  send(bytes: Uint8Array, from: number, to: number, isEnd: boolean): boolean {
    this.out.send(bytes, from, to, isEnd, this.connection);
    if (this.out.waiting === 0) return true;
    this.holdBack(0);
    return false;
  }

  /** The response is complete; what waits goes first. */
  endResponse(): void {
    const { exchange: ex, connection } = this;
    this.isEnding = true;
    ex.source = connection.ctx.idlePorts.source;
    if (this.out.waiting === 0) this.complete();
  }

  /** The windows or the kernel let more through. */
  onWindow(): void {
    if (this.out.waiting === 0) return;
    const sent = this.out.flush(this.connection);
    if (this.out.waiting > 0) {
      this.holdBack(sent);
      return;
    }
    this.stall.stop(this.connection.ctx);
    if (this.isEnding) this.complete();
    else {
      this.awaitBody();
      this.exchange.source.onWritable(this.exchange);
    }
  }

  /** Some of the response waits, still or again. @param sent bytes that went out since it was said last */
  private holdBack(sent: number): void {
    const { out, connection } = this;
    this.stall.wait(connection.ctx, out.keptBytes, sent);
    if (out.window > 0) connection.streams.enqueue(this);
  }

  onTimer(): void {
    if (this.isDiscarding) this.resetAndRelease(ErrorCode.NoError);
    else if (this.stall.isWaiting) this.abandon();
    else if (this.held !== null) {
      // The time to drain the body is over with that in which the response has waited for it.
      this.resetBehind = ErrorCode.NoError;
      this.sendHeld();
    } else {
      const { turn, settings } = this.connection.ctx;
      this.failBody(this.pace.fault(turn.nowMs, settings));
    }
  }

  /** One that escaped from the timer. */
  onException(error: unknown): void {
    this.connection.onException(error);
  }

  /** The client does not take the response, or too much waits for too many clients. */
  abandon(): void {
    this.cut(ErrorCode.Cancel);
    this.connection.settle();
  }

  /** Resets the stream, and stops its handler. */
  cut(code: ErrorCode): void {
    const { connection } = this;
    connection.session.reset(this.id, code);
    connection.streams.remember(this.id);
    this.onCancelled();
  }

  private complete(): void {
    const { exchange: ex, connection, out } = this;
    if (!out.isEnded) {
      if (ex.response.trailers === null) out.end(connection);
      else connection.heads.trailers(this, ex.response.trailers);
    }
    this.finish(ex);
    if (this.resetBehind === ErrorCode.ProtocolError) this.resetAndRelease(ErrorCode.ProtocolError);
    else if (this.incoming.isEnded) this.release();
    else if (this.resetBehind >= 0) this.resetAndRelease(this.resetBehind);
    else {
      this.forgetBody(ex);
      this.isDiscarding = true;
      connection.ctx.wheel.arm(this.timer, connection.ctx.turn.nowMs + DRAIN_MS);
    }
  }

  /** The exchange is over: the taps are notified. */
  finish(ex: Exchange): void {
    finishExchange(ex, this.connection.ctx.turn.nowMs);
  }

  /** Resets the stream; late frames of it are passed over. */
  resetAndRelease(code: ErrorCode): void {
    const { connection } = this;
    connection.session.reset(this.id, code);
    connection.streams.remember(this.id);
    this.release();
  }

  /** The stream is closed. */
  private release(): void {
    const { connection } = this;
    this.uses++;
    this.stall.stop(connection.ctx);
    this.out.clear();
    this.body.drop();
    connection.ctx.wheel.remove(this.timer);
    connection.streams.forget(this);
  }
}

const NO_BYTES: Uint8Array = new Uint8Array(0);

/** The request body of one stream, whose own window bounds what is kept of it. */
class H2RequestBody {
  readonly inflow: StreamInflow = new StreamInflow(H2_STREAM_WINDOW_BYTES);
  private readonly held: HeldBody = new HeldBody(this.inflow);

  /** Makes ready for the body of this request. @param isEnd whether it has none, since its stream has ended */
  begin(ex: Exchange, streamId: number, session: Session, isEnd: boolean): void {
    const { request } = ex;
    this.inflow.begin(streamId, session);
    const isDeclared = isEnd || request.headers.find(HeaderId.ContentLength) >= 0;
    this.inflow.declare(isDeclared ? request.contentLength : -1, isEnd);
    ex.bodyDone = isEnd || !request.hasBody();
  }

  /** The stream has ended with trailers. @returns Fault.None, or why they or the body are refused */
  endWithTrailers(ex: Exchange, trailers: HeaderBlock | null, maxFields: number): Fault {
    const outcome = this.inflow.receive(0, 0, true);
    return outcome === RecvFlow.WrongLength ? Fault.LengthMismatch : keepTrailers(ex, trailers, maxFields);
  }

  /** Keeps a piece that its taker has not asked for. @returns Fault.None, or why there is no room for it */
  keep(room: BodyRoom, ex: Exchange, bytes: Uint8Array, from: number, to: number): Fault {
    return this.held.keep(room, ex, bytes, from, to);
  }

  /** Takes the next kept piece; null when there is none. */
  nextKept(): Buffer | null {
    return this.held.next();
  }

  /** Lets go of the kept data. */
  drop(): void {
    this.held.drop();
  }
}
