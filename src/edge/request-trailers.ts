import type { Exchange } from "../message/exchange.ts";
import { HeaderBlock } from "../message/header-block.ts";
import { ChunkedMode } from "../message/route.ts";
import { markNamedIn } from "../proto/h1/request-rules.ts";
import { markSettledTrailers, markTrailersNamed } from "../proto/h1/trailer-names.ts";

/**
 * Takes the valid trailers of a request. Spec, "Wire decoding rules": they become request headers; where the head has gone on
 * already, they follow as trailers. `server.request_trailers: drop` leaves them all behind. docs/security.md#trailers
 * @param appendTo adds the trailers to a block
 * @param isHeadSent whether the head has gone on
 */
export function takeTrailers(ex: Exchange, appendTo: (block: HeaderBlock) => void, isHeadSent: boolean): void {
  if (ex.route?.dropsTrailers === true) return;
  const { headers } = ex.request;
  const { count } = headers;
  if (!isHeadSent) {
    appendTo(headers);
    markSettledTrailers(headers, count, headers, count);
    markNamedIn(headers, headers);
    return;
  }
  const trailers = new HeaderBlock();
  trailers.resetOwn();
  appendTo(trailers);
  markSettledTrailers(trailers, 0, headers, count);
  markNamedIn(trailers, headers);
  // What the route sets or removes (`headers.request`) stands in no head that the client can see.
  for (const name of ex.route?.ownFields ?? []) markTrailersNamed(trailers, name);
  ex.request.trailers = trailers;
}

/** Whether the bodies of an exchange's route stream as chunks. */
export function isPassthrough({ route }: Exchange): boolean {
  return route !== null && route.chunkedMode === ChunkedMode.Passthrough;
}
