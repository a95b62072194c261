import { equalsLower, latin1 } from "../core/bytes.ts";
import { Fault, FaultKind } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { faultRow } from "../core/fault-rows.ts";
import { type Exchange, ExchangeState, type ResponseSink } from "../message/exchange.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import type { TunnelEnd } from "../message/ports.ts";
import type { PrebuiltResponse } from "../message/prebuilt-response.ts";
import { Framing, Method } from "../message/request-head.ts";
import { becomeUpgrade, isKeyField } from "../proto/h2/connect-request.ts";
import { ErrorCode } from "../proto/h2/frame.ts";
import type { RequestHeadReader } from "../proto/h2/request-head-reader.ts";
import type { Session } from "../proto/h2/session.ts";
import type { LineBuffer } from "../proto/hpack/line-buffer.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import type { H2HeadWriter, HeadStream } from "./h2-head-writer.ts";
import { acceptsKey, H2Tunnel, newWebSocketKey, type TunnelStream } from "./h2-tunnel.ts";
import { endsConnection, responseForFault } from "./refusal.ts";

/** A stream, as what writes its response sees it. */
export interface H2ResponseStream extends HeadStream, TunnelStream {
  readonly exchange: Exchange;
  /** Holds the request's head. */
  readonly lines: LineBuffer;
  /** The request's body, as far as it is kept. */
  readonly body: { drop(): void };
  readonly connection: {
    readonly ctx: ClientSocketPorts;
    readonly session: Session;
    readonly heads: H2HeadWriter;
    /** No further stream is accepted. */
    goAway(): void;
  };
  /** Whether `100 Continue` has been asked for and not been sent. */
  continuePending: boolean;
  /** How the stream is reset after its response; -1 if it need not be. */
  resetBehind: number;
  /** Lets a response wait for the rest of the request's body. @returns false if there is nothing to wait for */
  hold(response: PrebuiltResponse): boolean;
  /** The exchange is over. */
  finish(ex: Exchange): void;
  /** Resets the stream; late frames of it are passed over. */
  resetAndRelease(code: ErrorCode): void;
}

/** Writes the response of one stream. RFC 9113 §8.1. */
export class H2ResponseSink implements ResponseSink {
  /** What leaves is copied into frames; what waits is gone when `onWritable` comes. */
  readonly returnsBytes = true;
  private readonly stream: H2ResponseStream;
  /** Bytes that the response's body is still to have; -1 if it is unknown. */
  private left = -1;
  /** Whether the request asks for a tunnel, and the key that its WebSocket has been given. */
  asksTunnel = false;
  private tunnelKey = "";

  constructor(stream: H2ResponseStream) {
    this.stream = stream;
  }

  /** The head asks for a tunnel (RFC 8441): it goes on as a request to upgrade, and DATA waits until that is granted. */
  askTunnel({ protocolFrom, protocolTo }: RequestHeadReader): void {
    const { lines, exchange } = this.stream;
    const isWebSocket = equalsLower(lines.bytes, protocolFrom, protocolTo, WEBSOCKET);
    this.tunnelKey = isWebSocket ? newWebSocketKey() : "";
    this.asksTunnel = true;
    becomeUpgrade(lines, exchange.request, protocolFrom, protocolTo, this.tunnelKey);
  }

  fixed(ex: Exchange, given: PrebuiltResponse): void {
    const { stream } = this;
    if (this.asksTunnel && isSuccess(given.status)) return this.refuseTunnel(ex);
    ex.response.status = given.status;
    if (stream.hold(given)) return;
    const response = ex.pipeline.onFixed(ex, given);
    ex.state = ExchangeState.Replying;
    const { length } = response.body;
    const withBody = length > 0 && ex.request.method !== Method.Head;
    stream.connection.heads.fixed(stream, response, !withBody);
    if (withBody) {
      ex.sentBytes += length;
      stream.send(response.body, 0, length, true);
    }
    stream.endResponse();
  }

  interim(ex: Exchange, status: number, headers: HeaderBlock): void {
    if (ex.state === ExchangeState.Open) this.stream.connection.heads.interim(this.stream, status, headers);
  }

  head(ex: Exchange): void {
    const { stream } = this;
    const { response } = ex;
    if (this.asksTunnel && isSuccess(response.status)) {
      ex.source.onCancelled(ex);
      return this.refuseTunnel(ex);
    }
    // The stream ends with a head that no body may follow, and later bytes of it are passed over.
    const hasBody = response.settleBody(ex.request.method);
    ex.pipeline.onHead(ex);
    ex.state = ExchangeState.Replying;
    this.left = response.framing === Framing.Length ? response.contentLength : -1;
    stream.connection.heads.head(stream, !hasBody);
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const { stream } = this;
    if (to === from || stream.out.isEnded) return true;
    ex.sentBytes += to - from;
    if (this.left >= 0) this.left -= to - from;
    // The last frame of a body of known length ends the stream.
    return stream.send(bytes, from, to, this.left === 0);
  }

  end(_ex: Exchange): void {
    this.stream.endResponse();
  }

  abort(ex: Exchange, fault: Fault): void {
    if (ex.state === ExchangeState.Finished) return;
    const { stream } = this;
    const { connection } = stream;
    const row = faultRow(fault);
    ex.fault = fault;
    if (ex.state === ExchangeState.Replying || row.status === 0) {
      stream.finish(ex);
      stream.resetAndRelease(fault === Fault.Cancelled ? ErrorCode.Cancel : ErrorCode.InternalError);
      return;
    }
    if (row.close) {
      // RFC 9113 §8.1, §8.1.1: the response may come before the reset, be the request malformed or merely unwanted.
      stream.resetBehind = row.kind === FaultKind.Framing ? ErrorCode.ProtocolError : ErrorCode.NoError;
      ex.bodyDone = true;
      stream.body.drop();
    }
    this.fixed(ex, responseForFault(ex, fault));
    if (endsConnection(fault)) connection.goAway();
    if (row.kind === FaultKind.Framing) connection.session.noteReset();
  }

  /** RFC 8441 §4: to the client any 2xx would be the beginning of a tunnel, and this is none. */
  private refuseTunnel(ex: Exchange): void {
    ex.attempt.detail = FaultDetail.BadStatus;
    this.abort(ex, Fault.UpstreamMalformed);
  }

  wantBody(_ex: Exchange): void {
    const { stream } = this;
    if (!stream.continuePending) return;
    stream.continuePending = false;
    stream.connection.heads.continue(stream);
  }

  awaitsConsent(_ex: Exchange): boolean {
    return this.stream.continuePending;
  }

  upgrade(ex: Exchange, origin: TunnelEnd): TunnelEnd {
    const { stream } = this;
    const { headers } = ex.response;
    if (this.tunnelKey !== "" && !acceptsKey(headers, this.tunnelKey)) {
      ex.attempt.detail = FaultDetail.BadField;
      this.abort(ex, Fault.UpstreamMalformed);
      return new LostTunnel(origin);
    }
    headers.removeWhere(isKeyField);
    ex.pipeline.onUpgrade(ex);
    // RFC 8441 §4: what 101 is to HTTP/1.1.
    ex.response.status = 200;
    ex.state = ExchangeState.Replying;
    ex.bodyDone = false;
    stream.connection.heads.head(stream, false);
    return new H2Tunnel(stream, ex, origin);
  }
}

/** In place of a tunnel that is not wanted: the origin's end closes at once. */
class LostTunnel implements TunnelEnd {
  private readonly origin: TunnelEnd;

  constructor(origin: TunnelEnd) {
    this.origin = origin;
  }

  tunnelStart(): void {
    this.origin.tunnelClose();
  }

  tunnelWrite(): boolean {
    return true;
  }

  tunnelEnd(): void {}

  tunnelWritable(): void {}

  tunnelClose(): void {}
}

const WEBSOCKET: Uint8Array = latin1("websocket");

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
