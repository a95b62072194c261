import type { Exchange } from "./exchange.ts";
import { Framing } from "./request-head.ts";
import { ChunkedMode } from "./route.ts";

/** Whether the origin gets a request's body as it comes, and not whole. docs/bodies.md#chunked-bodies */
export function goesOnAsItComes({ request, route }: Exchange): boolean {
  if (request.major > 1 && route?.streamsHttp2 === true) return true;
  return route?.chunkedMode === ChunkedMode.Passthrough && request.framing === Framing.Chunked;
}
