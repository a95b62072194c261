import { BODY_RATE_GRACE_MS } from "../core/limits.ts";
import type { Exchange } from "../message/exchange.ts";
import { HeaderId } from "../message/header-id.ts";

/** How long a client may take for its request bodies. */
export interface PaceSettings {
  /** Longest pause between two pieces, in milliseconds. */
  readonly readTimeoutMs: number;
  /** Bytes a second that a body must bring on the average; 0 asks for none. */
  readonly minBodyRate: number;
}

/**
 * The time that a client has left for the rest of one body: it begins with a grace, each byte adds what it takes at the least
 * rate, and waiting for the client uses it up. Time in which the gateway itself does not read costs nothing. No body has more
 * in hand than `read_timeout` or the grace, so that a fast beginning does not pay for an endless rest.
 */
export class BodyPace {
  private leftMs = BODY_RATE_GRACE_MS;
  private seenBytes = 0;
  /** Since when the client is waited for; -1 where it is not. */
  private sinceMs = -1;

  /** Another body begins. */
  begin(): void {
    this.leftMs = BODY_RATE_GRACE_MS;
    this.seenBytes = 0;
    this.sinceMs = -1;
  }

  /** The client is waited for. @param bodyBytes all that has come of the body @returns milliseconds that it has for more */
  wait(nowMs: number, bodyBytes: number, settings: PaceSettings): number {
    const { readTimeoutMs, minBodyRate } = settings;
    if (minBodyRate === 0) return readTimeoutMs;
    this.stop(nowMs);
    this.sinceMs = nowMs;
    const earnedMs = ((bodyBytes - this.seenBytes) * 1000) / minBodyRate;
    this.seenBytes = bodyBytes;
    this.leftMs = Math.min(Math.max(readTimeoutMs, BODY_RATE_GRACE_MS), this.leftMs + earnedMs);
    return Math.max(0, Math.min(readTimeoutMs, this.leftMs));
  }

  /** The client is not waited for any more: the gateway does not read. */
  stop(nowMs: number): void {
    if (this.sinceMs < 0) return;
    this.leftMs -= nowMs - this.sinceMs;
    this.sinceMs = -1;
  }

  /** Whether it was the rate that the client fell short of, and not one long pause. */
  isTooSlow(nowMs: number, { readTimeoutMs, minBodyRate }: PaceSettings): boolean {
    return minBodyRate > 0 && this.sinceMs >= 0 && nowMs - this.sinceMs < readTimeoutMs;
  }
}

/** Whether a rate is asked for: a gRPC stream that goes on as it comes may say nothing for a while, up to `read_timeout`. */
export function asksRate({ request, route }: Exchange): boolean {
  return route?.streamsHttp2 !== true || !request.headers.valueOf(HeaderId.ContentType).startsWith("application/grpc");
}
