// Where a route's handler and its mirror meet.
import type { Exchange, Handler, Verdict } from "../../message/exchange.ts";
import type { Mirror } from "./mirror.ts";
import { MirroredExchange } from "./mirrored-exchange.ts";

/** A route's handler, with a mirror beside it. */
export class MirroringHandler implements Handler {
  readonly name: string;
  private readonly inner: Handler;
  private readonly mirror: Mirror;
  private readonly nameRequest: (ex: Exchange) => void;

  /** @param nameRequest gives a request its id, which the copy has too */
  constructor(inner: Handler, mirror: Mirror, nameRequest: (ex: Exchange) => void) {
    this.name = inner.name;
    this.inner = inner;
    this.mirror = mirror;
    this.nameRequest = nameRequest;
  }

  handle(ex: Exchange): Verdict {
    if (this.mirror.wants(ex)) {
      this.nameRequest(ex);
      ex.sink = new MirroredExchange(this.mirror, ex);
    }
    return this.inner.handle(ex);
  }
}
