import type { BodyBudget } from "../../memory/body-budget.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { Framing } from "../../message/request-head.ts";
import { ChunkedMode } from "../../message/route.ts";
import { BufferedBody, type SpoolListener } from "./buffered-body.ts";

/**
 * Mode `normalize`: the body is decoded whole before the origin sees a byte, and goes on with its exact Content-Length.
 * docs/bodies.md#normalize
 */
export class NormalizePhase implements Phase {
  readonly name = "ingest";
  readonly needsBody = true;
  private readonly budget: BodyBudget;
  private readonly spool: SpoolListener;

  constructor(budget: BodyBudget, spool: SpoolListener) {
    this.budget = budget;
    this.spool = spool;
  }

  run(ex: Exchange): Verdict {
    const route = ex.route!;
    const { framing, major } = ex.request;
    const goesOn = major > 1 ? route.streamsHttp2 : route.chunkedMode === ChunkedMode.Reject;
    const isOurs = framing === Framing.Chunked && route.chunkedMode !== ChunkedMode.Passthrough && !goesOn;
    // Only an upstream takes a body; every other handler answers without, and the body is drained.
    if (!isOurs || !route.kind.normalizesBody) return Verdict.Next;
    if (ex.wholeBodyBytes >= 0) {
      // The firewall has gathered it whole: it is not held a second time.
      ex.request.framing = Framing.Length;
      ex.request.contentLength = ex.wholeBodyBytes;
      return Verdict.Next;
    }
    return BufferedBody.gather(ex, this.budget, this.spool);
  }
}
