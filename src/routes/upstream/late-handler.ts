import type { Exchange, Handler, Verdict } from "../../message/exchange.ts";

/** A handler that is made when its first request comes: of ten thousand routes most are asked for nothing for long. */
export class LateHandler implements Handler {
  readonly name = "late";
  private readonly make: () => Handler;
  private made: Handler | null = null;

  constructor(make: () => Handler) {
    this.make = make;
  }

  handle(ex: Exchange): Verdict {
    this.made ??= this.make();
    return this.made.handle(ex);
  }
}
