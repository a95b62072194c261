import type { Exchange } from "./exchange.ts";

/** Milliseconds from the first byte of a request to the end of its response; 0 if it did not begin. */
export function tookMs({ startedMs, endedMs }: Pick<Exchange, "startedMs" | "endedMs">): number {
  return startedMs > 0 ? endedMs - startedMs : 0;
}

/**
 * Milliseconds that a server took of its own: from the end of the request to the head of its response. -1 if it did not wait for the end of the
 * request's body, since the client's pace is in that time.
 * @param fromMs when the request could begin to go out @param headMs when the head of the response came
 */
export function servedMs({ request, attempt }: Exchange, fromMs: number, headMs: number): number {
  if (!request.hasBody()) return headMs - fromMs;
  const { bodyEndedMs } = attempt;
  return bodyEndedMs > 0 && bodyEndedMs <= headMs ? headMs - Math.max(fromMs, bodyEndedMs) : -1;
}
