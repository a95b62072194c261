// Where a route's handler and its mirrors meet.
import type { Exchange, Handler, Verdict } from "../../message/exchange.ts";
import type { Mirror } from "./mirror.ts";
import { MirroredExchange } from "./mirrored-exchange.ts";

/** A route's handler, with mirrors beside it. */
export class MirroringHandler implements Handler {
  readonly name: string;
  private readonly inner: Handler;
  private readonly mirrors: readonly Mirror[];
  private readonly nameRequest: (ex: Exchange) => void;

  /** @param nameRequest gives a request its id, which the copy has too */
  constructor(inner: Handler, mirrors: readonly Mirror[], nameRequest: (ex: Exchange) => void) {
    this.name = inner.name;
    this.inner = inner;
    this.mirrors = mirrors;
    this.nameRequest = nameRequest;
  }

  handle(ex: Exchange): Verdict {
    const wanting = this.mirrors.filter((one) => one.wants(ex));
    if (wanting.length > 0) {
      this.nameRequest(ex);
      ex.sink = new MirroredExchange(wanting, ex);
    }
    return this.inner.handle(ex);
  }
}
