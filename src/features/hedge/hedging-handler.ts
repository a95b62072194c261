// A route's handler with its second requests.
import type { Exchange, Handler, Verdict } from "../../message/exchange.ts";
import type { Hedge } from "./hedge.ts";
import { HedgedSink } from "./hedged-sink.ts";

/** A route's handler whose slow requests are sent to a second target. */
export class HedgingHandler implements Handler {
  readonly name: string;
  private readonly inner: Handler;
  private readonly hedge: Hedge;

  constructor(inner: Handler, hedge: Hedge) {
    this.name = inner.name;
    this.inner = inner;
    this.hedge = hedge;
  }

  handle(ex: Exchange): Verdict {
    if (this.hedge.wants(ex)) ex.sink = new HedgedSink(this.hedge, ex);
    return this.inner.handle(ex);
  }
}
