import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import { RouteKind } from "../../message/route.ts";
import type { BodyBudget } from "../../shared/body-budget.ts";
import { BodyType, bodyTypeOf } from "./body/body-type.ts";
import { type BodyJudge, HeldBody } from "./body/held-body.ts";
import type { Waf } from "./waf.ts";

/**
 * Scores the beginning of a form, JSON, multipart or XML body before anybody else sees a byte of it. It runs behind the
 * limits and guards, so that no body is asked for (Expect: 100-continue) that is refused anyway. Decisions §5.
 */
export class WafBodyPhase implements Phase, BodyJudge {
  readonly name = "wafBody";
  readonly concernsBody = true;
  private readonly waf: Waf;
  private readonly budget: BodyBudget;

  /** @param budget memory for bodies that come in pieces */
  constructor(waf: Waf, budget: BodyBudget) {
    this.waf = waf;
    this.budget = budget;
  }

  run(ex: Exchange): Verdict {
    // Only upstreams take a body; all others answer without, or check their few fields themselves.
    const { kind } = ex.route!;
    if (!ex.request.hasBody() || kind === RouteKind.BuiltIn || kind === RouteKind.Static) return Verdict.Next;
    if (bodyTypeOf(ex.request.headers) === BodyType.Other || this.waf.allowedIps.has(ex.clientIp)) return Verdict.Next;
    const body = new HeldBody(ex, this.waf.settings.maxInspectBodyBytes, this.budget, this);
    ex.held = body;
    ex.body = body;
    ex.sink.wantBody(ex);
    return Verdict.Wait;
  }

  passes(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const { inspector, judge } = this.waf;
    const before = ex.wafScore;
    const score = inspector.inspectBody(ex.request, before, bytes, from, to);
    return score === before || judge.passes(ex, inspector.findings);
  }
}
