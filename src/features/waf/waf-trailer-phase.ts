import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { HeaderId } from "../../message/header-id.ts";
import { type Phase, type TrailerGate, Verdict } from "../../message/pipeline.ts";
import { Framing } from "../../message/request-head.ts";
import type { Waf } from "./waf.ts";

/**
 * Looks at trailers by the rules for headers, since nothing may get past these by coming late: as a phase where a gathered body's
 * trailers have become headers, and as a gate where they follow a body that goes on as it comes. Spec, "Wire decoding rules".
 */
export class WafTrailerPhase implements Phase, TrailerGate {
  readonly name = "wafTrailers";
  readonly concernsBody = true;
  private readonly waf: Waf;

  constructor(waf: Waf) {
    this.waf = waf;
  }

  run(ex: Exchange): Verdict {
    const { framing, headers, major } = ex.request;
    // In HTTP/2 a body was gathered where its length was not declared.
    const wasGathered = headers.find(major > 1 ? HeaderId.ContentLength : HeaderId.TransferEncoding) >= 0;
    if (framing === Framing.Chunked || wasGathered !== (major === 1)) return Verdict.Next;
    const { inspector, judge, allowedIps } = this.waf;
    // What the head scored before has been reported.
    if (inspector.inspect(ex.request) <= ex.wafScore || allowedIps.has(ex.clientIp)) return Verdict.Next;
    return judge.passes(ex, inspector.findings) ? Verdict.Next : Verdict.Done;
  }

  judgeTrailers(ex: Exchange, trailers: HeaderBlock): Fault {
    const { inspector, judge, allowedIps } = this.waf;
    const score = inspector.inspectTrailers(ex.request, trailers);
    if (score === 0 || allowedIps.has(ex.clientIp)) return Fault.None;
    return judge.judge(ex, inspector.findings, ex.wafScore + score);
  }
}
