import type { BodyBudget } from "../../memory/body-budget.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { isRead } from "../../message/request-head.ts";
import { goesOnAsItComes } from "../../message/streamed-body.ts";
import { BufferedBody, type SpoolListener } from "./buffered-body.ts";

/**
 * The body of a request that may change something is read whole, up to the limit, before the upstream sees anything of the
 * request; then it goes on with its exact Content-Length. A larger declared length has been refused by the body limit
 * before. Bodies of HTTP/2 for a server of HTTP/2 stream, and are counted on their way; so do chunked ones
 * where they are passed through, and all where the sidecar is not to buffer. docs/sidecar.md#bodies
 */
export class BoundedBodyPhase implements Phase {
  readonly name = "boundedBody";
  readonly needsBody = true;
  private readonly budget: BodyBudget;
  private readonly spool: SpoolListener;

  constructor(budget: BodyBudget, spool: SpoolListener) {
    this.budget = budget;
    this.spool = spool;
  }

  run(ex: Exchange): Verdict {
    if (ex.route!.init.buffersBodies !== true || isRead(ex.request.method) || goesOnAsItComes(ex)) return Verdict.Next;
    return BufferedBody.gather(ex, this.budget, this.spool);
  }
}
