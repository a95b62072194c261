import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import { Framing } from "../../message/request-head.ts";
import { ChunkedMode } from "../../message/route.ts";

/** Refuses what a route does not take before one byte of the body is read. Spec, "Limits" and "Inbound chunked …". */
export class BodyLimitPhase implements Phase {
  readonly name = "bodyLimit";
  readonly concernsBody = true;

  run(ex: Exchange): Verdict {
    const route = ex.route!;
    const { request } = ex;
    ex.maxBodyBytes = route.maxBodyBytes;
    if (request.framing === Framing.Chunked) {
      if (route.chunkedMode !== ChunkedMode.Reject) return Verdict.Next;
      ex.sink.abort(ex, Fault.ChunkedDisabled);
      return Verdict.Done;
    }
    if (route.maxBodyBytes === 0 || request.contentLength <= route.maxBodyBytes) return Verdict.Next;
    ex.sink.abort(ex, Fault.BodyTooLarge);
    return Verdict.Done;
  }
}
