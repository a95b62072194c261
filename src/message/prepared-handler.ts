import type { Exchange, Handler, Verdict } from "./exchange.ts";

/**
 * A handler with something in front of it, which sees each of its requests first: it puts a sink before the client's, or changes the
 * request. It keeps the name of the handler.
 */
export class PreparedHandler implements Handler {
  readonly name: string;
  private readonly inner: Handler;
  private readonly prepare: (ex: Exchange) => void;

  constructor(inner: Handler, prepare: (ex: Exchange) => void) {
    this.name = inner.name;
    this.inner = inner;
    this.prepare = prepare;
  }

  handle(ex: Exchange): Verdict {
    this.prepare(ex);
    return this.inner.handle(ex);
  }
}
