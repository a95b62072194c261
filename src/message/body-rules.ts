import { Fault } from "../core/fault.ts";
import { type Exchange, Verdict } from "./exchange.ts";
import { Framing } from "./request-head.ts";

/** What the server says of bodies, for requests that no route takes. */
export interface BodyRules {
  /** 0 means no limit. */
  readonly maxBodyBytes: number;
  /** Whether chunked bodies are refused, whatever they are for. */
  readonly rejectsChunked: boolean;
}

/**
 * Refuses the body of a request without a route that its head alone rules out, so that the response does not depend on the path.
 * docs/routing.md#no-route
 * @returns Verdict.Next if there is nothing against it
 */
export function refuseBody(ex: Exchange, { maxBodyBytes, rejectsChunked }: BodyRules): Verdict {
  const { framing, major, contentLength } = ex.request;
  if (rejectsChunked && framing === Framing.Chunked && major === 1) ex.sink.abort(ex, Fault.ChunkedDisabled);
  else if (maxBodyBytes > 0 && contentLength > maxBodyBytes) {
    ex.maxBodyBytes = maxBodyBytes;
    ex.sink.abort(ex, Fault.BodyTooLarge);
  } else return Verdict.Next;
  return Verdict.Done;
}
