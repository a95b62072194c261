import { type Exchange, type Handler, Verdict } from "../../message/exchange.ts";
import { type CallPorts, FunctionCall } from "./function-call.ts";

/** Asks the function of a route. docs/functions.md */
export class FunctionHandler implements Handler {
  readonly name = "function";
  private readonly site: CallPorts;

  constructor(site: CallPorts) {
    this.site = site;
  }

  handle(ex: Exchange): Verdict {
    new FunctionCall(this.site, ex).start();
    return Verdict.Done;
  }
}
