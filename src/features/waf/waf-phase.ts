import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import type { Waf } from "./waf.ts";

/**
 * Spec, "Request processing order", step 1: scores path, query and headers; from the threshold on the request is
 * refused in enforce mode. Every request that scores is reported.
 */
export class WafPhase implements Phase {
  readonly name = "waf";
  private readonly waf: Waf;

  constructor(waf: Waf) {
    this.waf = waf;
  }

  run(ex: Exchange): Verdict {
    const { inspector, judge, allowedIps, listener } = this.waf;
    listener.onInspected();
    if (inspector.inspect(ex.request) === 0) return Verdict.Next;
    // Few requests score, so the client's address is looked up here and not before the inspection.
    if (allowedIps.has(ex.clientIp)) return Verdict.Next;
    return judge.passes(ex, inspector.findings) ? Verdict.Next : Verdict.Done;
  }
}
