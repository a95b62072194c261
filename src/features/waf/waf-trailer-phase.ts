import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-id.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import { Framing } from "../../message/request-head.ts";
import type { Waf } from "./waf.ts";

/**
 * Looks at the headers again where trailers may have become some of them, which is when a chunked body has been
 * gathered: nothing may get past the rules by coming late. Spec, "Wire decoding rules".
 */
export class WafTrailerPhase implements Phase {
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
}
