import { Fault } from "../core/fault.ts";
import type { Exchange } from "../message/exchange.ts";
import { HeaderBlock } from "../message/header-block.ts";
import { ChunkedMode } from "../message/route.ts";
import { markNamedIn } from "../proto/h1/request-rules.ts";
import { markSettledTrailers, markTrailersNamed } from "../proto/h1/trailer-names.ts";

/**
 * Takes the valid trailers of a request: they become request headers; where the head has gone on already, they follow as
 * trailers. `server.request_trailers: drop` leaves them all out. docs/security.md#trailers
 * @param appendTo adds the trailers to a block
 * @param isHeadSent whether the head has gone on: then the pipeline judges them first
 * @returns Fault.None, or why the request is refused
 */
export function takeTrailers(ex: Exchange, appendTo: (block: HeaderBlock) => void, isHeadSent: boolean): Fault {
  if (ex.route?.dropsTrailers === true) return Fault.None;
  const { headers } = ex.request;
  const { count } = headers;
  if (!isHeadSent) {
    appendTo(headers);
    markSettledTrailers(headers, count, headers, count);
    markNamedIn(headers, headers);
    return Fault.None;
  }
  const trailers = new HeaderBlock();
  trailers.resetOwn();
  appendTo(trailers);
  const { trailerGate } = ex.pipeline;
  const fault = trailerGate === null ? Fault.None : trailerGate.judgeTrailers(ex, trailers);
  if (fault !== Fault.None) return fault;
  markSettledTrailers(trailers, 0, headers, count);
  markNamedIn(trailers, headers);
  // What the route sets or removes (`headers.request`) is not in the head as the client sent it.
  for (const name of ex.route?.ownFields ?? []) markTrailersNamed(trailers, name);
  ex.request.trailers = trailers;
  return Fault.None;
}

/** Whether the bodies of an exchange's route stream as chunks. */
export function isPassthrough({ route }: Exchange): boolean {
  return route !== null && route.chunkedMode === ChunkedMode.Passthrough;
}
