import { offsetBehind } from "../core/bytes.ts";
import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { Leniency } from "../core/leniency.ts";
import { MAX_INTERIM_RESPONSES } from "../core/limits.ts";
import type { TimerOwner } from "../core/timer-wheel.ts";
import {
  type BodySink,
  type Exchange,
  ExchangeState,
  type ResponseSource,
  type Upstream,
  type UpstreamCaller,
} from "../message/exchange.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import { Framing, type ResponseHead } from "../message/request-head.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { InputBuffer, type SocketWriter } from "../net/socket-buffers.ts";
import { ChunkEvent, ChunkedDecoder, ChunkState, MAX_CHUNKED_BYTES } from "../proto/h1/chunked-decoder.ts";
import { LenientResponseParser } from "../proto/h1/lenient-response-parser.ts";
import { NEED_MORE } from "../proto/h1/outcome.ts";
import { authenticatesConnection } from "../proto/h1/request-rules.ts";
import { isPassedOn, ResponseParser } from "../proto/h1/response-parser.ts";
import { isFramingTrailer } from "../proto/h1/trailer-names.ts";
import { dialLateness, hasFailed, headDetail, latenessDetail, lossDetail, reportFailure } from "./failure-detail.ts";
import { CONSENT_MS, MAX_INTERIM_BYTES, MAX_UPSTREAM_CONNECTION_MS, SPARE_CONNECTION_MS } from "./limits.ts";
import {
  awaitsName,
  type ConnectFailure,
  connectSocket,
  lostHandshake,
  type OriginSettings,
  UpstreamLink,
  type UpstreamSocketPorts,
} from "./origin-socket.ts";
import { serverIdOf } from "./origin-trust.ts";
import { OriginTunnel } from "./origin-tunnel.ts";
import { asksFirst, endRequestBody, isTooMuch, isWholeBody, writeRequestBody } from "./request-writer.ts";

/**
 *   Connecting ──open──▶ AwaitingHead ──final head──▶ ReadingBody ──body over──▶ Idle (kept) ──▶ AwaitingHead
 *        │                    │  └──101──▶ Tunnel          │
 *        └────────────────────┴──────── fault ─────────────┴──▶ Closed
 */
const enum Stage {
  Connecting = 0,
  Idle,
  AwaitingHead,
  ReadingBody,
  Tunnel,
  Closed,
}

/** The client side of one HTTP/1.1 connection to an origin. One exchange at a time; what it does not trust, it closes. */
export class H1UpstreamConnection implements BodySink, ResponseSource, TimerOwner {
  readonly pool: OriginPool;
  keepsNothing = true;
  protected readonly link: UpstreamLink;
  private readonly parser: ResponseParser;
  private readonly responseBody: ResponseBody;
  private readonly input: InputBuffer = new InputBuffer();
  private stage: Stage = Stage.Connecting;
  private serverId = "";
  protected ex: Exchange | null = null;
  private caller: UpstreamCaller | null = null;
  private tunnel: OriginTunnel | null = null;
  /** Whether the request is complete on the wire. */
  private requestDone = false;
  /** Bytes of the request's body that were handed to this attempt, and whether anything of it was, its end included. */
  private bodyBytes = 0;
  private bodyTaken = false;
  /** Whether the request's body has been stopped, since the origin does not take it. */
  private holdsBody = false;
  /** Whether the origin has been asked whether it wants the body, and has said nothing yet. */
  private asks = false;
  private reused = false;
  private answered = false;
  private interims = 0;
  private interimBytes = 0;
  private startedMs = 0;
  private pumping = false;

  /** @param parser reads the heads of responses, if that is not as the pool's settings say */
  constructor(pool: OriginPool, parser: ResponseParser | null = null) {
    this.pool = pool;
    const { maxResponseFields, isLenient } = pool.settings;
    if (parser !== null) {
      this.parser = parser;
      this.responseBody = new ResponseBody();
    } else if (isLenient === true) {
      const lenient = new LenientResponseParser(maxResponseFields, (what) => pool.context.onLeniency(pool.label, what));
      this.parser = lenient;
      this.responseBody = new ResponseBody(() => lenient.note(Leniency.BareLf));
    } else {
      this.parser = new ResponseParser(maxResponseFields);
      this.responseBody = new ResponseBody();
    }
    this.link = new UpstreamLink(pool.context, this);
  }

  /** Takes an exchange: sends its head at once, or once the connection is open. */
  start(ex: Exchange, caller: UpstreamCaller): void {
    this.ex = ex;
    this.caller = caller;
    this.requestDone = false;
    this.bodyBytes = 0;
    this.bodyTaken = false;
    this.answered = false;
    this.interims = 0;
    this.interimBytes = 0;
    ex.body = this;
    ex.source = this;
    if (this.stage === Stage.Idle) {
      this.reused = true;
      this.sendHead(ex, caller);
      return;
    }
    if (ex.request.hasBody()) {
      this.holdsBody = true;
      ex.flow.pauseBody(ex);
    }
    this.link.arm(caller.times.connectMs);
    this.link.dial = connectSocket(this.pool.settings, this);
  }

  /** Closes a kept connection. */
  closeIdle(): void {
    if (this.stage === Stage.Idle) this.shut(false);
  }

  /** The connection is there, and for TLS the handshake is done and the certificate is right. */
  onOpen(socket: ByteSocket): void {
    if (this.stage !== Stage.Connecting) return void socket.terminate();
    this.serverId = serverIdOf(this.pool.settings, socket);
    this.link.open(socket, this.pool.settings.tls !== null);
    this.sendHead(this.ex!, this.caller!);
  }

  get requestId(): string {
    return this.ex === null ? "" : this.ex.response.requestId();
  }

  /** No connection: refused, no such name, no trust. */
  onConnectFailed({ fault, detail }: ConnectFailure): void {
    if (this.stage === Stage.Connecting) this.fail(fault, detail);
  }

  onReached(socket: ByteSocket | null): void {
    this.link.reach(socket);
  }

  onTlsFault(): void {
    this.link.hasTlsFault = true;
  }

  /** The time for connecting is the origin's alone. */
  onNaming(isWaiting: boolean): void {
    if (this.stage === Stage.Connecting) this.link.arm(isWaiting ? 0 : this.caller!.times.connectMs);
  }

  onData(chunk: Uint8Array): void {
    if (this.tunnel !== null) {
      this.tunnel.onData(chunk, 0, chunk.length);
      return;
    }
    this.receive(chunk, 0, chunk.length);
  }

  /** Takes bytes of a response: the part `[from, to)` of the received data. */
  protected receive(chunk: Uint8Array, from: number, to: number): void {
    if (this.stage !== Stage.AwaitingHead && this.stage !== Stage.ReadingBody) {
      // Unsolicited bytes: the connection cannot be trusted with another request.
      this.shut(true);
      return;
    }
    const ex = this.ex!;
    if (this.input.append(chunk, from, to) && this.stage === Stage.AwaitingHead) this.beginHead(ex);
    this.answered = true;
    this.pump();
    this.input.giveBack(chunk, ex.response.headers);
  }

  onEnd(): void {
    if (this.tunnel !== null) this.tunnel.onEnd();
    else if (this.runsUntilEnd) this.endResponse();
    else this.onClose();
  }

  onClose(reason?: unknown): void {
    if (this.stage === Stage.Idle) this.shut(false);
    else if (this.stage === Stage.Connecting) this.onConnectFailed(lostHandshake(this, reason));
    else if (this.tunnel !== null) {
      const { tunnel } = this;
      this.shut(false);
      tunnel.onLost();
    } else if (this.stage !== Stage.Closed)
      this.fail(Fault.UpstreamUnavailable, this.lossOf(reason), undefined, reason);
  }

  /** How the origin has left its response. */
  protected lossOf(reason?: unknown): FaultDetail {
    if (this.link.hasTlsFault && this.awaitsHead) return FaultDetail.TlsAlert;
    return lossDetail(this.input, this.parser.detail, this.stage === Stage.ReadingBody, hasFailed(reason));
  }

  onDrain(): void {
    if (!this.link.onDrain()) return;
    if (this.tunnel !== null) this.tunnel.onDrain();
    else if (this.ex !== null && this.holdsBody) {
      // After the last of the body it is the origin that is waited for.
      if (this.stage === Stage.AwaitingHead && !this.requestDone) this.link.arm(0);
      this.releaseBody(this.ex);
    }
  }

  /** An exception escaped while this connection was handled: its exchange is lost, nothing else. */
  onException(error: unknown): void {
    this.pool.context.onException(error);
    const { ex, tunnel } = this;
    this.pumping = false;
    this.shut(true);
    tunnel?.onLost();
    if (ex !== null) ex.sink.abort(ex, Fault.InternalError);
  }

  onTimer(): void {
    if (this.stage === Stage.Idle) this.shut(false);
    else if (this.asks && this.stage === Stage.AwaitingHead) this.letBodyCome(this.ex!);
    else if (this.stage === Stage.Connecting) this.fail(Fault.UpstreamTimeout, dialLateness(this, this.link.isReached));
    else if (this.stage !== Stage.Closed)
      this.fail(Fault.UpstreamTimeout, latenessDetail(this.stage === Stage.ReadingBody, this.answered));
  }

  private sendHead(ex: Exchange, caller: UpstreamCaller): void {
    this.asks = ex.request.expectContinue && asksFirst(ex);
    ex.attempt.asksOrigin = this.asks;
    this.writeHead(ex, caller, this.link.writer!);
    this.stage = Stage.AwaitingHead;
    this.beginHead(ex);
    this.startedMs = this.pool.context.turn.nowMs;
    if (!ex.request.hasBody()) return this.endRequest();
    // While the body comes, the client's own timeouts run, and ours only if the origin does not take it.
    if (this.asks) this.link.arm(CONSENT_MS);
    else this.letBodyCome(ex);
  }

  /** Writes the head of a request; with it, all of a request that has no body. */
  protected writeHead(ex: Exchange, caller: UpstreamCaller, writer: SocketWriter): void {
    const out = writer.reserve(caller.requestBound(ex));
    writer.commit(caller.encodeRequest(ex, out, writer.offset));
  }

  /** Writes a piece of a request's body. */
  protected writeBody(ex: Exchange, writer: SocketWriter, bytes: Uint8Array, from: number, to: number): void {
    writeRequestBody(writer, ex.request.framing, bytes, from, to);
  }

  protected writeBodyEnd(ex: Exchange, writer: SocketWriter): void {
    endRequestBody(writer, ex.request);
  }

  private letBodyCome(ex: Exchange): void {
    this.asks = false;
    this.link.arm(0);
    ex.sink.wantBody(ex);
    if (this.holdsBody) this.releaseBody(ex);
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex !== ex || from === to) return;
    // A client need not wait for long.
    if (this.asks) this.letBodyCome(ex);
    this.bodyTaken = true;
    this.bodyBytes += to - from;
    if (isTooMuch(ex, this.bodyBytes)) return this.fail(Fault.InternalError, FaultDetail.None);
    const writer = this.link.writer!;
    this.writeBody(ex, writer, bytes, from, to);
    this.keepsNothing = !writer.blocked;
    if (this.keepsNothing) return;
    this.holdsBody = true;
    // Once the response has begun, its own times run.
    if (this.stage === Stage.AwaitingHead) this.link.arm(this.caller!.times.responseHeaderMs);
    ex.flow.pauseBody(ex);
  }

  onBodyEnd(ex: Exchange): void {
    if (this.ex !== ex) return;
    this.asks = false;
    this.bodyTaken = true;
    if (!isWholeBody(ex, this.bodyBytes)) return this.fail(Fault.InternalError, FaultDetail.None);
    this.writeBodyEnd(ex, this.link.writer!);
    ex.attempt.bodyEndedMs = this.pool.context.turn.nowMs;
    this.endRequest();
  }

  onBodyFault(ex: Exchange): void {
    if (this.ex === ex) this.shut(true);
  }

  private endRequest(): void {
    this.requestDone = true;
    if (this.stage === Stage.AwaitingHead) this.link.arm(this.caller!.times.responseHeaderMs);
  }

  private releaseBody(ex: Exchange): void {
    this.holdsBody = false;
    ex.flow.resumeBody(ex);
  }

  private beginHead(ex: Exchange): void {
    this.parser.begin(this.input.from);
    ex.response.headers.reset(this.input.bytes);
  }

  private pump(): void {
    if (this.pumping) return;
    this.pumping = true;
    let more = true;
    while (more && !this.link.held && this.input.length > 0) {
      if (this.stage === Stage.AwaitingHead) more = this.readHead(this.ex!);
      else if (this.stage === Stage.ReadingBody) more = this.readBody(this.ex!);
      else more = false;
    }
    this.pumping = false;
    this.input.release();
    const over = this.responseBody.ended && this.stage === Stage.ReadingBody;
    if (over && !this.link.held && this.input.length === 0) this.finishResponse();
  }

  private readHead(ex: Exchange): boolean {
    const outcome = this.parser.parse(this.input.bytes, this.input.to, ex.response.headers, ex.request.method);
    if (outcome === NEED_MORE) return false;
    if (outcome < 0) return this.refuseAnswer(headDetail(this.input, this.parser.detail));
    if (this.parser.status < 200) this.interimBytes += outcome - this.input.from;
    this.input.from = outcome;
    if (this.parser.status < 200) return this.readInterim(ex);
    const ahead = ex.request.major > 1 ? this.input : null;
    if (!this.responseBody.begin(this.parser.framing, this.parser.contentLength, ahead))
      return this.refuseAnswer(FaultDetail.BadChunk);
    this.takeHead(ex);
    return true;
  }

  private readInterim(ex: Exchange): boolean {
    if (this.parser.status === 101) {
      this.startTunnel(ex);
      return false;
    }
    if (this.interimBytes > MAX_INTERIM_BYTES) return this.refuseAnswer(FaultDetail.HeadTooLarge);
    if (this.parser.status === 100 && this.asks) this.letBodyCome(ex);
    else if (++this.interims <= MAX_INTERIM_RESPONSES) this.passInterim(ex);
    this.beginHead(ex);
    return true;
  }

  /** The origin is at work, and has its time anew. */
  private passInterim(ex: Exchange): void {
    if (this.requestDone || (this.holdsBody && !this.asks)) this.link.arm(this.caller!.times.responseHeaderMs);
    const { status, reason } = this.parser;
    if (!isPassedOn(status)) return;
    ex.response.giveReason(status, reason);
    this.caller!.onInterim(ex, status, ex.response.headers);
  }

  private takeHead(ex: Exchange): void {
    this.parser.describe(ex.response, ex.request.method);
    ex.attempt.upstreamMs = this.pool.context.turn.nowMs - this.startedMs;
    ex.attempt.serverId = this.serverId;
    this.stage = Stage.ReadingBody;
    this.link.arm(this.caller!.times.idleMs);
    this.caller!.onResponseHead(ex);
    if (this.ex === ex && this.parser.framing === Framing.None) this.finishResponse();
  }

  private readBody(ex: Exchange): boolean {
    const piece = this.responseBody.next(this.input);
    if (this.responseBody.failed) return this.refuseAnswer(this.responseBody.detail);
    if (piece > 0) {
      this.link.arm(this.caller!.times.idleMs);
      const taken = this.responseBody.handOver(ex, this.input);
      if (this.ex !== ex) return false;
      if (!taken) this.link.hold(this.input.keptBytes);
    }
    if (!this.responseBody.done) return true;
    ex.response.trailers = this.responseBody.trailers(ex.response, this.parser);
    this.finishResponse();
    return false;
  }

  /** The response is complete. The connection is given back first, so that the client's next request may take it. */
  private finishResponse(): void {
    const ex = this.ex!;
    this.detach(ex);
    const clean = this.requestDone && this.isReusable() && this.input.length === 0 && this.link.writer!.isEmpty();
    // What an origin takes for the connection of one client is no other's.
    const isKept = clean && !authenticatesConnection(ex.request.headers);
    if (isKept) this.enterIdle();
    // The end of a connection flushes: the end of the response leaves with the rest of it.
    ex.sink.end(ex);
    if (!isKept) this.shut(!this.requestDone);
  }

  /** Whether the origin takes another request over the connection, now that its response is complete. */
  protected isReusable(): boolean {
    return this.parser.keepAlive;
  }

  /** The origin has sent all of a response that has no length of its own. */
  protected endResponse(): void {
    if (this.link.held) this.responseBody.ended = true;
    else this.finishResponse();
  }

  private enterIdle(): void {
    this.stage = Stage.Idle;
    this.link.release();
    const keptMs = this.pool.keep(this);
    if (keptMs > 0) this.link.arm(keptMs);
    else this.shut(false);
  }

  onWritable(ex: Exchange): void {
    if (this.ex !== ex) return;
    if (this.link.release()) this.link.arm(this.caller!.times.idleMs);
    const { sink } = ex;
    const { bytes } = this.input;
    this.pump();
    // A sink that copies has kept nothing of what waited.
    if (sink.copiesBytes === true) this.input.giveBack(bytes, ex.response.headers);
  }

  onCancelled(ex: Exchange): void {
    if (this.ex === ex) this.shut(true);
  }

  private startTunnel(ex: Exchange): void {
    if (!this.requestDone || !OriginTunnel.isGranted(ex)) return void this.refuseAnswer(FaultDetail.BadStatus);
    const { caller } = this;
    this.parser.describe(ex.response, ex.request.method);
    this.stage = Stage.Tunnel;
    this.link.arm(0);
    this.detach(ex);
    const tunnel = new OriginTunnel(this.link, () => this.shut(false));
    this.tunnel = tunnel;
    tunnel.join(caller!.onUpgrade(ex, tunnel), this.input);
  }

  private refuseAnswer(detail: FaultDetail): false {
    this.fail(Fault.UpstreamMalformed, detail);
    return false;
  }

  /** Whether the head of a response is waited for. */
  protected get awaitsHead(): boolean {
    return this.stage === Stage.AwaitingHead;
  }

  /** Whether a body is read that has no length of its own. */
  protected get runsUntilEnd(): boolean {
    return this.stage === Stage.ReadingBody && this.parser.framing === Framing.UntilClose;
  }

  /**
   * Something went wrong. Before the response's head the caller decides; after it the client's response is cut.
   * @param sent whether the origin may have looked at the request
   * @param reason of the system, if it says one
   */
  protected fail(fault: Fault, detail: FaultDetail, sent = this.stage !== Stage.Connecting, reason?: unknown): void {
    const { ex, caller, reused, answered, bodyTaken } = this;
    const begun = this.stage === Stage.ReadingBody;
    const isTold = this.stage === Stage.Connecting || detail === FaultDetail.None;
    if (ex !== null) this.detach(ex);
    const isOver = ex === null || caller === null || ex.state === ExchangeState.Finished;
    // A kept connection that the origin has closed meanwhile is in order.
    const isInOrder = reused && !answered && fault === Fault.UpstreamUnavailable;
    if (!isOver && !isTold && !isInOrder) reportFailure(this, detail, reason, ex.response.requestId());
    // Before the connection closes, whose end flushes: what has not left yet can be taken back.
    if (!isOver && begun) {
      ex.attempt.detail = detail;
      ex.sink.abort(ex, fault);
    }
    this.shut(true);
    if (!isOver && !begun) caller.onFailure(ex, { fault, detail, sent, bodyTaken, answered, reused });
  }

  private detach(ex: Exchange): void {
    this.ex = null;
    this.caller = null;
    this.holdsBody = false;
    this.asks = false;
    ex.body = this.pool.context.idlePorts.body;
    ex.source = this.pool.context.idlePorts.source;
  }

  protected shut(abruptly: boolean): void {
    if (this.stage === Stage.Closed) return;
    if (this.stage === Stage.Idle) this.pool.forget(this);
    this.stage = Stage.Closed;
    this.ex = null;
    this.caller = null;
    this.tunnel = null;
    this.link.close(abruptly);
    this.input.clear();
  }
}

/** Cuts a response's body out of an upstream connection's input. RFC 9112 §6.3. */
class ResponseBody {
  /** The piece that `next` found. */
  from = 0;
  to = 0;
  done = false;
  failed = false;
  /** The origin has ended a body that runs until the connection closes, while the client could not take it. */
  ended = false;
  private framing: Framing = Framing.None;
  private remaining = 0;
  private decoder: ChunkedDecoder | null = null;
  private readonly onBareLf: (() => void) | null;

  /** @param onBareLf is notified of line feeds that end a line within chunks; null refuses them */
  constructor(onBareLf: (() => void) | null = null) {
    this.onBareLf = onBareLf;
  }

  /**
   * Makes ready for a body.
   * @param ahead what has come of it, where that is to be judged before the head goes on, since the client's protocol cannot
   * take back what has not left yet, as HTTP/1.1 can; else null
   * @returns false if it is malformed
   */
  begin(framing: Framing, contentLength: number, ahead: InputBuffer | null = null): boolean {
    this.framing = framing;
    this.remaining = contentLength;
    this.done = false;
    this.failed = false;
    this.ended = false;
    if (framing !== Framing.Chunked) return true;
    this.decoder ??= new ChunkedDecoder(isFramingTrailer, true, this.onBareLf);
    this.decoder.begin(MAX_CHUNKED_BYTES);
    return ahead === null || this.decoder.isGoodAhead(ahead.bytes, ahead.from, ahead.to);
  }

  /**
   * Takes the next piece off the input.
   * @returns its length in bytes; 0 where only framing was read
   */
  next(input: InputBuffer): number {
    if (this.framing === Framing.Chunked) return this.nextChunk(input);
    this.from = input.from;
    this.to = input.to;
    if (this.framing === Framing.Length) {
      this.to = offsetBehind(input.from, this.remaining, input.to);
      this.remaining -= this.to - this.from;
      this.done = this.remaining === 0;
    }
    input.from = this.to;
    return this.to - this.from;
  }

  /**
   * Hands the piece that `next` found to the client's side.
   * @returns whether it takes more
   */
  handOver(ex: Exchange, input: InputBuffer): boolean {
    const { sink } = ex;
    const isTaken = sink.body(ex, input.bytes, this.from, this.to);
    if ((!isTaken || sink.returnsBytes !== true) && sink.copiesBytes !== true) input.lend();
    return isTaken;
  }

  /** The trailer fields after a chunked body, or null. @param head knows which of them are not passed on */
  trailers(response: ResponseHead, head: ResponseParser): HeaderBlock | null {
    if (this.framing !== Framing.Chunked || this.decoder!.trailers.count === 0) return null;
    const block = response.trailerBlock();
    this.decoder!.trailers.appendTo(block);
    head.markTrailers(block);
    return block;
  }

  /** Why `next` has failed. */
  get detail(): FaultDetail {
    return this.decoder?.state === ChunkState.TrailerSection ? FaultDetail.BadField : FaultDetail.BadChunk;
  }

  private nextChunk(input: InputBuffer): number {
    const decoder = this.decoder!;
    const event = decoder.nextJoined(input.bytes, input.from, input.to);
    if (event === ChunkEvent.Failed) {
      this.failed = true;
      return 0;
    }
    input.from = decoder.consumed;
    this.done = event === ChunkEvent.Done;
    if (event !== ChunkEvent.Data) return 0;
    this.from = decoder.dataFrom;
    this.to = decoder.dataTo;
    return this.to - this.from;
  }
}

/** A connection that the pool has made, with the time when it is too old to be kept. */
export class PooledConnection extends H1UpstreamConnection {
  readonly keptUntilMs: number;
  readonly generation: number;

  constructor(pool: OriginPool, parser: ResponseParser | null = null) {
    super(pool, parser);
    this.generation = pool.generation;
    // Spread over a fifth, so that those made in one moment do not end in one.
    this.keptUntilMs = pool.context.turn.nowMs + MAX_UPSTREAM_CONNECTION_MS * (1 - Math.random() / 5);
  }
}

/**
 * The connections of one worker to one origin. The one used last is used first, so that spare ones grow old.
 *
 * A name is looked up whenever a connection is made (`NameResolver`), and a connection stays with the address that it was made to. So that traffic follows a name that moves although nothing
 * fails, a connection serves for MAX_UPSTREAM_CONNECTION_MS at most; it ends between two exchanges.
 */
export class OriginPool implements Upstream {
  readonly settings: OriginSettings;
  readonly context: UpstreamSocketPorts;
  readonly label: string;
  readonly authority: string;
  private readonly idle: PooledConnection[] = [];
  /** Those beyond `maxIdleConnections`, which a burst has left and the next one may take. */
  private readonly spare: PooledConnection[] = [];
  private closed = false;
  /** Connections of an earlier one are not kept; see renew. */
  generation = 0;

  constructor(settings: OriginSettings, context: UpstreamSocketPorts) {
    this.settings = settings;
    this.context = context;
    this.label = settings.originKey;
    this.authority = settings.authority;
  }

  send(ex: Exchange, caller: UpstreamCaller): void {
    const kept = this.idle.pop() ?? this.spare.pop();
    const connection = kept ?? this.make();
    connection.start(ex, caller);
  }

  sendFresh(ex: Exchange, caller: UpstreamCaller): void {
    this.make().start(ex, caller);
  }

  get awaitsName(): boolean {
    return awaitsName(this.settings, this.context);
  }

  protected make(): PooledConnection {
    return new PooledConnection(this);
  }

  /**
   * Takes a connection that is ready for another exchange. Beyond the configured number it is kept for a moment only:
   * responses come in bursts, and to connect anew for each costs more than the exchange itself.
   * @returns for how many milliseconds; 0 when it should close
   */
  keep(connection: H1UpstreamConnection): number {
    const { maxIdleConnections, idleTimeoutMs } = this.settings;
    const pooled = connection as PooledConnection;
    if (pooled.generation !== this.generation) return 0;
    if (this.closed || maxIdleConnections === 0 || this.context.turn.nowMs >= pooled.keptUntilMs) return 0;
    const isSpare = this.idle.length >= maxIdleConnections;
    (isSpare ? this.spare : this.idle).push(pooled);
    return isSpare ? SPARE_CONNECTION_MS : idleTimeoutMs;
  }

  /** Forgets a kept connection that is gone. */
  forget(connection: H1UpstreamConnection): void {
    for (const list of [this.idle, this.spare]) {
      const index = list.indexOf(connection as PooledConnection);
      if (index >= 0) list.splice(index, 1);
    }
  }

  /** Closes the kept connections; those in use close when their exchange is over. */
  close(): void {
    this.closed = true;
    this.closeKept();
  }

  /** Exchanges go over new connections from now on; those under way end where they are. */
  renew(): void {
    this.generation++;
    this.closeKept();
  }

  private closeKept(): void {
    for (const connection of [...this.idle.splice(0), ...this.spare.splice(0)]) connection.closeIdle();
  }

  get idleCount(): number {
    return this.idle.length;
  }
}
