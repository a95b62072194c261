import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { H2_STREAM_WINDOW_BYTES, MAX_INTERIM_RESPONSES } from "../core/limits.ts";
import { TimerNode, type TimerOwner } from "../core/timer-wheel.ts";
import {
  type BodySink,
  type Exchange,
  ExchangeState,
  type ResponseSource,
  type UpstreamCaller,
} from "../message/exchange.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import type { SocketWriter } from "../net/socket-buffers.ts";
import { tellsFailure } from "../proto/grpc/grpc-status.ts";
import { markInternalFields } from "../proto/h1/internal-fields.ts";
import { isPassedOn } from "../proto/h1/response-parser.ts";
import { ErrorCode, Flag, FRAME_HEADER_BYTES } from "../proto/h2/frame.ts";
import { commitHeaders } from "../proto/h2/header-frames.ts";
import { RecvFlow, StreamInflow } from "../proto/h2/recv-flow.ts";
import { encodeRequestBlock, requestBlockBound } from "../proto/h2/request-block.ts";
import { blockBound, encodeTrailerBlock } from "../proto/h2/response-block.ts";
import type { ResponseHeadReader } from "../proto/h2/response-head-reader.ts";
import { type OutWay, SendFlow } from "../proto/h2/send-flow.ts";
import type { Session } from "../proto/h2/session.ts";
import type { HpackEncoder } from "../proto/hpack/encoder.ts";
import { LineBuffer } from "../proto/hpack/line-buffer.ts";
import { latenessDetail, reportFailure } from "./failure-detail.ts";
import { CONSENT_MS, MAX_INTERIM_BYTES } from "./limits.ts";
import type { OriginSettings, UpstreamSocketPorts } from "./origin-socket.ts";
import { isTooMuch, isWholeBody } from "./request-writer.ts";
import { expectedBodyBytes, type SendRoom } from "./send-room.ts";
import { SentStart, StartedBody, type StartRoom } from "./sent-start.ts";

/** The connections of an origin, as a stream sees them. */
export interface StreamPool {
  /** Whether nothing is known of the origin's name yet. */
  readonly awaitsName: boolean;
  /** The step at which a new connection waits. */
  readonly connectLateness: FaultDetail;
  /** A stream is over, or does not wait any more. @param connection null if it has never had one */
  onStreamOver(stream: H2UpstreamStream, connection: StreamConnection | null): void;
}

/** The connection of a stream. */
export interface StreamConnection extends OutWay {
  readonly session: Session;
  readonly writer: SocketWriter;
  readonly pool: { readonly settings: OriginSettings; readonly context: UpstreamSocketPorts };
  readonly streams: StreamSiblings;
  readonly sendRoom: SendRoom;
  /** When the origin was last heard of, in milliseconds of the turn. */
  readonly heardMs: number;
  /** Whether the origin has said how many streams it takes, or is not waited for any more. */
  readonly isSettled: boolean;
  /** The id in the origin's certificate, for a sidecar. */
  readonly serverId: string;
  /** Whether an exchange has come to its end here. */
  isProven: boolean;
  /** Takes no further streams, and closes when those that are there are over. */
  retire(): void;
}

/** The streams of a connection, as one of them sees them. */
export interface StreamSiblings {
  readonly encoder: HpackEncoder;
  readonly heads: ResponseHeadReader;
  /** Whether the origin has retired the connection in order, after it took streams there. */
  readonly endsInOrder: boolean;
  /** The stream waits for its turn to send. */
  enqueue(stream: H2UpstreamStream): void;
  /** Holds a response's head until all that has come is read. */
  hold(stream: H2UpstreamStream): void;
  /** The origin has reset a stream before its response was whole. */
  noteReset(streamId: number, code: ErrorCode): void;
  /** Gives up a stream. @param isEarly whether the origin has said nothing of it @param isWhole whether all of the request has been sent */
  letGo(streamId: number, code: ErrorCode, isEarly: boolean, isWhole: boolean): void;
}

/**
 *   Waiting ──a connection with room──▶ AwaitingHead ──final head──▶ HoldingHead ──what came with it is read──▶ ReadingBody ──end──▶ Over
 */
const enum Stage {
  Waiting = 0,
  AwaitingHead,
  /** Nothing has been handed on: what comes right after the head may still be malformed, and then the response is 502. */
  HoldingHead,
  ReadingBody,
  Over,
}

/** One exchange with an origin as a stream of HTTP/2: both bodies may flow at the same time. Pooled. */
export class H2UpstreamStream implements BodySink, ResponseSource, TimerOwner {
  id = 0;
  isQueued = false;
  ex: Exchange | null = null;
  /** Holds the response's head. */
  readonly lines: LineBuffer = new LineBuffer();
  readonly out: SendFlow = new SendFlow();
  private readonly context: UpstreamSocketPorts;
  private readonly inflow: StreamInflow = new StreamInflow(H2_STREAM_WINDOW_BYTES);
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly start: SentStart;
  /** Whether bytes are being sent, so that it is not known how many have been. */
  private isSending = false;
  private pool!: StreamPool;
  /** Null while it waits for one. */
  private connection: StreamConnection | null = null;
  /** The first connection that will do, by its number; see H2OriginPool.sendFresh. */
  leastSerial = 0;
  private caller!: UpstreamCaller;
  /** Whether it waits for a connection to be made, rather than for room on one. */
  awaitsConnection = false;
  /** When the time for the response is over, if it has begun to run before the request went out; else 0. */
  private dueMs = 0;
  private stage: Stage = Stage.Over;
  private holdsBody = false;
  /** Bytes of the request's body that were handed to this attempt, and whether anything of it was, its end included. */
  private bodyBytes = 0;
  private bodyTaken = false;
  /** Bytes that the request's body may have, as far as is known; -1 if there is none. */
  expectedBytes = -1;
  /** What has been pledged for it on the connection; -1 if nothing is, before it and after it. */
  private pledged = -1;
  /** The request's body is complete, but for what waits. */
  private endsBody = false;
  /** Whether the origin has been asked whether it wants the body, and has said nothing yet. */
  private asks = false;
  private reused = false;
  /** Whether anything of a response has come. */
  private answered = false;
  /** Whether all of the response has come, and is in order. */
  private isWhole = false;
  private interims = 0;
  private interimBytes = 0;
  private startedMs = 0;

  constructor(context: UpstreamSocketPorts, starts: StartRoom) {
    this.context = context;
    this.start = new SentStart(starts);
  }

  /** Takes an exchange, whose body waits for the connection. @param leastSerial number of the first connection that will do */
  begin(pool: StreamPool, ex: Exchange, caller: UpstreamCaller, leastSerial: number): void {
    this.pool = pool;
    this.connection = null;
    this.leastSerial = leastSerial;
    this.caller = caller;
    this.ex = ex;
    this.id = 0;
    this.isQueued = false;
    this.awaitsConnection = false;
    this.dueMs = 0;
    this.stage = Stage.Waiting;
    this.endsBody = false;
    this.bodyBytes = 0;
    this.bodyTaken = false;
    this.answered = false;
    this.isWhole = false;
    this.interims = 0;
    this.interimBytes = 0;
    ex.body = this;
    ex.source = this;
    this.holdsBody = ex.request.hasBody();
    this.expectedBytes = this.holdsBody ? expectedBodyBytes(ex) : -1;
    this.pledged = -1;
    this.isSending = false;
    this.start.begin(!this.holdsBody || ex.replay?.isKept === true || caller.repeatsBodies !== true);
    if (this.holdsBody) ex.flow.pauseBody(ex);
  }

  /** Whether the head of its response has come. */
  get hasHead(): boolean {
    return this.stage === Stage.HoldingHead || this.stage === Stage.ReadingBody;
  }

  get awaitsHead(): boolean {
    return this.stage === Stage.AwaitingHead;
  }

  get connectMs(): number {
    return this.caller.times.connectMs;
  }

  /**
   * No connection has room yet.
   * @param isConnecting whether there is none, so that one is waited for; else the time for the response begins to run
   */
  wait(isConnecting: boolean): void {
    const { connectMs, responseHeaderMs } = this.caller.times;
    this.awaitsConnection = isConnecting;
    if (!isConnecting && responseHeaderMs > 0) this.dueMs = this.context.turn.nowMs + responseHeaderMs;
    this.arm(isConnecting ? connectMs : responseHeaderMs);
  }

  /** There is a connection with room: the request goes out. @param reused whether others went before */
  open(connection: StreamConnection, id: number, reused: boolean): void {
    const { caller } = this;
    const { session, writer } = connection;
    const ex = this.ex!;
    this.connection = connection;
    this.id = id;
    this.reused = reused;
    this.stage = Stage.AwaitingHead;
    this.startedMs = this.context.turn.nowMs;
    this.out.begin(id, session.peer.initialWindowBytes);
    this.inflow.begin(id, session);
    this.asks = ex.request.expectContinue && ex.request.hasBody() && ex.sink.awaitsConsent?.(ex) === true;
    ex.attempt.asksOrigin = this.asks;
    const head = Buffer.allocUnsafe(caller.requestBound(ex));
    const headEnd = caller.encodeRequest(ex, head, 0);
    const out = writer.reserve(FRAME_HEADER_BYTES + requestBlockBound(headEnd));
    const at = writer.offset + FRAME_HEADER_BYTES;
    const isTls = connection.pool.settings.tls !== null;
    const end = encodeRequestBlock(connection.streams.encoder, out, at, head, headEnd, isTls);
    const hasBody = ex.request.hasBody();
    commitHeaders(writer, out, end, id, hasBody ? Flag.None : Flag.EndStream);
    session.noteSent(1);
    if (hasBody) this.pledge(connection, this.expectedBytes);
    else this.out.isEnded = true;
    // The time for the response runs while the body is held; while it comes, the client's own times do.
    if (hasBody && connection.isSettled) this.letBodyCome(ex);
    else this.arm(this.dueMs === 0 ? caller.times.responseHeaderMs : Math.max(1, this.dueMs - this.startedMs));
  }

  /** The origin's SETTINGS have come: a body is worth sending now. */
  onSettled(): void {
    const { ex } = this;
    if (ex !== null && this.stage !== Stage.Over && this.holdsBody && this.out.waiting === 0) this.letBodyCome(ex);
  }

  private letBodyCome(ex: Exchange): void {
    if (this.asks) return this.arm(CONSENT_MS);
    if (this.stage === Stage.AwaitingHead) this.arm(0);
    ex.sink.wantBody(ex);
    if (this.ex === ex) this.releaseBody(ex);
  }

  /** The origin wants the body, or has taken too long to say so. */
  private consent(): void {
    this.asks = false;
    this.letBodyCome(this.ex!);
  }

  // ── the request's body ────────────────────────────────────────────────────────────────────────────────────────

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex !== ex || from === to || this.out.isEnded) return;
    this.bodyTaken = true;
    this.bodyBytes += to - from;
    if (this.connection === null || isTooMuch(ex, this.bodyBytes)) return this.breakOff();
    this.send(bytes, from, to, this.connection);
    if (this.out.waiting === 0) return;
    this.holdsBody = true;
    // Once the response has begun, its own times run.
    if (this.stage === Stage.AwaitingHead) this.arm(this.caller.times.responseHeaderMs);
    ex.flow.pauseBody(ex);
    this.enqueue();
  }

  private send(bytes: Uint8Array, from: number, to: number, connection: StreamConnection): void {
    const { out, start } = this;
    const goesFirst = out.waiting === 0;
    this.isSending = true;
    out.send(bytes, from, to, false, connection);
    this.isSending = false;
    if (goesFirst) start.note(bytes, from, to - out.waiting);
  }

  /** Sends what waits, as far as it may go. */
  private sendWaiting(connection: StreamConnection): void {
    const { out, start } = this;
    const waiting = start.isWhole ? out.waitingBytes : null;
    this.isSending = true;
    out.flush(connection);
    this.isSending = false;
    if (waiting !== null) start.note(waiting, 0, waiting.length - out.waiting);
  }

  /** The origin has shown that it has taken the request up: it will not leave it out. */
  noteTaken(): void {
    if (this.start.isWhole) this.start.drop();
  }

  onBodyEnd(ex: Exchange): void {
    if (this.ex !== ex || this.out.isEnded) return;
    this.bodyTaken = true;
    if (this.connection === null || !isWholeBody(ex, this.bodyBytes)) return this.breakOff();
    this.endsBody = true;
    ex.attempt.bodyEndedMs = this.context.turn.nowMs;
    if (this.out.waiting === 0) this.endBody(ex, this.connection);
  }

  onBodyFault(ex: Exchange, fault: Fault): void {
    if (this.ex !== ex) return;
    if (fault === Fault.UpstreamTimeout && this.out.isEnded) this.leaveSilent();
    this.giveUp();
  }

  /** What was handed over is not the client's own data: the origin must not take it for a body. */
  private breakOff(): void {
    this.letGo(ErrorCode.InternalError);
    this.fail(Fault.InternalError, FaultDetail.None, true);
  }

  /** The windows or the kernel let more through. */
  onWindow(): void {
    const { ex, connection } = this;
    if (this.out.waiting === 0 || ex === null || connection === null) return;
    this.sendWaiting(connection);
    if (this.out.waiting > 0) this.enqueue();
    else if (this.endsBody) this.endBody(ex, connection);
    else if (this.holdsBody) {
      if (this.stage === Stage.AwaitingHead) this.arm(0);
      this.releaseBody(ex);
    }
  }

  /** What the body may take of the connection's window is kept from others; of one whose length is not known, all that it may. */
  private pledge({ session, sendRoom }: StreamConnection, bytes: number): void {
    this.pledged = Math.min(bytes, session.peer.initialWindowBytes);
    sendRoom.begin(this.pledged);
  }

  /** All of the body has been sent, or nothing more of it will be. */
  private endPledge(): void {
    if (this.pledged >= 0) this.connection!.sendRoom.end(this.pledged);
    this.pledged = -1;
  }

  private endBody(ex: Exchange, connection: StreamConnection): void {
    this.endPledge();
    const { trailers } = ex.request;
    if (trailers === null) this.out.end(connection);
    else {
      const { writer } = connection;
      const out = writer.reserve(FRAME_HEADER_BYTES + blockBound(trailers));
      const at = writer.offset + FRAME_HEADER_BYTES;
      const end = encodeTrailerBlock(connection.streams.encoder, out, at, trailers);
      commitHeaders(writer, out, end, this.id, Flag.EndStream);
      this.out.isEnded = true;
    }
    if (this.stage === Stage.AwaitingHead) this.arm(this.caller.times.responseHeaderMs);
  }

  private enqueue(): void {
    if (this.out.window > 0) this.connection!.streams.enqueue(this);
  }

  private releaseBody(ex: Exchange): void {
    this.holdsBody = false;
    ex.flow.resumeBody(ex);
  }

  // ── the response ─────────────────────────────────────────────────────────────────────────────────────────────

  /** A head is in the exchange's response. */
  onHead(isGood: boolean, isEnd: boolean): void {
    const ex = this.ex!;
    const { streams } = this.connection!;
    const { heads } = streams;
    this.answered = true;
    this.noteTaken();
    this.connection!.isProven = true;
    if (!isGood) return this.refuse(heads.detail);
    if (heads.status < 200 && isEnd) return this.refuse(FaultDetail.BadStatus);
    if (heads.status < 200) {
      this.interimBytes += heads.listBytes;
      if (this.interimBytes > MAX_INTERIM_BYTES) return this.refuse(FaultDetail.HeadTooLarge);
      if (heads.status === 100 && this.asks) this.consent();
      else if (++this.interims <= MAX_INTERIM_RESPONSES) this.passInterim(ex, heads.status);
      return;
    }
    this.asks = false;
    if (isEnd) ex.attempt.grpcFailed = tellsFailure(ex.response.headers);
    heads.describe(ex.response, ex.request.method, isEnd);
    const isBodyless = ex.response.withoutBody || heads.status === 204;
    if (isEnd && !isBodyless && heads.contentLength > 0) return this.refuse(FaultDetail.BadLength);
    ex.attempt.upstreamMs = this.context.turn.nowMs - this.startedMs;
    ex.attempt.serverId = this.connection!.serverId;
    this.inflow.declare(isBodyless ? 0 : heads.contentLength, isEnd);
    this.inflow.isPaused = true;
    this.isWhole = isEnd;
    this.stage = Stage.HoldingHead;
    streams.hold(this);
  }

  /** The origin is at work, and has its time anew. */
  private passInterim(ex: Exchange, status: number): void {
    if (this.out.isEnded || (this.out.waiting > 0 && !this.asks)) this.arm(this.caller.times.responseHeaderMs);
    if (isPassedOn(status)) this.caller.onInterim(ex, status, ex.response.headers);
  }

  /** All that came together with the head has been read: the response goes on to the client. */
  announce(): void {
    if (this.stage !== Stage.HoldingHead) return;
    const ex = this.ex!;
    this.stage = Stage.ReadingBody;
    this.arm(this.caller.times.idleMs);
    this.caller.onResponseHead(ex);
    this.onWritable(ex);
  }

  onData(bytes: Uint8Array, from: number, to: number, flowBytes: number, isEnd: boolean): void {
    const { ex, inflow } = this;
    if (ex === null || this.isWhole) return;
    if (this.stage < Stage.HoldingHead) return this.refuse(FaultDetail.H2Protocol);
    const outcome = inflow.receive(to - from, flowBytes, isEnd);
    if (outcome === RecvFlow.BeyondWindow) return this.connection!.session.fail(ErrorCode.FlowControlError);
    if (outcome === RecvFlow.WrongLength) return this.refuse(FaultDetail.BadLength);
    this.isWhole = isEnd;
    if (inflow.isPaused || inflow.holds) {
      inflow.keep(bytes, from, to);
      inflow.credit(flowBytes - (to - from));
      return;
    }
    this.arm(this.caller.times.idleMs);
    if (to > from) this.hand(ex, bytes, from, to);
    if (this.ex !== ex) return;
    inflow.credit(flowBytes);
    if (isEnd && !inflow.isPaused) this.complete(ex);
  }

  onTrailers(isGood: boolean, trailers: HeaderBlock | null): void {
    const { ex, inflow } = this;
    if (ex === null || this.isWhole) return;
    if (!isGood) return this.refuse(FaultDetail.BadField);
    if (inflow.receive(0, 0, true) !== RecvFlow.Taken) return this.refuse(FaultDetail.BadLength);
    if (trailers !== null) {
      ex.response.trailers = ex.response.trailerBlock();
      ex.response.trailers.copyFrom(trailers);
      ex.attempt.grpcFailed = tellsFailure(trailers);
      markInternalFields(ex.response.trailers);
    }
    this.isWhole = true;
    if (!inflow.isPaused && !inflow.holds) this.complete(ex);
  }

  /** RFC 9113 §8.7: a refused stream has not been processed; §8.1: after a whole response, the rest of the request is unwanted. */
  onReset(code: ErrorCode): void {
    const { connection } = this;
    if (this.isWhole) {
      this.out.clear();
      this.out.isEnded = true;
    } else connection!.streams.noteReset(this.id, code);
    const isRefused = code === ErrorCode.RefusedStream;
    const isLeftOut = isRefused && connection!.streams.endsInOrder;
    const fault = this.caller.resetFault ?? Fault.UpstreamUnavailable;
    this.fail(fault, FaultDetail.H2Reset, !isRefused, isLeftOut);
  }

  onWritable(ex: Exchange): void {
    const { inflow } = this;
    if (this.ex !== ex || !inflow.isPaused) return;
    inflow.isPaused = false;
    this.arm(this.caller.times.idleMs);
    while (this.ex === ex && !inflow.isPaused) {
      const piece = inflow.nextKept();
      if (piece === null) break;
      this.hand(ex, piece, 0, piece.length);
      if (this.ex === ex) inflow.credit(piece.length);
    }
    if (this.ex === ex && this.isWhole && !inflow.holds && !inflow.isPaused) this.complete(ex);
  }

  onCancelled(ex: Exchange): void {
    if (this.ex === ex) this.giveUp();
  }

  onTimer(): void {
    if (this.connection === null) {
      if (this.pool.awaitsName) return this.fail(Fault.NameUnresolved, FaultDetail.DnsTimeout, false);
      const detail = this.awaitsConnection ? this.pool.connectLateness : FaultDetail.FirstByteTimeout;
      return this.fail(Fault.UpstreamTimeout, detail, false);
    }
    if (this.asks && this.stage === Stage.AwaitingHead) return this.consent();
    const hasBegun = this.answered || this.connection.session.isWithinBlockOf(this.id);
    const detail = latenessDetail(this.stage === Stage.ReadingBody, hasBegun);
    this.leaveSilent();
    this.letGo(ErrorCode.Cancel);
    this.fail(Fault.UpstreamTimeout, detail, true);
  }

  /** The time is over, and if nothing at all has come since the request began, the next exchange must not wait here. */
  private leaveSilent(): void {
    const { connection, startedMs } = this;
    if (connection !== null && connection.heardMs < startedMs) connection.retire();
  }

  /**
   * Something went wrong. Before the response's head was handed on the caller decides; after it the client's response is cut.
   * What has come whole is not harmed by what becomes of the connection.
   * @param leftOut see UpstreamFailure
   */
  fail(fault: Fault, detail: FaultDetail, sent: boolean, leftOut = false): void {
    const { ex, caller, answered, reused, stage, bodyTaken, connection } = this;
    if (ex === null) return;
    if (this.isWhole && fault !== Fault.InternalError) return this.announce();
    const isSent = answered || (sent && stage !== Stage.Waiting);
    if (!isSent && bodyTaken) this.giveBack(ex);
    this.release(ex);
    if (ex.state === ExchangeState.Finished) return;
    // The dial reports its own failure; a connection that retires in order has not failed.
    if (connection !== null && detail !== FaultDetail.None && !leftOut)
      reportFailure(connection, detail, undefined, ex.response.requestId());
    if (stage === Stage.ReadingBody) {
      ex.attempt.detail = detail;
      ex.sink.abort(ex, fault);
    } else {
      caller.onFailure(ex, { fault, detail, sent: isSent, bodyTaken, answered, reused, leftOut: leftOut && !isSent });
    }
  }

  /** The origin has not looked at the request: what is gone of its body can be sent once more, if it is still there. */
  private giveBack(ex: Exchange): void {
    const { start, out } = this;
    if (!start.isWhole || this.isSending || ex.state === ExchangeState.Finished) return;
    new StartedBody(ex, start.join(out.waitingBytes), this.endsBody);
  }

  private hand(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (ex.sink.body(ex, bytes, from, to) || this.ex !== ex) return;
    this.inflow.isPaused = true;
    this.arm(0);
  }

  private complete(ex: Exchange): void {
    // A response that did not need all of the request: the rest of it is not wanted any more.
    if (!this.out.isEnded) this.letGo(ErrorCode.Cancel);
    this.release(ex);
    ex.sink.end(ex);
  }

  private refuse(detail: FaultDetail): void {
    this.letGo(ErrorCode.ProtocolError);
    this.fail(Fault.UpstreamMalformed, detail, true);
  }

  /** The client does not wait any more, or does not send what it announced. */
  private giveUp(): void {
    this.letGo(ErrorCode.Cancel);
    this.release(this.ex!);
  }

  /** The origin need not go on. */
  private letGo(code: ErrorCode): void {
    this.connection?.streams.letGo(this.id, code, !this.answered, this.out.isEnded);
  }

  private arm(ms: number): void {
    if (ms > 0) this.context.wheel.arm(this.timer, this.context.turn.nowMs + ms);
    else this.context.wheel.disarm(this.timer);
  }

  private release(ex: Exchange): void {
    this.ex = null;
    this.stage = Stage.Over;
    this.holdsBody = false;
    this.out.clear();
    this.inflow.drop();
    this.endPledge();
    this.start.drop();
    this.context.wheel.remove(this.timer);
    ex.body = this.context.idlePorts.body;
    ex.source = this.context.idlePorts.source;
    this.pool.onStreamOver(this, this.connection);
  }
}
