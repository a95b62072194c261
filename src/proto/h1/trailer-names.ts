import { latin1 } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId, headerIdOf } from "../../message/header-block.ts";
import { Claim, claimOf, isFolded, isSameFolded } from "./claimed-fields.ts";

// Which names may stand in the trailers of a message, and which go on. docs/security.md#trailers

/** Tells whether the name in `bytes[from, to)` is refused in trailers. */
export type TrailerRule = (bytes: Uint8Array, from: number, to: number) => boolean;

/** The rule for any message: names that frame it or belong to the connection. docs/security.md#trailers */
export function isFramingTrailer(bytes: Uint8Array, from: number, to: number): boolean {
  switch (headerIdOf(bytes, from, to)) {
    case HeaderId.TransferEncoding:
    case HeaderId.ContentLength:
    case HeaderId.Connection:
    case HeaderId.Host:
    case HeaderId.KeepAlive:
    case HeaderId.Te:
    case HeaderId.Trailer:
    case HeaderId.Trailers:
    case HeaderId.Upgrade:
      return true;
    default:
      return false;
  }
}

/**
 * The rule for requests: whether a field with the name in `bytes[from, to)` is refused in trailers, in any case and with
 * any separator. RFC 9110 §6.5.1: framing, routing, request modifiers, authentication and content; and beside them what
 * says whom a request comes from. docs/security.md#trailers
 */
export function isForbiddenTrailer(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = 0; i < FORBIDDEN.length; i++) if (isFolded(bytes, from, to, FORBIDDEN[i]!)) return true;
  return claimOf(bytes, from, to) !== Claim.None && !isSettled(bytes, from, to);
}

/**
 * Marks those of a request's trailers that do not go on: an origin may merge trailers into the head, so they extend no field
 * that is in the head, and none that was settled before the body came.
 * @param head the fields of the head
 * @param count how many of them came with it
 * @param from number of the first trailer in `trailers`, which may be the same block
 */
export function markSettledTrailers(trailers: HeaderBlock, from: number, head: HeaderBlock, count: number): void {
  const { bytes } = trailers;
  for (let i = from; i < trailers.count; i++) {
    const nameFrom = trailers.nameFrom(i);
    const nameTo = trailers.nameTo(i);
    const isOld = isSettled(bytes, nameFrom, nameTo) || isAmong(head, count, bytes, nameFrom, nameTo);
    if (isOld) trailers.ids[i] = HeaderId.NamedByConnection;
  }
}

/** Marks the trailers with the lower-case name in `name`, whatever their separators. @param from number of the first trailer */
export function markTrailersNamed(trailers: HeaderBlock, name: Uint8Array, from: number): void {
  const { bytes } = trailers;
  for (let i = from; i < trailers.count; i++) {
    if (isSameFolded(bytes, trailers.nameFrom(i), trailers.nameTo(i), name))
      trailers.ids[i] = HeaderId.NamedByConnection;
  }
}

function isAmong(head: HeaderBlock, count: number, bytes: Uint8Array, from: number, to: number): boolean {
  const name = bytes.subarray(from, to);
  for (let i = 0; i < count; i++) {
    if (isSameFolded(head.bytes, head.nameFrom(i), head.nameTo(i), name)) return true;
  }
  return false;
}

function isSettled(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = 0; i < SETTLED.length; i++) if (isFolded(bytes, from, to, SETTLED[i]!)) return true;
  return false;
}

/** Folded; a dash at the end means all names that begin like that. */
const FORBIDDEN: readonly Uint8Array[] = [
  // Framing and the connection.
  ...["transfer-encoding", "connection", "host", "keep-alive", "te", "trailer", "trailers", "upgrade"],
  ...["authorization", "www-authenticate", "proxy-", "cookie", "cookie2", "set-cookie", "set-cookie2"],
  ...["content-", "expect", "range", "if-", "cache-control", "max-forwards", "pragma", "via"],
].map(latin1);
/** What the gateway has written, or gone by, when trailers come. */
const SETTLED: readonly Uint8Array[] = [
  ...["x-request-id", "http2-settings", "accept-encoding", "origin", "access-control-request-"],
].map(latin1);
