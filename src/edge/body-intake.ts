import { Fault } from "../core/fault.ts";
import { BODY_RATE_GRACE_MS } from "../core/limits.ts";
import type { Exchange } from "../message/exchange.ts";
import { HeaderBlock, HeaderId } from "../message/header-block.ts";
import { ChunkedMode } from "../message/route.ts";
import { markNamedIn } from "../proto/h1/request-rules.ts";
import { markSettledTrailers, markTrailersNamed } from "../proto/h1/trailer-names.ts";

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

/** Room for request bodies that nobody has taken yet, shared by all workers. */
export interface BodyRoom {
  /** A body is about to be held. @param client whose address the room is counted for */
  open(owner: RoomOwner, client: Pick<Exchange, "clientIp">): RoomHold;
}

/** Who holds a body. See HoldOwner. */
export interface RoomOwner {
  onCounted(): void;
  onEvicted(key: string): void;
}

/** What one body holds. See BodyHold. */
export interface RoomHold {
  /** The setting that refused more. */
  readonly refusedBy: string;
  growTo(bytes: number): Fault;
  shrinkTo(bytes: number): void;
  /** It is not the client that the body waits for. */
  settle(): void;
  release(): void;
}

/** What is kept of a body because its taker has stopped it: the client is not to blame, so it is never ended for it. */
export class StoppedBody implements RoomOwner {
  private hold: RoomHold | null = null;

  /** So many bytes are kept from now on. @returns Fault.None, or why there is no room; `ex.detail` names the setting */
  growTo(room: BodyRoom, ex: Exchange, bytes: number): Fault {
    if (this.hold === null) {
      this.hold = room.open(this, ex);
      this.hold.settle();
    }
    const { hold } = this;
    const fault = hold.growTo(bytes);
    if (hold.refusedBy !== "") ex.detail = hold.refusedBy;
    return fault;
  }

  /** Fewer bytes are kept. */
  shrinkTo(bytes: number): void {
    this.hold?.shrinkTo(bytes);
  }

  /** Nothing is kept any more. */
  release(): void {
    this.hold?.release();
    this.hold = null;
  }

  onCounted(): void {}
  onEvicted(): void {}
}

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
