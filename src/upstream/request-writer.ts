import { copyBytes } from "../core/bytes.ts";
import type { Exchange } from "../message/exchange.ts";
import { Framing, type RequestHead } from "../message/request-head.ts";
import { ChunkedMode } from "../message/route.ts";
import type { SocketWriter } from "../net/socket-buffers.ts";
import { CRLF, encodeChunkSize, encodeTrailers, LAST_CHUNK } from "../proto/h1/response-encoder.ts";

const CHUNK_LINE_BOUND = 16;

/** Sends a piece of a request's body: as it is, or as one canonical chunk. RFC 9112 §7.1. */
export function writeRequestBody(
  writer: SocketWriter,
  framing: Framing,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  if (framing !== Framing.Chunked) {
    writer.write(bytes, from, to);
    return;
  }
  const out = writer.reserve(CHUNK_LINE_BOUND);
  writer.commit(encodeChunkSize(out, writer.offset, to - from));
  writer.write(bytes, from, to);
  writer.copy(CRLF, 0, CRLF.length);
}

/** Ends a request's body: the last chunk, with the trailers that came after it. */
export function endRequestBody(writer: SocketWriter, request: RequestHead): void {
  if (request.framing !== Framing.Chunked) return;
  const trailers = request.trailers;
  const out = writer.reserve(CHUNK_LINE_BOUND + (trailers === null ? 0 : trailers.lineBytes));
  const at = writer.offset;
  writer.commit(
    trailers === null ? copyBytes(out, at, LAST_CHUNK, 0, LAST_CHUNK.length) : encodeTrailers(out, at, trailers),
  );
}

/**
 * The last defence of a body's integrity: an attempt that was handed more than the head declares goes no further.
 * RFC 9112 §6.3; docs/security.md#retries
 * @param bytes what this attempt has been handed of the request's body so far
 */
export function isTooMuch({ request }: Exchange, bytes: number): boolean {
  return request.framing === Framing.Length && bytes > request.contentLength;
}

/**
 * Whether an attempt was handed exactly the client's own data, and what the head declares: a body may only then end in
 * order, else the attempt is aborted. RFC 9110 §8.6; docs/security.md#retries
 * @param bytes what this attempt has been handed of the request's body
 */
export function isWholeBody({ request, bodyBytes }: Exchange, bytes: number): boolean {
  return bytes === bodyBytes && (request.framing !== Framing.Length || bytes === request.contentLength);
}

/** Whether the origin is to say first whether it wants the body: where that streams, and the client waits. */
export function asksFirst(ex: Exchange): boolean {
  return ex.route?.chunkedMode === ChunkedMode.Passthrough && ex.sink.awaitsConsent?.(ex) === true;
}
