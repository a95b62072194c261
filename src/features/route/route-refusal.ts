import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { Verdict } from "../../message/pipeline.ts";

/**
 * Refuses a request that no route takes. Spec, "HTTP framing enforcement at the edge": a declared body over the gateway
 * limit gets 413, whether or not there is a route for it.
 * @param maxBodyBytes the server's limit; 0 means none
 */
export function refuseUnrouted(ex: Exchange, fault: Fault, maxBodyBytes: number): Verdict {
  if (maxBodyBytes > 0 && ex.request.contentLength > maxBodyBytes) {
    ex.maxBodyBytes = maxBodyBytes;
    ex.sink.abort(ex, Fault.BodyTooLarge);
  } else {
    ex.sink.abort(ex, fault);
  }
  return Verdict.Done;
}
