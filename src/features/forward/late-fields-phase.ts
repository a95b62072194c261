import { type Exchange, type Phase, type ResponseSink, Verdict } from "../../message/exchange.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { HeadEdits } from "./header-edits.ts";

/** Puts a route's `headers.response` in front of a request's sink. Refusals stay as they are. */
export function editFields(ex: Exchange, edits: HeadEdits): void {
  ex.sink = new FieldsSink(ex.sink, edits);
}

/**
 * Puts the fields of routes whose values depend on the request into their responses, those out of the cache too. Refusals stay as
 * they are. docs/upstreams.md#header-edits
 */
export class LateFieldsPhase implements Phase {
  readonly name = "responseFields";
  /** By the routes' numbers. */
  private readonly fields: readonly (HeadEdits | null)[];

  constructor(fields: readonly (HeadEdits | null)[]) {
    this.fields = fields;
  }

  run(ex: Exchange): Verdict {
    const fields = this.fields[ex.route!.index] ?? null;
    if (fields !== null) editFields(ex, fields);
    return Verdict.Next;
  }
}

class FieldsSink extends PassingSink {
  private readonly edits: HeadEdits;

  constructor(inner: ResponseSink, edits: HeadEdits) {
    super(inner);
    this.edits = edits;
  }

  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    this.inner.fixed(ex, this.edits.ofFixedFor(ex, response));
  }

  override head(ex: Exchange): void {
    this.edits.applyFor(ex);
    this.inner.head(ex);
  }

  override upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.edits.applyFor(ex);
    return this.inner.upgrade(ex, tunnel);
  }
}
