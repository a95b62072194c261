import { Byte, writeDecimal } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, type ResponseHead } from "../../message/request-head.ts";
import { dropTable } from "../h1/response-encoder.ts";
import { BLOCK_EXTRA, FIELD_EXTRA, type HpackEncoder } from "../hpack/encoder.ts";

/** Bytes for status, date, server and length. */
const OWN_BOUND = 160 + BLOCK_EXTRA;

/** Bytes that `encodeResponseBlock` may write at most. */
export function responseBlockBound(response: ResponseHead): number {
  const extra = response.extra === null ? 0 : blockBound(response.extra.block);
  return OWN_BOUND + blockBound(response.headers) + response.shownIdEnd + extra;
}

/** Bytes that `encodeFixedBlock` may write at most. */
export function fixedBlockBound(response: PrebuiltResponse, head: ResponseHead): number {
  return OWN_BOUND + blockBound(response.block) + (head.extra === null ? 0 : blockBound(head.extra.block));
}

/** Bytes that `encodeFields` may write at most. */
export function blockBound(block: HeaderBlock): number {
  return BLOCK_EXTRA + block.lineBytes + block.count * FIELD_EXTRA;
}

/**
 * Writes the header block of a response: what HTTP/1.1 would say of it, but for the connection. RFC 9113 §8.3.2.
 * @param date the 29 bytes of the current date, for a response without one
 * @returns the offset after it
 */
export function encodeResponseBlock(
  encoder: HpackEncoder,
  out: Buffer,
  start: number,
  response: ResponseHead,
  date: Uint8Array,
): number {
  encoder.begin(out, start);
  encoder.status(response.status);
  encodeFields(encoder, response.headers, NOT_IN_REPLIES);
  if (response.shownIdEnd > 0) {
    const { requestIdLine, shownIdEnd } = response;
    encoder.field(HeaderId.XRequestId, requestIdLine, 0, ID_NAME, ID_NAME + 2, shownIdEnd - 2);
  }
  if (response.headers.find(HeaderId.Date) < 0) encoder.field(HeaderId.Date, date, 0, 0, 0, 29);
  if (!response.fromUpstream) encodeServer(encoder);
  if (response.extra !== null) encodeFields(encoder, response.extra.block, NOT_IN_REPLIES);
  if (response.framing === Framing.Length || response.lengthWithoutBody) encodeLength(encoder, response.contentLength);
  return encoder.end();
}

/** Writes the header block of a prebuilt response, with the fields that taps add. */
export function encodeFixedBlock(
  encoder: HpackEncoder,
  out: Buffer,
  start: number,
  response: PrebuiltResponse,
  head: ResponseHead,
  date: Uint8Array,
): number {
  encoder.begin(out, start);
  encoder.status(response.status);
  encoder.field(HeaderId.Date, date, 0, 0, 0, 29);
  encodeServer(encoder);
  encodeFields(encoder, response.block, NOT_IN_FIXED);
  if (head.extra !== null) encodeFields(encoder, head.extra.block, NOT_IN_REPLIES);
  if (response.hasLength) encodeLength(encoder, response.body.length);
  return encoder.end();
}

/** Writes the header block of an interim response. RFC 9113 §8.1. */
export function encodeInterimBlock(
  encoder: HpackEncoder,
  out: Buffer,
  start: number,
  status: number,
  headers: HeaderBlock,
): number {
  encoder.begin(out, start);
  encoder.status(status);
  encodeFields(encoder, headers, NOT_IN_REPLIES);
  return encoder.end();
}

/** Writes the header block of trailers. */
export function encodeTrailerBlock(encoder: HpackEncoder, out: Buffer, start: number, trailers: HeaderBlock): number {
  encoder.begin(out, start);
  encodeFields(encoder, trailers, NOT_IN_REPLIES);
  return encoder.end();
}

/** Writes the fields of a block that `drop` does not name. */
function encodeFields(encoder: HpackEncoder, block: HeaderBlock, drop: Uint8Array): void {
  const { bytes, ids, count } = block;
  for (let i = 0; i < count; i++) {
    const id = ids[i]!;
    if (drop[id] === 1) continue;
    encoder.field(id, bytes, block.nameFrom(i), block.nameTo(i), block.valueFrom(i), block.valueTo(i));
  }
}

function encodeServer(encoder: HpackEncoder): void {
  encoder.field(HeaderId.Server, SERVER, 0, 0, 0, SERVER.length);
}

function encodeLength(encoder: HpackEncoder, length: number): void {
  encoder.field(HeaderId.ContentLength, DIGITS, 0, 0, 0, writeDecimal(DIGITS, 0, length));
}

const SERVER: Buffer = Buffer.from("edge");
const DIGITS: Buffer = Buffer.alloc(20, Byte.Zero);
const ID_NAME = "X-Request-Id".length;

/** Fields that no prebuilt response of HTTP/2 or HTTP/3 has: those of connections. */
export const NOT_IN_FIXED: Uint8Array = dropTable([
  // The gateway itself is the proxy that asks. RFC 9110 §11.7.1
  ...HOP_BY_HOP.filter((id) => id !== HeaderId.ProxyAuthenticate),
  HeaderId.Http2Settings,
]);

/** Fields that no other response has: those of connections, and all that are written apart. */
export const NOT_IN_REPLIES: Uint8Array = dropTable([
  ...HOP_BY_HOP,
  HeaderId.Http2Settings,
  // Its line is the gateway's own: see ResponseHead.requestIdLine.
  HeaderId.XRequestId,
]);
