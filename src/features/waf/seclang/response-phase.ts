import { Fault } from "../../../core/fault.ts";
import { type Exchange, type Phase, type ResponseSink, Verdict } from "../../../message/exchange.ts";
import { jsonRefusal, PrebuiltResponse } from "../../../message/prebuilt-response.ts";
import { ReplacingSink } from "../../../message/replacing-sink.ts";
import type { RuleFirewall } from "./rule-firewall.ts";

/** Lets rules of `waf.rules` look at the heads of responses, those of the cache among them. docs/waf.md#rules-of-your-own */
export class RuleResponsePhase implements Phase {
  readonly name = "responseRules";
  private readonly rulesOf: (ex: Exchange) => RuleFirewall | null;

  constructor(rulesOf: (ex: Exchange) => RuleFirewall | null) {
    this.rulesOf = rulesOf;
  }

  run(ex: Exchange): Verdict {
    const rules = this.rulesOf(ex);
    if (rules?.looksAtResponses) ex.sink = new RuleSink(ex.sink, rules);
    return Verdict.Next;
  }
}

/** A refusal is sent in the place of the response. */
class RuleSink extends ReplacingSink {
  private readonly rules: RuleFirewall;

  constructor(inner: ResponseSink, rules: RuleFirewall) {
    super(inner);
    this.rules = rules;
  }

  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    // The gateway's own refusals are no responses of the application.
    if (response.isRefusal) return this.inner.fixed(ex, response);
    const { headers } = ex.response;
    ex.response.status = response.status;
    headers.resetOwn();
    for (const [name, value] of response.fields) headers.add(name, value);
    const fault = this.rules.judgeResponse(ex);
    headers.resetOwn();
    ex.response.status = 0;
    this.inner.fixed(ex, fault === Fault.None ? response : refusalOf(ex, fault));
  }

  override head(ex: Exchange): void {
    const fault = this.rules.judgeResponse(ex);
    if (fault === Fault.None) return this.inner.head(ex);
    const { response } = ex;
    const { headers } = response;
    const refusal = refusalOf(ex, fault);
    headers.removeWhere(() => true);
    for (const [name, value] of refusal.fields) headers.add(name, value);
    response.status = refusal.status;
    this.replaceBody(ex, refusal.body);
  }
}

/** What a rule has said that is sent; one that drops the connection is a refusal here, if the request has been served. */
function refusalOf(ex: Exchange, fault: Fault): PrebuiltResponse {
  if (fault === Fault.RuleDropped) return jsonRefusal(502, "the response was refused", [NO_STORE]);
  if (fault === Fault.WafBlocked)
    return new PrebuiltResponse(403, [["Content-Type", "application/json"], NO_STORE], ex.detail, true);
  const [status = "", location = "", ...body] = ex.detail.split("\n");
  const fields = location === "" ? [NO_STORE] : [NO_STORE, ["Location", location] as const];
  return new PrebuiltResponse(Number(status), [["Content-Type", "application/json"], ...fields], body.join("\n"), true);
}

const NO_STORE = ["Cache-Control", "no-store"] as const;
