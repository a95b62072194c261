import { Fault } from "../../../core/fault.ts";
import { MAX_DROPPED_BODY_BYTES } from "../../../core/limits.ts";
import { type Exchange, ExchangeState, type Phase, Verdict } from "../../../message/exchange.ts";
import { PassingSink } from "../../../message/passing-sink.ts";
import type { ReplySink } from "../../../message/ports.ts";
import { jsonRefusal, PrebuiltResponse } from "../../../message/prebuilt-response.ts";
import { Framing } from "../../../message/request-head.ts";
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
    if (rules?.looksAtResponses && !ex.request.upgrade) ex.sink = new RuleSink(ex.sink, rules);
    return Verdict.Next;
  }
}

/**
 *   Passing ──head: a rule refuses──▶ Dropping ──end, abort, or too much of a body──▶ Over
 *
 * A refusal is sent in the place of the response; what follows of its body is dropped, so that the origin's connection can be
 * used again.
 */
const enum Stage {
  Passing = 0,
  Dropping,
  Over,
}

class RuleSink extends PassingSink {
  private readonly rules: RuleFirewall;
  private stage: Stage = Stage.Passing;
  private dropped = 0;

  constructor(inner: ReplySink, rules: RuleFirewall) {
    super(inner);
    this.rules = rules;
  }

  override fixed(ex: Exchange, reply: PrebuiltResponse): void {
    ex.reply.status = reply.status;
    // The gateway's own refusals are no responses of the application.
    const fault = reply.isRefusal ? Fault.None : this.rules.judgeResponse(ex);
    ex.reply.status = 0;
    if (fault === Fault.None) this.inner.fixed(ex, reply);
    else this.inner.fixed(ex, refusalOf(ex, fault));
  }

  override head(ex: Exchange): void {
    const fault = this.rules.judgeResponse(ex);
    if (fault === Fault.None) this.inner.head(ex);
    else this.replace(ex, refusalOf(ex, fault));
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.stage === Stage.Passing) return this.inner.body(ex, bytes, from, to);
    if (this.stage === Stage.Dropping) {
      this.dropped += to - from;
      // What comes out of the cache costs no connection.
      if (this.dropped > MAX_DROPPED_BODY_BYTES && ex.target !== null) {
        ex.source.onCancelled(ex);
        this.finish(ex);
      }
    }
    return true;
  }

  override end(ex: Exchange): void {
    if (this.stage === Stage.Passing) this.inner.end(ex);
    else this.finish(ex);
  }

  override abort(ex: Exchange, fault: Fault): void {
    // The refusal is whole, however the response's body ends.
    if (this.stage === Stage.Passing || fault === Fault.Cancelled) this.inner.abort(ex, fault);
    else this.finish(ex);
  }

  /** Sends the refusal. How the response frames its body is put back: who makes it goes by it. */
  private replace(ex: Exchange, refusal: PrebuiltResponse): void {
    const { reply } = ex;
    const { framing, contentLength, lengthWithoutBody, withoutBody } = reply;
    const { headers } = reply;
    for (let i = headers.count - 1; i >= 0; i--) headers.removeAt(i);
    for (const [name, value] of refusal.fields) headers.add(name, value);
    reply.status = refusal.status;
    reply.framing = withoutBody ? Framing.None : Framing.Length;
    reply.contentLength = refusal.body.length;
    reply.lengthWithoutBody = withoutBody;
    this.stage = Stage.Dropping;
    this.inner.head(ex);
    // A sink may have found that it cannot send the head, and be done with the exchange.
    if (ex.state !== ExchangeState.Replying) this.stage = Stage.Over;
    else if (!withoutBody && refusal.body.length > 0) this.inner.body(ex, refusal.body, 0, refusal.body.length);
    reply.framing = framing;
    reply.contentLength = contentLength;
    reply.lengthWithoutBody = lengthWithoutBody;
  }

  private finish(ex: Exchange): void {
    if (this.stage === Stage.Over) return;
    this.stage = Stage.Over;
    ex.reply.trailers = null;
    this.inner.end(ex);
  }
}

/** What a rule has said that is sent; one that drops the connection is a refusal here, where the request has been served. */
function refusalOf(ex: Exchange, fault: Fault): PrebuiltResponse {
  const NO_STORE = ["Cache-Control", "no-store"] as const;
  if (fault === Fault.RuleDropped) return jsonRefusal(502, "the response was refused", [NO_STORE]);
  if (fault === Fault.WafBlocked)
    return new PrebuiltResponse(403, [["Content-Type", "application/json"], NO_STORE], ex.detail, true);
  const [status = "", location = "", ...body] = ex.detail.split("\n");
  const fields = location === "" ? [NO_STORE] : [NO_STORE, ["Location", location] as const];
  return new PrebuiltResponse(Number(status), [["Content-Type", "application/json"], ...fields], body.join("\n"), true);
}
