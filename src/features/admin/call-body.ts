import { KeptBytes } from "../../core/kept-bytes.ts";
import type { BodySink, Exchange } from "../../message/exchange.ts";

/** Takes the body of a call to a built-in endpoint, up to a bound. */
export class CallBody implements BodySink {
  private readonly maxBytes: number;
  private readonly done: (ex: Exchange, text: string | null) => void;
  private readonly kept: KeptBytes = new KeptBytes();
  private length = 0;

  /** @param done takes the whole body; null if it is longer than `maxBytes` */
  constructor(maxBytes: number, done: (ex: Exchange, text: string | null) => void) {
    this.maxBytes = maxBytes;
    this.done = done;
  }

  /** Begins to read; a body that says that it is too long is not read. */
  begin(ex: Exchange): void {
    ex.body = this;
    if (ex.request.contentLength > this.maxBytes) this.done(ex, null);
    else if (ex.request.hasBody()) ex.sink.wantBody(ex);
    else this.onBodyEnd(ex);
  }

  onBody(_ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    this.length += to - from;
    if (this.length <= this.maxBytes) this.kept.keep(bytes, from, to);
  }

  onBodyEnd(ex: Exchange): void {
    this.done(ex, this.length > this.maxBytes ? null : this.kept.takeWhole().toString("utf8"));
  }

  onBodyFault(): void {}
}
