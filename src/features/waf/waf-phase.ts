import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import type { NowMs } from "../../message/ports.ts";
import type { RouteFacts } from "./dot-segment-judge.ts";
import type { IncidentListener } from "./incident.ts";
import { WafInspector } from "./waf-inspector.ts";
import { type AddressSet, WafJudge, type WafSettings } from "./waf-judge.ts";

/**
 * Spec, "Request processing order", step 1: scores path, query and headers; from the threshold on the request is
 * refused in enforce mode. Every request that scores is reported.
 */
export class WafPhase implements Phase {
  readonly name = "waf";
  private readonly inspector: WafInspector;
  private readonly judge: WafJudge;
  private readonly allowedIps: AddressSet;

  /**
   * @param allowedIps clients that the WAF lets pass
   * @param routes decides on relative paths
   */
  constructor(
    settings: WafSettings,
    allowedIps: AddressSet,
    routes: RouteFacts,
    listener: IncidentListener,
    clock: NowMs,
  ) {
    this.inspector = new WafInspector(settings.disabledRules, routes, settings.exclusions);
    this.judge = new WafJudge(settings, listener, clock);
    this.allowedIps = allowedIps;
  }

  run(ex: Exchange): Verdict {
    if (this.inspector.inspect(ex.request) === 0) return Verdict.Next;
    // Few requests score, so the client's address is looked up here and not before the inspection.
    if (this.allowedIps.has(ex.clientIp)) return Verdict.Next;
    return this.judge.passes(ex, this.inspector.findings) ? Verdict.Next : Verdict.Done;
  }
}
