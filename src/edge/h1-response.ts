import type { Fault } from "../core/fault.ts";
import { faultRow } from "../core/fault-rows.ts";
import { COPY_BODY_BYTES } from "../core/limits.ts";
import {
  cancelExchange,
  type Exchange,
  ExchangeState,
  finishExchange,
  type ResponseSink,
} from "../message/exchange.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import type { TunnelEnd } from "../message/ports.ts";
import type { PrebuiltResponse } from "../message/prebuilt-response.ts";
import { Framing, Method } from "../message/request-head.ts";
import type { InputBuffer, SocketWriter } from "../net/socket-buffers.ts";
import {
  CONTINUE_LINE,
  CRLF,
  encodeChunkSize,
  encodeInterim,
  encodePrebuilt,
  encodeResponseHead,
  encodeTrailers,
  LAST_CHUNK,
  Persistence,
  prebuiltBound,
  responseHeadBound,
} from "../proto/h1/response-encoder.ts";
import type { ClientLink, ClientSocketPorts } from "./client-socket.ts";
import { responseForFault } from "./refusal.ts";

const CHUNK_LINE_BOUND = 16;
const INTERIM_BOUND = 64;

/** The connection, as its response side sees it. */
export interface ResponseOwner {
  /** Whether the rest of the request's body is little enough to be read, so that the connection can be kept. */
  isRestShort(): boolean;
  /** The response waits for the rest of the request's body: `sendHeld` is to be called when that has come, or takes too long. */
  responseHeld(): void;
  /** The response is complete. */
  responseOver(): void;
  /** The response will not be completed: the connection is to be cut. */
  responseCut(): void;
  /** The connection becomes a tunnel. @returns the client's end */
  responseUpgraded(ex: Exchange, origin: TunnelEnd): TunnelEnd;
}

/**
 * The response side of one HTTP/1.1 connection: it writes one response at a time, in the order of the requests.
 *
 *   fixed ──▶ (body read, or the connection closes?) ──yes──▶ writeFixed ─┐
 *                └─no─▶ responseHeld … sendHeld ──▶ writeFixed ───────────┤
 *   head ──▶ body… ──▶ end ───────────────────────────────────────────────┴──▶ responseOver
 *   abort ──▶ fixed, or with the head already out ──▶ responseCut
 */
export class H1Response implements ResponseSink {
  /** What the kernel has not taken when `body` returns true was copied; `onWritable` follows when it has taken the rest. */
  readonly returnsBytes = true;
  /** Whether the connection closes after the response. */
  closeAfter = false;
  /** A response that waits for the rest of the request's body; null when there is none. */
  held: PrebuiltResponse | null = null;
  /** Whether the body goes out in chunks. */
  private isChunked = false;
  /** Whether a body may follow the head. */
  private hasBody = true;
  /** Whether an announced `100 Continue` has not been sent. */
  private continuePending = false;
  private readonly owner: ResponseOwner;
  private readonly life: ClientLink;
  private readonly input: InputBuffer;
  private readonly ctx: ClientSocketPorts;

  constructor(owner: ResponseOwner, life: ClientLink, input: InputBuffer, ctx: ClientSocketPorts) {
    this.owner = owner;
    this.life = life;
    this.input = input;
    this.ctx = ctx;
  }

  /** Makes ready for the response to another request. */
  begin(closeAfter: boolean, continuePending: boolean): void {
    this.closeAfter = closeAfter;
    this.held = null;
    this.isChunked = false;
    this.continuePending = continuePending;
  }

  fixed(ex: Exchange, response: PrebuiltResponse): void {
    ex.response.status = response.status;
    this.decideClose(ex);
    if (ex.bodyDone || this.closeAfter || this.held !== null) this.writeFixed(ex, response);
    else {
      this.held = response;
      this.owner.responseHeld();
    }
  }

  /** The response has waited for the request's body: it goes out, and where the body is not complete, the connection closes. */
  sendHeld(ex: Exchange): void {
    if (!ex.bodyDone) this.closeAfter = true;
    this.decideClose(ex);
    this.writeFixed(ex, this.held!);
  }

  interim(ex: Exchange, status: number, headers: HeaderBlock): void {
    if (ex.request.minor !== 1 || ex.state !== ExchangeState.Open) return;
    const { writer } = this.life;
    const reason = ex.response.reasonFor(status);
    const out = writer.reserve(INTERIM_BOUND + reason.length + headers.lineBytes);
    writer.commit(encodeInterim(out, writer.offset, status, reason, headers));
  }

  head(ex: Exchange): void {
    this.hasBody = ex.response.settleBody(ex.request.method);
    ex.pipeline.onHead(ex);
    this.decideClose(ex);
    ex.state = ExchangeState.Replying;
    this.writeHead(ex);
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const { writer } = this.life;
    if (!this.hasBody) return true;
    ex.sentBytes += to - from;
    if (this.isChunked) writeChunk(writer, bytes, from, to);
    else if (to - from <= COPY_BODY_BYTES) writer.copy(bytes, from, to);
    else writer.write(bytes, from, to);
    if (writer.blocked) this.life.armWriteStall();
    return !writer.blocked;
  }

  file(ex: Exchange, fd: number, from: number, to: number): number {
    if (this.isChunked || this.life.hasTls || !this.hasBody) return -1;
    const sent = this.life.writer.sendFile(fd, from, to - from);
    ex.sentBytes += sent;
    return sent;
  }

  end(ex: Exchange): void {
    if (this.isChunked) endChunks(this.life.writer, ex.response.trailers);
    this.finish(ex);
    this.owner.responseOver();
  }

  abort(ex: Exchange, fault: Fault): void {
    if (ex.state === ExchangeState.Finished) return;
    const row = faultRow(fault);
    ex.fault = fault;
    if (ex.state === ExchangeState.Replying && row.status !== 0) this.takeBack(ex);
    if (ex.state === ExchangeState.Replying || row.status === 0) {
      this.finish(ex);
      this.owner.responseCut();
      return;
    }
    if (row.close) {
      this.closeAfter = true;
      // Nothing after a refused message may run: the rest of it is read and discarded by the lingering close.
      ex.bodyDone = true;
      this.input.clear();
    }
    this.fixed(ex, responseForFault(ex, fault));
  }

  wantBody(_ex: Exchange): void {
    if (!this.continuePending) return;
    this.continuePending = false;
    if (this.input.length === 0) this.life.writer.copy(CONTINUE_LINE, 0, CONTINUE_LINE.length);
  }

  awaitsConsent(_ex: Exchange): boolean {
    return this.continuePending && this.input.length === 0;
  }

  upgrade(ex: Exchange, origin: TunnelEnd): TunnelEnd {
    ex.pipeline.onUpgrade(ex);
    ex.state = ExchangeState.Replying;
    this.closeAfter = true;
    this.writeHead(ex);
    return this.owner.responseUpgraded(ex, origin);
  }

  /** The client has left: what works on the exchange stops. */
  cancel(ex: Exchange): void {
    cancelExchange(ex, this.ctx.turn.nowMs);
  }

  /** The exchange is over: the taps learn of it. */
  finish(ex: Exchange): void {
    finishExchange(ex, this.ctx.turn.nowMs);
  }

  /** RFC 9112 §9.3; a body that will not be read to its end cannot be followed by another request. */
  private decideClose(ex: Exchange): void {
    // After a request to leave HTTP that was not granted, the client may already speak something else.
    const refusedUpgrade = ex.request.upgrade && ex.response.status !== 101;
    if (ex.response.close || refusedUpgrade || this.ctx.draining) this.closeAfter = true;
    // A client that does not wait for the response to its wish for HTTP/2 speaks it already.
    if (ex.request.ignoresUpgrade && (!ex.bodyDone || this.input.length > 0)) this.closeAfter = true;
    if (ex.bodyDone) return;
    if (this.awaitsConsent(ex) || !this.owner.isRestShort()) this.closeAfter = true;
  }

  /** If nothing of the response has left, as of one of an origin that came whole and malformed, another can be given. */
  private takeBack(ex: Exchange): void {
    if (!this.life.writer.revoke()) return;
    ex.state = ExchangeState.Open;
    ex.sentBytes = 0;
    ex.response.extra = null;
    ex.response.trailers = null;
    this.isChunked = false;
  }

  /** Writes a prebuilt response, which is complete with that. */
  private writeFixed(ex: Exchange, given: PrebuiltResponse): void {
    const { clock } = this.ctx;
    const { writer } = this.life;
    const response = ex.pipeline.onFixed(ex, given);
    ex.state = ExchangeState.Replying;
    const withBody = ex.request.method !== Method.Head;
    if (withBody) ex.sentBytes += response.body.length;
    const { extra } = ex.response;
    response.date(clock.dateBytes, clock.second);
    const out = writer.reserve(prebuiltBound(response, extra));
    writer.commit(encodePrebuilt(out, writer.offset, response, extra, withBody, this.persistence(ex)));
    this.end(ex);
  }

  /** Writes the head of the exchange's response and settles how its body goes out. */
  private writeHead(ex: Exchange): void {
    const { response, request } = ex;
    const { writer } = this.life;
    const unknown = response.framing === Framing.Chunked || response.framing === Framing.UntilClose;
    this.isChunked = unknown && request.minor === 1;
    // RFC 9112 §6.3: for HTTP/1.0 the end of a body of unknown length is the end of the connection.
    if (unknown && request.minor === 0) this.closeAfter = true;
    const isTunnel = request.method === Method.Connect && response.status === 200;
    const own = isTunnel ? Persistence.Silent : this.persistence(ex);
    const persistence = response.status === 101 ? Persistence.Upgrade : own;
    const out = writer.reserve(responseHeadBound(response));
    writer.markRevocable();
    writer.commit(
      encodeResponseHead(out, writer.offset, response, this.isChunked, persistence, this.ctx.clock.dateBytes),
    );
  }

  private persistence(ex: Exchange): Persistence {
    if (this.closeAfter) return Persistence.Close;
    return ex.request.minor === 0 ? Persistence.KeepAlive : Persistence.Silent;
  }
}

function writeChunk(writer: SocketWriter, bytes: Uint8Array, from: number, to: number): void {
  if (to === from) return;
  const out = writer.reserve(CHUNK_LINE_BOUND);
  writer.commit(encodeChunkSize(out, writer.offset, to - from));
  if (to - from <= COPY_BODY_BYTES) writer.copy(bytes, from, to);
  else writer.write(bytes, from, to);
  writer.copy(CRLF, 0, CRLF.length);
}

/** Writes the last chunk and the trailers, if there are any. */
function endChunks(writer: SocketWriter, trailers: HeaderBlock | null): void {
  if (trailers === null) {
    writer.copy(LAST_CHUNK, 0, LAST_CHUNK.length);
    return;
  }
  const out = writer.reserve(CHUNK_LINE_BOUND + trailers.lineBytes);
  writer.commit(encodeTrailers(out, writer.offset, trailers));
}
