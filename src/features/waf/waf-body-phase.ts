import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import type { NowMs } from "../../message/ports.ts";
import { RouteKind } from "../../message/route.ts";
import type { BodyBudget } from "../../shared/body-budget.ts";
import { BodyType, bodyTypeOf } from "./body/body-type.ts";
import { type BodyJudge, HeldBody } from "./body/held-body.ts";
import type { RouteFacts } from "./dot-segment-judge.ts";
import type { IncidentListener } from "./incident.ts";
import { WafInspector } from "./waf-inspector.ts";
import { type AddressSet, WafJudge, type WafSettings } from "./waf-judge.ts";

/**
 * Scores the beginning of a form, JSON or multipart body before anybody else sees a byte of it. It runs behind the
 * limits and guards, so that no body is asked for (Expect: 100-continue) that is refused anyway. Decisions §5.
 */
export class WafBodyPhase implements Phase, BodyJudge {
  readonly name = "wafBody";
  readonly concernsBody = true;
  private readonly settings: WafSettings;
  private readonly inspector: WafInspector;
  private readonly judge: WafJudge;
  private readonly allowedIps: AddressSet;
  private readonly budget: BodyBudget;

  /**
   * @param allowedIps clients that the WAF lets pass
   * @param routes decides on relative paths, where the head is looked at again
   * @param budget memory for bodies that come in pieces
   */
  constructor(
    settings: WafSettings,
    allowedIps: AddressSet,
    routes: RouteFacts,
    listener: IncidentListener,
    clock: NowMs,
    budget: BodyBudget,
  ) {
    this.settings = settings;
    this.inspector = new WafInspector(settings.disabledRules, routes, settings.exclusions);
    this.judge = new WafJudge(settings, listener, clock);
    this.allowedIps = allowedIps;
    this.budget = budget;
  }

  run(ex: Exchange): Verdict {
    // Only an upstream takes a body; all others answer without, or check their few fields themselves.
    if (!ex.request.hasBody() || ex.route!.kind !== RouteKind.Upstream) return Verdict.Next;
    if (bodyTypeOf(ex.request.headers) === BodyType.Other || this.allowedIps.has(ex.clientIp)) return Verdict.Next;
    const body = new HeldBody(ex, this.settings.maxInspectBodyBytes, this.budget, this);
    ex.held = body;
    ex.body = body;
    ex.sink.wantBody(ex);
    return Verdict.Wait;
  }

  passes(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const before = ex.wafScore;
    const score = this.inspector.inspectBody(ex.request, before, bytes, from, to);
    return score === before || this.judge.passes(ex, this.inspector.findings);
  }
}
