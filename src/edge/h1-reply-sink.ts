import { type Fault, faultRow } from "../core/fault.ts";
import { COPY_BODY_BYTES, DRAIN_BYTES } from "../core/limits.ts";
import { type Exchange, ExchangeState } from "../message/exchange.ts";
import type { FixedReply } from "../message/fixed-reply.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import { Method } from "../message/method.ts";
import type { ReplySink, TunnelEnd } from "../message/ports.ts";
import type { InputBuffer } from "../net/input-buffer.ts";
import { CONTINUE_LINE } from "../proto/h1/reply-encoder.ts";
import type { EdgeContext } from "./edge-context.ts";
import { cancelExchange, finishExchange } from "./exchange-end.ts";
import { endChunks, writeChunk, writeFixed, writeHead, writeInterim } from "./h1-reply.ts";
import type { H1Request } from "./h1-request.ts";
import { replyForFault } from "./refusal.ts";
import type { SocketLife } from "./socket-life.ts";

/** The connection, as its reply side sees it. */
export interface ReplyOwner {
  /** The request that is being answered. */
  readonly current: H1Request | null;
  /** The reply is complete. */
  replyOver(request: H1Request): void;
  /** The reply will not be completed: the connection is to be cut. */
  replyCut(request: H1Request): void;
  /** The reply waits for the rest of the request's body; see `H1Request.heldReply`. */
  replyHeld(request: H1Request): void;
  /** The connection becomes a tunnel. @returns the client's end */
  replyUpgraded(request: H1Request, origin: TunnelEnd): TunnelEnd;
}

/** Writes replies as HTTP/1.1. One a connection; it answers one request at a time, in order. */
export class H1ReplySink implements ReplySink {
  /** What the kernel has not taken when `body` returns true was copied; `onWritable` follows when it has taken the rest. */
  readonly returnsBytes = true;
  private readonly owner: ReplyOwner;
  private readonly life: SocketLife;
  private readonly input: InputBuffer;
  private readonly ctx: EdgeContext;

  constructor(owner: ReplyOwner, life: SocketLife, input: InputBuffer, ctx: EdgeContext) {
    this.owner = owner;
    this.life = life;
    this.input = input;
    this.ctx = ctx;
  }

  fixed(ex: Exchange, reply: FixedReply): void {
    const request = this.owner.current!;
    ex.reply.status = reply.status;
    this.decideClose(request);
    if (!ex.bodyDone && !request.closeAfter && request.heldReply === null) {
      request.heldReply = reply;
      this.owner.replyHeld(request);
      return;
    }
    ex.pipeline.onFixed(ex, reply);
    ex.state = ExchangeState.Replying;
    const withBody = ex.request.method !== Method.Head;
    if (withBody) ex.sentBytes += reply.body.length;
    writeFixed(this.life.writer, request, reply, withBody, this.ctx.clock);
    this.end(ex);
  }

  interim(ex: Exchange, status: number, headers: HeaderBlock): void {
    if (ex.request.minor === 1 && ex.state === ExchangeState.Open) writeInterim(this.life.writer, status, headers);
  }

  head(ex: Exchange): void {
    const request = this.owner.current!;
    ex.pipeline.onHead(ex);
    this.decideClose(request);
    ex.state = ExchangeState.Replying;
    writeHead(this.life.writer, request, this.ctx.clock.dateBytes);
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const { writer } = this.life;
    ex.sentBytes += to - from;
    if (this.owner.current!.chunkedReply) writeChunk(writer, bytes, from, to);
    else if (to - from <= COPY_BODY_BYTES) writer.copy(bytes, from, to);
    else writer.write(bytes, from, to);
    if (writer.blocked) this.life.armWriteStall();
    return !writer.blocked;
  }

  end(ex: Exchange): void {
    const request = this.owner.current!;
    if (request.chunkedReply) endChunks(this.life.writer, ex.reply.trailers);
    this.finish(ex);
    this.owner.replyOver(request);
  }

  abort(ex: Exchange, fault: Fault): void {
    if (ex.state === ExchangeState.Finished) return;
    const request = this.owner.current!;
    const row = faultRow(fault);
    ex.fault = fault;
    if (ex.state === ExchangeState.Replying && row.status !== 0) this.takeBack(ex, request);
    if (ex.state === ExchangeState.Replying || row.status === 0) {
      this.finish(ex);
      this.owner.replyCut(request);
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

  /** Where nothing of the reply has left, as of an answer that came whole and malformed, another can be given. */
  private takeBack(ex: Exchange, request: H1Request): void {
    if (!this.life.writer.revoke()) return;
    ex.state = ExchangeState.Open;
    ex.sentBytes = 0;
    ex.reply.extra = null;
    ex.reply.trailers = null;
    request.chunkedReply = false;
  }

  wantBody(_ex: Exchange): void {
    const request = this.owner.current!;
    if (!request.continuePending) return;
    request.continuePending = false;
    if (this.input.length === 0) this.life.writer.copy(CONTINUE_LINE, 0, CONTINUE_LINE.length);
  }

  awaitsConsent(_ex: Exchange): boolean {
    return this.owner.current!.continuePending && this.input.length === 0;
  }

  upgrade(ex: Exchange, origin: TunnelEnd): TunnelEnd {
    const request = this.owner.current!;
    ex.pipeline.onUpgrade(ex);
    ex.state = ExchangeState.Replying;
    request.closeAfter = true;
    writeHead(this.life.writer, request, this.ctx.clock.dateBytes);
    return this.owner.replyUpgraded(request, origin);
  }

  /** The client is gone: whoever works on the exchange stops. */
  cancel(ex: Exchange): void {
    cancelExchange(ex, this.ctx.turn.nowMs);
  }

  /** The exchange is over: the taps hear of it. */
  finish(ex: Exchange): void {
    finishExchange(ex, this.ctx.turn.nowMs);
  }

  /** RFC 9112 §9.3; a body that will not be read to its end cannot be followed by another request. */
  private decideClose(request: H1Request): void {
    const ex = request.exchange;
    // Behind a request to leave HTTP that was not granted, the client may already speak something else.
    const refusedUpgrade = ex.request.upgrade && ex.reply.status !== 101;
    if (ex.reply.close || refusedUpgrade || this.ctx.draining) request.closeAfter = true;
    // One that does not wait for an answer to its wish for HTTP/2 speaks it already.
    if (ex.request.ignoresUpgrade && (!ex.bodyDone || this.input.length > 0)) request.closeAfter = true;
    if (ex.bodyDone) return;
    const unsent = request.continuePending && this.input.length === 0;
    if (unsent || request.body.remaining - this.input.length > DRAIN_BYTES) request.closeAfter = true;
  }
}
