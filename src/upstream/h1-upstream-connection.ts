import { Fault } from "../core/fault.ts";
import { MAX_INTERIM_RESPONSES } from "../core/limits.ts";
import { type TimerHolder, TimerNode } from "../core/timer-wheel.ts";
import { type Exchange, ExchangeState } from "../message/exchange.ts";
import { Method } from "../message/method.ts";
import type { BodySink, ReplySource, TunnelEnd } from "../message/ports.ts";
import { Framing } from "../message/request-head.ts";
import type { UpstreamCaller } from "../message/upstream.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { InputBuffer } from "../net/input-buffer.ts";
import { SocketWriter } from "../net/socket-writer.ts";
import { NEED_MORE } from "../proto/h1/outcome.ts";
import { CRLF, encodeChunkSize, LAST_CHUNK } from "../proto/h1/reply-encoder.ts";
import { ResponseParser } from "../proto/h1/response-parser.ts";
import { connectSocket } from "./connect.ts";
import type { OriginPool } from "./origin-pool.ts";
import { ReplyBody } from "./reply-body.ts";
import type { UpstreamContext } from "./upstream-context.ts";

/**
 *   Connecting ──open──▶ AwaitingHead ──final head──▶ ReadingBody ──body over──▶ Idle (kept) ──▶ AwaitingHead
 *        │                    │  └──101──▶ Tunnel          │
 *        └────────────────────┴──────── fault ─────────────┴──▶ Closed
 */
const enum Phase {
  Connecting = 0,
  Idle,
  AwaitingHead,
  ReadingBody,
  Tunnel,
  Closed,
}

/** The client side of one HTTP/1.1 connection to an origin. One exchange at a time; what it does not trust, it closes. */
export class H1UpstreamConnection implements BodySink, ReplySource, TimerHolder, TunnelEnd {
  private readonly pool: OriginPool;
  private readonly timer: TimerNode;
  private readonly parser: ResponseParser = new ResponseParser();
  private readonly replyBody: ReplyBody = new ReplyBody();
  private readonly input: InputBuffer = new InputBuffer();
  private socket: ByteSocket | null = null;
  private writer: SocketWriter | null = null;
  private phase: Phase = Phase.Connecting;
  private ex: Exchange | null = null;
  private caller: UpstreamCaller | null = null;
  private tunnel: TunnelEnd | null = null;
  private requestDone = false;
  private chunkedRequest = false;
  private reused = false;
  private answered = false;
  private interims = 0;
  private startedMs = 0;
  private held = false;
  private holdsBody = false;
  private pumping = false;

  constructor(pool: OriginPool) {
    this.pool = pool;
    this.timer = new TimerNode(this);
  }

  /** What this worker's upstream connections share. */
  get context(): UpstreamContext {
    return this.pool.context;
  }

  /** Whether the origin's certificate must be right. */
  get requiresTrust(): boolean {
    return this.pool.settings.tls?.rejectUnauthorized ?? false;
  }

  // ── the pool's side ───────────────────────────────────────────────────────────────────────────────────────────

  /** Takes an exchange: sends its head at once, or once the connection is open. */
  start(ex: Exchange, caller: UpstreamCaller): void {
    this.ex = ex;
    this.caller = caller;
    this.requestDone = false;
    this.answered = false;
    this.interims = 0;
    ex.body = this;
    ex.source = this;
    if (this.phase === Phase.Idle) {
      this.reused = true;
      this.sendHead();
      return;
    }
    if (ex.request.hasBody()) {
      this.holdsBody = true;
      ex.flow.pauseBody(ex);
    }
    this.arm(caller.times.connectMs);
    connectSocket(this.pool.settings, this);
  }

  /** Closes a kept connection. */
  closeIdle(): void {
    if (this.phase === Phase.Idle) this.shut(false);
  }

  // ── what the socket says ──────────────────────────────────────────────────────────────────────────────────────

  /** The connection is there, and for TLS the handshake is done and the certificate is right. */
  onOpen(socket: ByteSocket): void {
    if (this.phase !== Phase.Connecting) {
      socket.terminate();
      return;
    }
    this.socket = socket;
    this.writer = new SocketWriter(socket, this.pool.context.writers);
    this.sendHead();
  }

  /** No connection: refused, no such name, no trust. */
  onConnectFailed(): void {
    if (this.phase === Phase.Connecting) this.fail(Fault.UpstreamUnavailable);
  }

  onData(chunk: Uint8Array): void {
    if (this.phase === Phase.Tunnel) {
      if (!this.tunnel!.tunnelWrite(chunk, 0, chunk.length)) this.hold();
      return;
    }
    if (this.phase !== Phase.AwaitingHead && this.phase !== Phase.ReadingBody) {
      // Bytes that nobody asked for: the connection cannot be trusted with another request.
      this.shut(true);
      return;
    }
    const moved = this.input.append(chunk);
    if (moved && this.phase === Phase.AwaitingHead) this.beginHead();
    this.answered = true;
    this.pump();
  }

  onEnd(): void {
    if (this.phase === Phase.Tunnel) this.tunnel?.tunnelEnd();
    else if (this.phase === Phase.ReadingBody && this.parser.framing === Framing.UntilClose) {
      if (this.held) this.replyBody.ended = true;
      else this.finishReply();
    } else this.onLost();
  }

  onClose(): void {
    this.onLost();
  }

  onDrain(): void {
    if (!this.writer!.onDrain()) return;
    if (this.phase === Phase.Tunnel) this.tunnel?.tunnelWritable();
    else if (this.ex !== null && this.holdsBody) {
      this.holdsBody = false;
      if (this.phase === Phase.AwaitingHead) this.arm(0);
      this.ex.flow.resumeBody(this.ex);
    }
  }

  /** An exception escaped while this connection was handled: its exchange is lost, nothing else. */
  onException(error: unknown): void {
    this.pool.context.onException(error);
    const ex = this.ex;
    this.pumping = false;
    this.shut(true);
    if (ex !== null) ex.sink.abort(ex, Fault.InternalError);
  }

  onTimer(): void {
    if (this.phase === Phase.Idle) this.shut(false);
    else if (this.phase === Phase.Tunnel) this.tunnel?.tunnelClose();
    else if (this.phase !== Phase.Closed) this.fail(Fault.UpstreamTimeout);
  }

  // ── the request ───────────────────────────────────────────────────────────────────────────────────────────────

  private sendHead(): void {
    const ex = this.ex!;
    const caller = this.caller!;
    const writer = this.writer!;
    const out = writer.reserve(caller.requestBound(ex));
    writer.commit(caller.encodeRequest(ex, out, writer.offset));
    this.phase = Phase.AwaitingHead;
    this.beginHead();
    this.startedMs = this.pool.context.turn.nowMs;
    this.chunkedRequest = ex.request.framing === Framing.Chunked;
    if (!ex.request.hasBody()) {
      this.endRequest();
      return;
    }
    // While the body comes, the client's own timeouts run, and ours only where the origin does not take it.
    this.arm(0);
    ex.sink.wantBody(ex);
    if (this.holdsBody) {
      this.holdsBody = false;
      ex.flow.resumeBody(ex);
    }
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex !== ex || from === to) return;
    const writer = this.writer!;
    if (this.chunkedRequest) {
      const out = writer.reserve(16);
      writer.commit(encodeChunkSize(out, writer.offset, to - from));
      writer.write(bytes, from, to);
      writer.copy(CRLF, 0, 2);
    } else writer.write(bytes, from, to);
    if (writer.blocked) {
      this.holdsBody = true;
      this.arm(this.caller!.times.responseHeaderMs);
      ex.flow.pauseBody(ex);
    }
  }

  onBodyEnd(ex: Exchange): void {
    if (this.ex !== ex) return;
    if (this.chunkedRequest) this.writer!.copy(LAST_CHUNK, 0, LAST_CHUNK.length);
    this.endRequest();
  }

  private endRequest(): void {
    this.requestDone = true;
    if (this.phase === Phase.AwaitingHead) this.arm(this.caller!.times.responseHeaderMs);
  }

  onBodyFault(ex: Exchange): void {
    if (this.ex === ex) this.shut(true);
  }

  // ── the answer ────────────────────────────────────────────────────────────────────────────────────────────────

  private beginHead(): void {
    this.parser.begin(this.input.from);
    this.ex!.reply.headers.reset(this.input.bytes);
  }

  private pump(): void {
    if (this.pumping) return;
    this.pumping = true;
    let more = true;
    while (more && !this.held && this.input.length > 0) {
      if (this.phase === Phase.AwaitingHead) more = this.readHead();
      else if (this.phase === Phase.ReadingBody) more = this.readBody();
      else more = false;
    }
    this.pumping = false;
    this.input.release();
    if (this.replyBody.ended && !this.held && this.phase === Phase.ReadingBody && this.input.length === 0) {
      this.finishReply();
    }
  }

  private readHead(): boolean {
    const ex = this.ex!;
    const outcome = this.parser.parse(this.input.bytes, this.input.to, ex.reply.headers, ex.request.method);
    if (outcome === NEED_MORE) return false;
    if (outcome < 0) {
      this.fail(Fault.UpstreamMalformed);
      return false;
    }
    this.input.from = outcome;
    if (this.parser.status < 200) return this.readInterim(ex);
    this.takeHead(ex);
    return true;
  }

  private readInterim(ex: Exchange): boolean {
    if (this.parser.status === 101) return this.startTunnel(ex);
    if (++this.interims > MAX_INTERIM_RESPONSES) {
      this.fail(Fault.UpstreamMalformed);
      return false;
    }
    if (this.parser.status === 103) this.caller!.onInterim(ex, 103, ex.reply.headers);
    this.beginHead();
    return true;
  }

  private takeHead(ex: Exchange): void {
    const { parser } = this;
    const reply = ex.reply;
    reply.status = parser.status;
    reply.framing = parser.framing;
    reply.contentLength = parser.contentLength;
    reply.fromUpstream = true;
    reply.withoutBody = ex.request.method === Method.Head || parser.status === 304;
    reply.lengthWithoutBody = reply.withoutBody && parser.hasLength;
    ex.upstreamMs = this.pool.context.turn.nowMs - this.startedMs;
    this.phase = Phase.ReadingBody;
    this.replyBody.begin(parser.framing, parser.contentLength);
    this.arm(this.caller!.times.idleMs);
    this.caller!.onReplyHead(ex);
    if (this.ex === ex && parser.framing === Framing.None) this.finishReply();
  }

  private readBody(): boolean {
    const ex = this.ex!;
    const piece = this.replyBody.next(this.input);
    if (this.replyBody.failed) {
      this.fail(Fault.UpstreamMalformed);
      return false;
    }
    if (piece > 0) {
      this.arm(this.caller!.times.idleMs);
      const { from, to } = this.replyBody;
      if (!ex.sink.body(ex, this.input.bytes, from, to) && this.ex === ex) this.hold();
      if (this.ex !== ex) return false;
    }
    if (this.replyBody.done) {
      ex.reply.trailers = this.replyBody.trailers();
      this.held = false;
      this.finishReply();
      return false;
    }
    return true;
  }

  /** The answer is complete. The connection is given back first, so that the client's next request may take it. */
  private finishReply(): void {
    const ex = this.ex!;
    this.detach(ex);
    const clean = this.requestDone && this.parser.keepAlive && this.input.length === 0 && this.writer!.isEmpty();
    if (clean) this.enterIdle();
    else this.shut(this.requestDone === false);
    ex.sink.end(ex);
  }

  private enterIdle(): void {
    this.phase = Phase.Idle;
    this.release();
    this.arm(this.pool.settings.idleTimeoutMs);
    if (!this.pool.keep(this)) this.shut(false);
  }

  // ── flow from the origin to the client ────────────────────────────────────────────────────────────────────────

  onWritable(ex: Exchange): void {
    if (this.ex !== ex) return;
    this.release();
    this.pump();
  }

  onCancelled(ex: Exchange): void {
    if (this.ex === ex) this.shut(true);
  }

  private hold(): void {
    if (this.held) return;
    this.held = true;
    this.pool.context.wheel.disarm(this.timer);
    this.socket!.pause();
  }

  private release(): void {
    if (!this.held) return;
    this.held = false;
    this.socket!.resume();
    if (this.caller !== null && this.phase === Phase.ReadingBody) this.arm(this.caller.times.idleMs);
  }

  // ── tunnel ────────────────────────────────────────────────────────────────────────────────────────────────────

  private startTunnel(ex: Exchange): boolean {
    if (!ex.request.upgrade || !this.requestDone) {
      this.fail(Fault.UpstreamMalformed);
      return false;
    }
    ex.reply.status = 101;
    ex.reply.fromUpstream = true;
    ex.reply.framing = Framing.None;
    ex.reply.withoutBody = true;
    this.phase = Phase.Tunnel;
    this.pool.context.wheel.disarm(this.timer);
    this.tunnel = this.caller!.onUpgrade(ex, this);
    this.ex = null;
    const { bytes, from, to } = this.input;
    this.input.clear();
    if (to > from && !this.tunnel.tunnelWrite(bytes, from, to)) this.hold();
    this.tunnel.tunnelStart();
    return false;
  }

  tunnelStart(): void {}

  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean {
    return this.phase === Phase.Tunnel ? this.writer!.write(bytes, from, to) : true;
  }

  tunnelEnd(): void {
    if (this.phase !== Phase.Tunnel) return;
    this.writer!.flushTurn();
    this.socket!.shutdown();
  }

  tunnelWritable(): void {
    this.release();
  }

  tunnelClose(): void {
    if (this.phase === Phase.Tunnel) this.shut(false);
  }

  // ── ending ────────────────────────────────────────────────────────────────────────────────────────────────────

  private onLost(): void {
    if (this.phase === Phase.Tunnel) {
      const tunnel = this.tunnel;
      this.shut(false);
      tunnel?.tunnelClose();
    } else if (this.phase === Phase.Idle) this.shut(false);
    else if (this.phase !== Phase.Closed) this.fail(Fault.UpstreamUnavailable);
  }

  /** Something went wrong. Before the answer's head the caller decides; after it the client's answer is cut. */
  private fail(fault: Fault): void {
    const ex = this.ex;
    const caller = this.caller;
    const { reused, answered } = this;
    const sent = this.phase !== Phase.Connecting;
    const begun = this.phase === Phase.ReadingBody;
    if (ex !== null) this.detach(ex);
    this.shut(true);
    if (ex === null || caller === null || ex.state === ExchangeState.Finished) return;
    if (begun) ex.sink.abort(ex, fault);
    else caller.onFailure(ex, { fault, sent, answered, reused });
  }

  private detach(ex: Exchange): void {
    this.ex = null;
    this.caller = null;
    ex.body = this.pool.context.idlePorts.body;
    ex.source = this.pool.context.idlePorts.source;
    this.holdsBody = false;
  }

  private shut(abruptly: boolean): void {
    if (this.phase === Phase.Closed) return;
    if (this.phase === Phase.Idle) this.pool.forget(this);
    this.phase = Phase.Closed;
    this.ex = null;
    this.caller = null;
    this.tunnel = null;
    this.pool.context.wheel.remove(this.timer);
    const { socket, writer } = this;
    if (socket === null || writer === null) return;
    if (abruptly) socket.terminate();
    else {
      writer.flushTurn();
      socket.end();
    }
    writer.close();
    this.input.clear();
  }

  private arm(ms: number): void {
    const { wheel, turn } = this.pool.context;
    if (ms > 0) wheel.arm(this.timer, turn.nowMs + ms);
    else wheel.disarm(this.timer);
  }
}
