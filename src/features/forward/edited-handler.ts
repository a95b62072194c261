import type { Fault } from "../../core/fault.ts";
import { type Exchange, type Handler, type Phase, Verdict } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import type { ReplySink, TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { ReplyEdits } from "./header-edits.ts";

/** A handler of the gateway's own whose responses get a route's `headers.response`; refusals stay as they are. */
export class EditedHandler implements Handler {
  readonly name: string;
  private readonly inner: Handler;
  private readonly edits: ReplyEdits;

  constructor(inner: Handler, edits: ReplyEdits) {
    this.name = inner.name;
    this.inner = inner;
    this.edits = edits;
  }

  handle(ex: Exchange): Verdict {
    ex.sink = new EditingSink(ex.sink, this.edits);
    return this.inner.handle(ex);
  }
}

/**
 * Puts the fields of routes whose values depend on the request into their responses, those out of the cache too. Refusals stay as
 * they are. docs/upstreams.md#header-edits
 */
export class LateFieldsPhase implements Phase {
  readonly name = "responseFields";
  /** By the routes' numbers. */
  private readonly fields: readonly (ReplyEdits | null)[];

  constructor(fields: readonly (ReplyEdits | null)[]) {
    this.fields = fields;
  }

  run(ex: Exchange): Verdict {
    const fields = this.fields[ex.route!.index] ?? null;
    if (fields !== null) ex.sink = new EditingSink(ex.sink, fields);
    return Verdict.Next;
  }
}

class EditingSink implements ReplySink {
  private readonly inner: ReplySink;
  private readonly edits: ReplyEdits;

  constructor(inner: ReplySink, edits: ReplyEdits) {
    this.inner = inner;
    this.edits = edits;
  }

  get returnsBytes(): boolean {
    return this.inner.returnsBytes === true;
  }

  fixed(ex: Exchange, reply: PrebuiltResponse): void {
    this.inner.fixed(ex, this.edits.ofFixedFor(ex, reply));
  }

  head(ex: Exchange): void {
    this.edits.applyFor(ex);
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
    this.edits.applyFor(ex);
    return this.inner.upgrade(ex, tunnel);
  }
}
