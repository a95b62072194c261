import { Fault } from "../core/fault.ts";
import type { KeptBytes } from "../core/kept-bytes.ts";
import type { Exchange } from "../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../message/header-block.ts";
import { streamsLines } from "../message/line-stream.ts";
import { Framing } from "../message/request-head.ts";
import { ChunkedMode } from "../message/route.ts";
import { goesOnAsItComes } from "../message/streamed-body.ts";
import { markNamedIn } from "../proto/h1/request-rules.ts";
import { markSettledTrailers, markTrailersNamed } from "../proto/h1/trailer-names.ts";

/** Milliseconds for which a request body may come at any rate before `min_body_rate` counts. */
export const BODY_RATE_GRACE_MS = 10_000;

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
  /** Since when the client is waited for; -1 if it is not. */
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

  /** The time is up. @returns whether it was the rate that the client fell short of, or one long pause */
  fault(nowMs: number, { readTimeoutMs, minBodyRate }: PaceSettings): Fault {
    const isTooSlow = minBodyRate > 0 && this.sinceMs >= 0 && nowMs - this.sinceMs < readTimeoutMs;
    return isTooSlow ? Fault.BodyTooSlow : Fault.BodyTimeout;
  }
}

/** Whether a rate is asked for: a stream of gRPC or Connect that goes on as it comes may say nothing for a while, up to `read_timeout`. */
export function asksRate(ex: Exchange): boolean {
  const { request, route } = ex;
  if (streamsLines(ex)) return false;
  if (route?.streamsHttp2 !== true || !goesOnAsItComes(ex)) return true;
  return !STREAM.test(request.headers.valueOf(HeaderId.ContentType));
}

const STREAM = /^application\/(?:grpc|connect\+)/;

/** Room for request bodies that are not yet taken, shared by all workers. */
export interface BodyRoom {
  /** A body is about to be held. @param client whose address the room is counted for */
  open(owner: RoomOwner, client: Pick<Exchange, "clientIp">): RoomHold;
}

/** Who holds a body. See HoldOwner. */
interface RoomOwner {
  onCounted(): void;
  onEvicted(key: string): void;
}

/** What one body holds. See BodyHold. */
interface RoomHold {
  /** The setting that refused more. */
  readonly refusedBy: string;
  growTo(bytes: number): Fault;
  shrinkTo(bytes: number): void;
  /** It is not the client that the body waits for. */
  settle(): void;
  release(): void;
}

/**
 * The received part of a request's body while its taker has stopped it, over HTTP/2 and HTTP/3, whose streams share a connection that
 * is read on. It is counted on the budget for held bodies; the client is not to blame, so the body is never evicted for it.
 */
export class HeldBody implements RoomOwner {
  private readonly kept: KeptBytes;
  private hold: RoomHold | null = null;

  /** @param kept where the bytes are */
  constructor(kept: KeptBytes) {
    this.kept = kept;
  }

  get isEmpty(): boolean {
    return !this.kept.holds;
  }

  /** Keeps a copy of a piece. @returns Fault.None, or why there is no room for it; `ex.detail` names the setting */
  keep(room: BodyRoom, ex: Exchange, bytes: Uint8Array, from: number, to: number): Fault {
    this.kept.keep(bytes, from, to);
    if (this.hold === null) {
      this.hold = room.open(this, ex);
      this.hold.settle();
    }
    const { hold } = this;
    const fault = hold.growTo(this.kept.keptRoom);
    if (hold.refusedBy !== "") ex.detail = hold.refusedBy;
    return fault;
  }

  /** Takes the next piece; null when there is none. */
  next(): Buffer | null {
    const piece = this.kept.nextKept();
    if (piece !== null) this.hold?.shrinkTo(this.kept.keptRoom);
    return piece;
  }

  /** Releases everything. @returns how many bytes that were */
  drop(): number {
    this.hold?.release();
    this.hold = null;
    return this.kept.drop();
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
    markNamedIn(headers, headers, count);
    for (const name of ex.route?.guardedFields ?? []) markTrailersNamed(headers, name, count);
    return Fault.None;
  }
  const trailers = ex.request.trailerBlock();
  appendTo(trailers);
  const { trailerGate } = ex.pipeline;
  const fault = trailerGate === null ? Fault.None : trailerGate.judgeTrailers(ex, trailers);
  if (fault !== Fault.None) return fault;
  markSettledTrailers(trailers, 0, headers, count);
  markNamedIn(trailers, headers, 0);
  // What the route sets or removes (`headers.request`) is not in the head as the client sent it.
  for (const name of ex.route?.ownFields ?? []) markTrailersNamed(trailers, name, 0);
  for (const name of ex.route?.guardedFields ?? []) markTrailersNamed(trailers, name, 0);
  ex.request.trailers = trailers;
  return Fault.None;
}

/** Whether the bodies of an exchange's route stream as chunks. */
export function isPassthrough({ route }: Exchange): boolean {
  return route !== null && route.chunkedMode === ChunkedMode.Passthrough;
}

/**
 * Trailers have come after a body. Valid ones become request headers; where the head has gone on already, they follow as
 * trailers; where the origin was told the length, they are left out. docs/bodies.md#trailers
 * @param maxFields header fields of a request together with its trailers
 * @returns Fault.None, or why they are refused
 */
export function keepTrailers(ex: Exchange, trailers: HeaderBlock | null, maxFields: number): Fault {
  if (trailers === null) return Fault.None;
  const { request, route } = ex;
  if (trailers.count + request.headers.count > maxFields) return Fault.TrailersTooLarge;
  if (request.framing !== Framing.Chunked) return Fault.None;
  const isHeadSent = isPassthrough(ex) || route?.streamsHttp2 === true;
  return takeTrailers(ex, (block) => appendTo(block, trailers), isHeadSent);
}

function appendTo(block: HeaderBlock, trailers: HeaderBlock): void {
  for (let i = 0; i < trailers.count; i++) block.addField(trailers, i);
}
