import type { Exchange } from "../message/exchange.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import { markClaims } from "../proto/h1/claimed-fields.ts";
import { markNamed, markNamedIn } from "../proto/h1/request-rules.ts";

/**
 * The head has gone on already: what came behind the body follows as trailers. An origin may merge them into the head, so
 * they may name nothing that this head may not: what the gateway says itself, what the connection's own fields are, and
 * what the route sets or removes (`headers.request`).
 */
export function followAsTrailers(ex: Exchange, trailers: HeaderBlock): void {
  markClaims(trailers, 0);
  markNamedIn(trailers, ex.request.headers);
  for (const name of ex.route?.ownFields ?? []) markNamed(trailers, name, 0, name.length);
  ex.request.trailers = trailers;
}
