import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { Verdict } from "../../message/pipeline.ts";
import { Framing } from "../../message/request-head.ts";

/** What the server says of bodies, for requests that no route takes. */
export interface BodyRules {
  /** 0 means no limit. */
  readonly maxBodyBytes: number;
  /** Whether chunked bodies are refused, whatever they are for. */
  readonly rejectsChunked: boolean;
}

/**
 * Refuses a request that no route takes. A declared body over the server's limit gets 413 all the same, so that the
 * response does not depend on the path. docs/routing.md#no-route
 */
export function refuseUnrouted(ex: Exchange, fault: Fault, { maxBodyBytes, rejectsChunked }: BodyRules): Verdict {
  if (rejectsChunked && ex.request.framing === Framing.Chunked && ex.request.major === 1) {
    ex.sink.abort(ex, Fault.ChunkedDisabled);
  } else if (maxBodyBytes > 0 && ex.request.contentLength > maxBodyBytes) {
    ex.maxBodyBytes = maxBodyBytes;
    ex.sink.abort(ex, Fault.BodyTooLarge);
  } else {
    ex.sink.abort(ex, fault);
  }
  return Verdict.Done;
}
