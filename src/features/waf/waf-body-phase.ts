import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-id.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import { Framing } from "../../message/request-head.ts";
import type { BodyBudget } from "../../shared/body-budget.ts";
import type { BodyProgress } from "./body/body-inspector.ts";
import { extraBytes } from "./body/content-codings.ts";
import { declaredTypes } from "./body/declared-types.ts";
import { type BodyJudge, HeldBody } from "./body/held-body.ts";
import { InspectedMessages } from "./body/inspected-messages.ts";
import type { Waf } from "./waf.ts";

/**
 * Scores the beginning of a body before anybody else sees a byte of it. It runs behind the limits and guards, so that no body is
 * asked for (Expect: 100-continue) that is refused anyway. `docs/security.md#bodies-and-the-firewall`
 */
export class WafBodyPhase implements Phase, BodyJudge {
  readonly name = "wafBody";
  readonly concernsBody = true;
  private readonly waf: Waf;
  private readonly budget: BodyBudget;
  /** Whether a body is refused of which more came than is inspected. */
  private readonly rejects: boolean;

  /** @param budget memory for bodies that come in pieces */
  constructor(waf: Waf, budget: BodyBudget) {
    const { overLimit, mode } = waf.settings;
    this.waf = waf;
    this.budget = budget;
    this.rejects = overLimit === "reject" && mode === "enforce";
  }

  run(ex: Exchange): Verdict {
    // Only upstreams take a body; all others answer without, or check their few fields themselves.
    const { request } = ex;
    if (!request.hasBody() || !ex.route!.kind.takesBody) return Verdict.Next;
    if (this.waf.allowedIps.has(ex.clientIp)) return Verdict.Next;
    const { maxInspectBodyBytes } = this.waf.settings;
    if (this.rejects && request.framing === Framing.Length && request.contentLength > maxInspectBodyBytes) {
      ex.sink.abort(ex, this.waf.judge.judgeOverLimit(ex));
      return Verdict.Done;
    }
    // One byte more tells whether there is more.
    const heldBytes = maxInspectBodyBytes + (this.rejects ? 1 : extraBytes(request.headers));
    const body = goesOnInMessages(ex)
      ? new InspectedMessages(ex, heldBytes, this.budget, this)
      : new HeldBody(ex, heldBytes, this.budget, this);
    ex.held = body;
    ex.body = body;
    ex.sink.wantBody(ex);
    return Verdict.Wait;
  }

  judge(ex: Exchange, bytes: Uint8Array, from: number, to: number, progress: BodyProgress | null): Fault {
    const { inspector, judge, settings } = this.waf;
    const isJson = ex.route!.kind.readsJson;
    const question = { isJson, maxBytes: settings.maxInspectBodyBytes, progress };
    const before = ex.wafScore;
    const score = inspector.inspectBody(ex.request, before, bytes, from, to, question);
    const fault = score <= before ? Fault.None : judge.judge(ex, inspector.findings, score);
    return fault === Fault.None && this.rejects && !inspector.sawWholeBody ? judge.judgeOverLimit(ex) : fault;
  }
}

/** Whether an origin sees each message as it comes, and may answer before the next. */
function goesOnInMessages({ request, route }: Exchange): boolean {
  if (request.major === 1 || !route!.streamsHttp2) return false;
  return declaredTypes(request.headers).isStream && request.headers.find(HeaderId.ContentEncoding) < 0;
}
