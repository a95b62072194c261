import type { Fault } from "../../../../src/core/fault.ts";
import { type Exchange, ExchangeState, type ResponseSink } from "../../../../src/message/exchange.ts";
import type { HeaderBlock } from "../../../../src/message/header-block.ts";
import type { TunnelEnd } from "../../../../src/message/ports.ts";
import type { PrebuiltResponse } from "../../../../src/message/prebuilt-response.ts";
import { Method } from "../../../../src/message/request-head.ts";

/** What a handler did to one exchange. */
export class FakeSink implements ResponseSink {
  status = 0;
  readonly fields: [name: string, value: string][] = [];
  /** The announced length, or -1. */
  length = -1;
  /** Whether the reply was a prebuilt one. */
  wasFixed = false;
  withoutBody = false;
  ended = false;
  fault: Fault | null = null;
  /** Calls of `body`. */
  pieces = 0;
  /** After how many more pieces the client holds; each `release` sets it anew. */
  takes = Number.POSITIVE_INFINITY;
  /** Called before each piece is taken. */
  onPiece: (piece: number) => void = () => {};
  private readonly kept: { bytes: Uint8Array; copy: Buffer }[] = [];

  /** The body so far. The bytes that were handed over must not have been changed since. */
  get sent(): Buffer {
    for (const { bytes, copy } of this.kept) {
      if (!copy.equals(bytes)) throw new Error("bytes were changed after they were handed to the sink");
    }
    return Buffer.concat(this.kept.map(({ copy }) => copy));
  }

  get text(): string {
    return this.sent.toString("latin1");
  }

  /** The value of a field, or null; several fields of one name are a mistake. */
  field(name: string): string | null {
    const values = this.fields.filter(([other]) => other.toLowerCase() === name.toLowerCase());
    if (values.length > 1) throw new Error(`more than one ${name}`);
    return values[0]?.[1] ?? null;
  }

  /** The client takes so many more pieces, and says so. */
  release(ex: Exchange, pieces: number): void {
    this.takes = pieces;
    ex.source.onWritable(ex);
  }

  fixed(ex: Exchange, reply: PrebuiltResponse): void {
    this.begin(ex);
    this.wasFixed = true;
    this.status = reply.status;
    for (const [name, value] of reply.fields) this.fields.push([name, value]);
    this.length = reply.body.length;
    if (ex.request.method !== Method.Head) this.keep(reply.body, 0, reply.body.length);
    this.end(ex);
  }

  head(ex: Exchange): void {
    this.begin(ex);
    const { response: reply } = ex;
    this.status = reply.status;
    for (let i = 0; i < reply.headers.count; i++) {
      this.fields.push([reply.headers.nameText(i), reply.headers.valueText(i)]);
    }
    this.withoutBody = reply.withoutBody;
    this.length = !reply.withoutBody || reply.lengthWithoutBody ? reply.contentLength : -1;
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (ex.state !== ExchangeState.Replying) throw new Error("body of a reply that is not open");
    if (this.withoutBody) throw new Error("body where none may follow");
    this.onPiece(this.pieces++);
    this.keep(bytes, from, to);
    this.takes--;
    return this.takes > 0;
  }

  end(ex: Exchange): void {
    if (ex.state !== ExchangeState.Replying) throw new Error("end of a reply that is not open");
    ex.state = ExchangeState.Finished;
    this.ended = true;
  }

  abort(ex: Exchange, fault: Fault): void {
    if (ex.state === ExchangeState.Finished) throw new Error("abort of a reply that is over");
    ex.state = ExchangeState.Finished;
    this.fault = fault;
  }

  interim(_ex: Exchange, _status: number, _headers: HeaderBlock): void {
    throw new Error("files have no interim answers");
  }

  wantBody(_ex: Exchange): void {
    throw new Error("files want no body");
  }

  upgrade(_ex: Exchange, _tunnel: TunnelEnd): TunnelEnd {
    throw new Error("files do not upgrade");
  }

  private begin(ex: Exchange): void {
    if (ex.state !== ExchangeState.Open) throw new Error("a second head");
    ex.state = ExchangeState.Replying;
  }

  private keep(bytes: Uint8Array, from: number, to: number): void {
    const part = bytes.subarray(from, to);
    this.kept.push({ bytes: part, copy: Buffer.from(part) });
  }
}
