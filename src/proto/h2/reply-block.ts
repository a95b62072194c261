import { Byte, writeDecimal } from "../../core/bytes.ts";
import type { FixedReply } from "../../message/fixed-reply.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Framing, type ReplyHead } from "../../message/request-head.ts";
import { dropTable, HOP_BY_HOP } from "../h1/reply-encoder.ts";
import { BLOCK_EXTRA, FIELD_EXTRA, type HpackEncoder } from "../hpack/encoder.ts";

/** Bytes for status, date, server and length. */
const OWN_BOUND = 160 + BLOCK_EXTRA;

/** Bytes that `encodeReplyBlock` may write at most. */
export function replyBlockBound(reply: ReplyHead): number {
  const extra = reply.extra === null ? 0 : blockBound(reply.extra.block);
  return OWN_BOUND + blockBound(reply.headers) + reply.requestIdEnd + extra;
}

/** Bytes that `encodeFixedBlock` may write at most. */
export function fixedBlockBound(reply: FixedReply, head: ReplyHead): number {
  return OWN_BOUND + blockBound(reply.block) + (head.extra === null ? 0 : blockBound(head.extra.block));
}

/** Bytes that `encodeFields` may write at most. */
export function blockBound(block: HeaderBlock): number {
  return BLOCK_EXTRA + block.lineBytes + block.count * FIELD_EXTRA;
}

/**
 * Writes the header block of a reply: what HTTP/1.1 would say of it, but for the connection. RFC 9113 §8.3.2.
 * @param date the 29 bytes of the current date, used where the reply has none
 * @returns the offset behind it
 */
export function encodeReplyBlock(
  encoder: HpackEncoder,
  out: Buffer,
  start: number,
  reply: ReplyHead,
  date: Uint8Array,
): number {
  let at = encoder.status(out, encoder.begin(out, start), reply.status);
  at = encodeFields(encoder, out, at, reply.headers, NOT_IN_REPLIES);
  if (reply.requestIdEnd > 0) {
    const { requestIdLine, requestIdEnd } = reply;
    at = encoder.field(out, at, HeaderId.XRequestId, requestIdLine, 0, ID_NAME, ID_NAME + 2, requestIdEnd - 2);
  }
  if (reply.headers.find(HeaderId.Date) < 0) at = encoder.field(out, at, HeaderId.Date, date, 0, 0, 0, 29);
  if (!reply.fromUpstream) at = encodeServer(encoder, out, at);
  if (reply.extra !== null) at = encodeFields(encoder, out, at, reply.extra.block, NOT_IN_REPLIES);
  if (reply.framing !== Framing.Length && !reply.lengthWithoutBody) return at;
  return encodeLength(encoder, out, at, reply.contentLength);
}

/** Writes the header block of a prebuilt reply, with the fields that taps add. */
export function encodeFixedBlock(
  encoder: HpackEncoder,
  out: Buffer,
  start: number,
  reply: FixedReply,
  head: ReplyHead,
  date: Uint8Array,
): number {
  let at = encoder.status(out, encoder.begin(out, start), reply.status);
  at = encoder.field(out, at, HeaderId.Date, date, 0, 0, 0, 29);
  at = encodeServer(encoder, out, at);
  at = encodeFields(encoder, out, at, reply.block, NOT_IN_REPLIES);
  if (head.extra !== null) at = encodeFields(encoder, out, at, head.extra.block, NOT_IN_REPLIES);
  return reply.status === 204 ? at : encodeLength(encoder, out, at, reply.body.length);
}

/** Writes the header block of an interim answer. RFC 9113 §8.1. */
export function encodeInterimBlock(
  encoder: HpackEncoder,
  out: Buffer,
  start: number,
  status: number,
  headers: HeaderBlock,
): number {
  return encodeFields(encoder, out, encoder.status(out, encoder.begin(out, start), status), headers, NOT_IN_REPLIES);
}

/** Writes the header block of trailers. */
export function encodeTrailerBlock(encoder: HpackEncoder, out: Buffer, start: number, trailers: HeaderBlock): number {
  return encodeFields(encoder, out, encoder.begin(out, start), trailers, NOT_IN_REPLIES);
}

/** Writes the fields of a block that `drop` does not name. */
export function encodeFields(
  encoder: HpackEncoder,
  out: Buffer,
  start: number,
  block: HeaderBlock,
  drop: Uint8Array,
): number {
  const { bytes, spans, ids, count } = block;
  let at = start;
  for (let i = 0; i < count; i++) {
    const id = ids[i]!;
    if (drop[id] === 1) continue;
    const s = i * 4;
    at = encoder.field(out, at, id, bytes, spans[s]!, spans[s + 1]!, spans[s + 2]!, spans[s + 3]!);
  }
  return at;
}

function encodeServer(encoder: HpackEncoder, out: Buffer, at: number): number {
  return encoder.field(out, at, HeaderId.Server, SERVER, 0, 0, 0, SERVER.length);
}

function encodeLength(encoder: HpackEncoder, out: Buffer, at: number, length: number): number {
  const end = writeDecimal(DIGITS, 0, length);
  return encoder.field(out, at, HeaderId.ContentLength, DIGITS, 0, 0, 0, end);
}

const SERVER: Buffer = Buffer.from("edge");
const DIGITS: Buffer = Buffer.alloc(20, Byte.Zero);
const ID_NAME = "X-Request-Id".length;

/** Fields that no reply of HTTP/2 or HTTP/3 has: those of connections, and those that are written apart. */
export const NOT_IN_REPLIES: Uint8Array = dropTable([
  ...HOP_BY_HOP,
  HeaderId.Http2Settings,
  // Its line is the gateway's own: see ReplyHead.requestIdLine.
  HeaderId.XRequestId,
]);
