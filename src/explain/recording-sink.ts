import type { Fault } from "../core/fault.ts";
import { faultRow } from "../core/fault-rows.ts";
import { responseForFault } from "../edge/refusal.ts";
import { type Exchange, ExchangeState, finishExchange, type ResponseSink } from "../message/exchange.ts";
import type { TunnelEnd } from "../message/ports.ts";
import type { PrebuiltResponse } from "../message/prebuilt-response.ts";

/** A field as it would be written. */
export type SeenField = readonly [name: string, value: string];

/** What a client would get. */
export interface RecordedResponse {
  /** 0 if the connection is closed without a response. */
  readonly status: number;
  /** Without Date, Connection and what frames the body. */
  readonly fields: readonly SeenField[];
  /** The beginning of the body of what the gateway answers itself. */
  readonly body: string;
}

/** Takes the response to a request that is explained, in place of a client: the taps see it as they see any. */
export class RecordingSink implements ResponseSink {
  /** Null while there is none. */
  response: RecordedResponse | null = null;
  private fields: SeenField[] = [];
  private text = "";

  fixed(ex: Exchange, response: PrebuiltResponse): void {
    ex.state = ExchangeState.Replying;
    ex.response.status = response.status;
    ex.pipeline.onFixed(ex, response);
    this.fields = [...response.fields];
    this.text = response.body.subarray(0, MAX_BODY_BYTES).toString("utf8");
    this.finish(ex);
  }

  head(ex: Exchange): void {
    ex.state = ExchangeState.Replying;
    ex.pipeline.onHead(ex);
    const { headers } = ex.response;
    for (let i = 0; i < headers.count; i++) this.fields.push([headers.nameText(i), headers.valueText(i)]);
  }

  body(_ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const room = MAX_BODY_BYTES - this.text.length;
    if (room > 0) this.text += Buffer.from(bytes.subarray(from, Math.min(to, from + room))).toString("utf8");
    return true;
  }

  end(ex: Exchange): void {
    this.finish(ex);
  }

  abort(ex: Exchange, fault: Fault): void {
    if (this.response !== null) return;
    ex.fault = fault;
    if (ex.state === ExchangeState.Replying || faultRow(fault).status === 0) this.finish(ex);
    else this.fixed(ex, responseForFault(ex, fault));
  }

  interim(): void {}

  wantBody(): void {}

  upgrade(_ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    return tunnel;
  }

  private finish(ex: Exchange): void {
    if (this.response !== null) return;
    const { response } = ex;
    const extra = response.extra?.fields ?? [];
    const id: readonly SeenField[] = response.shownIdEnd > 0 ? [["X-Request-Id", response.requestId()]] : [];
    this.response = { status: response.status, fields: [...this.fields, ...extra, ...id], body: this.text };
    finishExchange(ex, performance.now());
  }
}

const MAX_BODY_BYTES = 4096;
