import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { faultRow } from "../core/fault-rows.ts";
import { type Exchange, ExchangeState, type ResponseSink } from "../message/exchange.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import type { TunnelEnd } from "../message/ports.ts";
import type { PrebuiltResponse } from "../message/prebuilt-response.ts";
import { Method } from "../message/request-head.ts";
import { H3Error } from "../net/h3-error.ts";
import type { FieldRecord } from "../proto/h3/field-dictionary.ts";
import { fixedRecord, interimRecord, responseRecord } from "../proto/h3/response-record.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import { endsConnection, responseForFault } from "./refusal.ts";

/** Fields of a response over HTTP/3: the runtime sends 128 with those that the gateway adds. More are a malformed response there. */
const H3_MAX_REPLY_FIELDS = 112;

/** A stream, as what writes its response sees it. */
export interface H3ResponseStream {
  readonly session: {
    readonly ctx: ClientSocketPorts;
    /** Takes no further request; the connection closes when those that are there are answered. */
    leave(): void;
  };
  /** Whether `100 Continue` has been asked for and not been sent. */
  continuePending: boolean;
  sendInterim(fields: FieldRecord): void;
  /** @returns whether the head could be sent */
  sendHead(fields: FieldRecord, isAll: boolean): boolean;
  /** @returns false when the source should hold */
  send(bytes: Uint8Array, from: number, to: number): boolean;
  /** The response is complete; what waits goes first. */
  endResponse(): void;
  /** The exchange is over. */
  finish(ex: Exchange): void;
  reset(code: H3Error): void;
}

/** Writes the response of one HTTP/3 stream. RFC 9114 §4.1. */
export class H3ResponseSink implements ResponseSink {
  private readonly stream: H3ResponseStream;
  /** Whether a body may follow the head. */
  private hasBody = true;

  constructor(stream: H3ResponseStream) {
    this.stream = stream;
  }

  fixed(ex: Exchange, given: PrebuiltResponse): void {
    const { stream } = this;
    ex.response.status = given.status;
    const response = ex.pipeline.onFixed(ex, given);
    ex.state = ExchangeState.Replying;
    const { length } = response.body;
    const withBody = length > 0 && ex.request.method !== Method.Head;
    const { dateBytes } = stream.session.ctx.clock;
    if (!stream.sendHead(fixedRecord(response, ex.response, dateBytes), !withBody)) return;
    if (withBody) {
      ex.sentBytes += length;
      stream.send(response.body, 0, length);
    }
    stream.endResponse();
  }

  interim(ex: Exchange, status: number, headers: HeaderBlock): void {
    if (ex.state === ExchangeState.Open) this.stream.sendInterim(interimRecord(status, headers));
  }

  head(ex: Exchange): void {
    const { stream } = this;
    if (ex.response.headers.count > H3_MAX_REPLY_FIELDS) {
      // The runtime would not send it, and say so too late for another response.
      ex.source.onCancelled(ex);
      ex.attempt.detail = FaultDetail.TooManyFields;
      this.abort(ex, Fault.UpstreamMalformed);
      return;
    }
    this.hasBody = ex.response.settleBody(ex.request.method);
    ex.pipeline.onHead(ex);
    ex.state = ExchangeState.Replying;
    const { dateBytes } = stream.session.ctx.clock;
    stream.sendHead(responseRecord(ex.response, dateBytes), !this.hasBody);
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (to === from || !this.hasBody) return true;
    ex.sentBytes += to - from;
    return this.stream.send(bytes, from, to);
  }

  end(_ex: Exchange): void {
    this.stream.endResponse();
  }

  abort(ex: Exchange, fault: Fault): void {
    if (ex.state === ExchangeState.Finished) return;
    const { stream } = this;
    const row = faultRow(fault);
    ex.fault = fault;
    if (ex.state === ExchangeState.Replying || row.status === 0) {
      stream.finish(ex);
      stream.reset(fault === Fault.Cancelled ? H3Error.RequestCancelled : H3Error.InternalError);
      return;
    }
    if (row.close) ex.bodyDone = true;
    const { session } = stream;
    this.fixed(ex, responseForFault(ex, fault));
    if (endsConnection(fault)) session.leave();
  }

  wantBody(_ex: Exchange): void {
    const { stream } = this;
    if (!stream.continuePending) return;
    stream.continuePending = false;
    stream.sendInterim({ ":status": "100" });
  }

  awaitsConsent(_ex: Exchange): boolean {
    return this.stream.continuePending;
  }

  /** There is no upgrade in HTTP/3: nothing that came over it can have asked for one. */
  upgrade(ex: Exchange, origin: TunnelEnd): TunnelEnd {
    ex.attempt.detail = FaultDetail.BadStatus;
    this.abort(ex, Fault.UpstreamMalformed);
    return origin;
  }
}
