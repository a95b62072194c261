import { type Exchange, mayRespond, type ResponseSource } from "../../message/exchange.ts";
import type { GrpcMetadata, GrpcStatus } from "../../message/grpc-upstream.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, Method } from "../../message/request-head.ts";
import { GrpcCode } from "../../proto/grpc/grpc-status.ts";

/** The body of an error. docs/transcoder.md#errors @param details JSON texts */
export function errorJson(status: GrpcStatus, details: readonly string[]): string {
  return `{"code":${status.code},"message":${JSON.stringify(status.message)},"details":[${details.join(",")}]}`;
}

/** Refuses a request that is no message, with code 3. */
export function refuseCall(ex: Exchange, status: number, message: string): void {
  const body = errorJson({ code: GrpcCode.InvalidArgument, message, details: null }, []);
  ex.sink.fixed(ex, new PrebuiltResponse(status, [["Content-Type", "application/json"]], body));
}

/**
 * Puts the head of a response into `ex.response`.
 * @param length of the body in bytes; -1 if it is not known
 * @returns whether a body may follow
 */
export function prepareHead(
  ex: Exchange,
  status: number,
  contentType: string,
  length: number,
  metadata: GrpcMetadata,
): boolean {
  const { response } = ex;
  const isHead = ex.request.method === Method.Head;
  response.status = status;
  response.headers.resetOwn();
  response.headers.add("Content-Type", contentType);
  for (const [name, value] of metadata) if (passes(name, value)) response.headers.add(name, value);
  response.framing = isHead ? Framing.None : length < 0 ? Framing.Chunked : Framing.Length;
  response.contentLength = Math.max(0, length);
  response.lengthWithoutBody = isHead && length >= 0;
  response.withoutBody = isHead;
  return !isHead;
}

/**
 * Gives a whole response. The exchange is over for the caller.
 * @param trailers metadata of the call's end
 */
export function give(
  ex: Exchange,
  status: number,
  contentType: string,
  body: Buffer,
  metadata: GrpcMetadata,
  trailers: GrpcMetadata = [],
): void {
  // It is complete as it is given: events of the client no longer matter.
  ex.source = NO_SOURCE;
  const last = trailersFor(ex, trailers);
  const withBody = prepareHead(ex, status, contentType, last === null ? body.length : -1, metadata);
  ex.sink.head(ex);
  if (withBody && mayRespond(ex)) ex.sink.body(ex, body, 0, body.length);
  if (!mayRespond(ex)) return;
  ex.response.trailers = last;
  ex.sink.end(ex);
}

/**
 * Metadata of a call's end as trailers, for a client that takes such: each with `Grpc-Trailer-` before its name, so that none is a field that
 * means something else. Null if there are none. docs/transcoder.md#metadata
 */
export function trailersFor(ex: Exchange, metadata: GrpcMetadata): HeaderBlock | null {
  const { method, headers } = ex.request;
  const fields = metadata.filter(([name, value]) => passes(name, value)).slice(0, MAX_TRAILERS);
  if (fields.length === 0 || method === Method.Head || !TRAILERS.test(headers.valueOf(HeaderId.Te))) return null;
  const block = ex.response.trailerBlock();
  for (const [name, value] of fields) block.add(`Grpc-Trailer-${name}`, value);
  return block;
}

/** RFC 9110 §10.1.4 */
const TRAILERS = /(?:^|,)[ \t]*trailers[ \t]*(?:,|$)/i;
/** More than any server sends in earnest. */
const MAX_TRAILERS = 50;

const NO_SOURCE: ResponseSource = { onWritable(): void {}, onCancelled(): void {} };

/** A media type that an upstream names, as it may stand in a field; what may not is told as bytes. */
export function mediaType(text: string): string {
  const value = Buffer.from(text, "utf8").latin1Slice().trim();
  return value !== "" && VALUE.test(value) ? value : "application/octet-stream";
}

/** Metadata of a response reach the client as fields, but for those that speak of the call or of the connection. */
function passes(name: string, value: string): boolean {
  return !RESERVED.test(name) && NAME.test(name) && VALUE.test(value);
}

const RESERVED =
  /^(grpc-.*|content-(type|length|encoding)|connection|keep-alive|proxy-.*|te|trailers?|transfer-encoding|upgrade|date|server|via|x-request-id|accept-encoding)$/;
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/;
