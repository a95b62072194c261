import type { Fault } from "../../core/fault.ts";
import type { Exchange, Handler, Verdict } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import type { ReplySink, TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { ResponseEdits } from "./header-edits.ts";

/** A handler of the gateway's own whose responses get a route's `headers.response`; refusals stay as they are. */
export class EditedHandler implements Handler {
  readonly name: string;
  private readonly inner: Handler;
  private readonly edits: ResponseEdits;

  constructor(inner: Handler, edits: ResponseEdits) {
    this.name = inner.name;
    this.inner = inner;
    this.edits = edits;
  }

  handle(ex: Exchange): Verdict {
    ex.sink = new EditingSink(ex.sink, this.edits);
    return this.inner.handle(ex);
  }
}

class EditingSink implements ReplySink {
  private readonly inner: ReplySink;
  private readonly edits: ResponseEdits;

  constructor(inner: ReplySink, edits: ResponseEdits) {
    this.inner = inner;
    this.edits = edits;
  }

  fixed(ex: Exchange, reply: PrebuiltResponse): void {
    this.inner.fixed(ex, this.edits.ofFixed(reply));
  }

  head(ex: Exchange): void {
    this.edits.apply(ex.reply);
    this.inner.head(ex);
  }

  interim(ex: Exchange, status: number, headers: HeaderBlock): void {
    this.inner.interim(ex, status, headers);
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    return this.inner.body(ex, bytes, from, to);
  }

  end(ex: Exchange): void {
    this.inner.end(ex);
  }

  abort(ex: Exchange, fault: Fault): void {
    this.inner.abort(ex, fault);
  }

  wantBody(ex: Exchange): void {
    this.inner.wantBody(ex);
  }

  upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    return this.inner.upgrade(ex, tunnel);
  }
}
