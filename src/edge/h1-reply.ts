import type { Clock } from "../core/clock.ts";
import { COPY_BODY_BYTES } from "../core/limits.ts";
import type { FixedReply } from "../message/fixed-reply.ts";
import type { HeaderBlock } from "../message/header-block.ts";
import { Framing } from "../message/request-head.ts";
import type { SocketWriter } from "../net/socket-writer.ts";
import {
  CRLF,
  encodeChunkSize,
  encodeFixedReply,
  encodeInterim,
  encodeReplyHead,
  encodeTrailers,
  fixedReplyBound,
  LAST_CHUNK,
  Persistence,
  replyHeadBound,
} from "../proto/h1/reply-encoder.ts";
import type { H1Request } from "./h1-request.ts";

const CHUNK_LINE_BOUND = 16;
const INTERIM_BOUND = 64;

/** Writes a prebuilt reply. */
export function writeFixed(
  writer: SocketWriter,
  request: H1Request,
  reply: FixedReply,
  withBody: boolean,
  clock: Clock,
): void {
  const { extra } = request.exchange.reply;
  reply.date(clock.dateBytes, clock.second);
  const out = writer.reserve(fixedReplyBound(reply, extra));
  writer.commit(encodeFixedReply(out, writer.offset, reply, extra, withBody, persistenceOf(request)));
}

/** Writes the head of the exchange's reply and settles how its body goes out. */
export function writeHead(writer: SocketWriter, request: H1Request, date: Uint8Array): void {
  const { reply, request: head } = request.exchange;
  const unknown = reply.framing === Framing.Chunked || reply.framing === Framing.UntilClose;
  request.chunkedReply = unknown && head.minor === 1;
  // RFC 9112 §6.3: for HTTP/1.0 the end of a body of unknown length is the end of the connection.
  if (unknown && head.minor === 0) request.closeAfter = true;
  const persistence = reply.status === 101 ? Persistence.Upgrade : persistenceOf(request);
  const out = writer.reserve(replyHeadBound(reply));
  writer.markRevocable();
  writer.commit(encodeReplyHead(out, writer.offset, reply, request.chunkedReply, persistence, date));
}

/** Writes an interim answer. RFC 9110 §15.2. */
export function writeInterim(writer: SocketWriter, status: number, headers: HeaderBlock): void {
  const out = writer.reserve(INTERIM_BOUND + headers.lineBytes);
  writer.commit(encodeInterim(out, writer.offset, status, headers));
}

/** Writes one chunk. */
export function writeChunk(writer: SocketWriter, bytes: Uint8Array, from: number, to: number): void {
  if (to === from) return;
  const out = writer.reserve(CHUNK_LINE_BOUND);
  writer.commit(encodeChunkSize(out, writer.offset, to - from));
  if (to - from <= COPY_BODY_BYTES) writer.copy(bytes, from, to);
  else writer.write(bytes, from, to);
  writer.copy(CRLF, 0, CRLF.length);
}

/** Writes the last chunk and the trailers, if there are any. */
export function endChunks(writer: SocketWriter, trailers: HeaderBlock | null): void {
  if (trailers === null) {
    writer.copy(LAST_CHUNK, 0, LAST_CHUNK.length);
    return;
  }
  const out = writer.reserve(CHUNK_LINE_BOUND + trailers.lineBytes);
  writer.commit(encodeTrailers(out, writer.offset, trailers));
}

function persistenceOf(request: H1Request): Persistence {
  if (request.closeAfter) return Persistence.Close;
  return request.exchange.request.minor === 0 ? Persistence.KeepAlive : Persistence.Silent;
}
