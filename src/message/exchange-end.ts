import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import type { Exchange } from "./exchange.ts";
import { Method } from "./request-head.ts";

/** Whether a response that has begun is bad by its end: it broke off by no fault of the client, or its call of gRPC failed. */
export function endsBadly({ fault, attempt }: Exchange): boolean {
  if (attempt.grpcFailed) return true;
  // `timeouts.total` has no detail: a response that takes too long for it may have a client that reads slowly.
  if (fault === Fault.UpstreamTimeout) return attempt.detail !== FaultDetail.None;
  return fault === Fault.UpstreamUnavailable || fault === Fault.UpstreamMalformed || fault === Fault.InternalError;
}

/** Whether the connection, or the stream of HTTP/2, has left HTTP: for a WebSocket or a tunnel. RFC 8441 §4, RFC 9110 §9.3.6 */
export function hasLeftHttp({ request, response }: Exchange): boolean {
  if (response.status === 101) return true;
  return response.status === 200 && ((request.upgrade && request.major > 1) || request.method === Method.Connect);
}
