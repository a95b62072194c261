import type { Exchange } from "../message/exchange.ts";
import type { Phase, Verdict } from "../message/pipeline.ts";

/** The last phase: the route's handler makes the reply. */
export class DispatchPhase implements Phase {
  readonly name = "dispatch";

  run(ex: Exchange): Verdict {
    return ex.route!.handler.handle(ex);
  }
}
