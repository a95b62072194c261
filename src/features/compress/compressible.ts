import { equalsLower, latin1 } from "../../core/bytes.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, Method, type ResponseHead } from "../../message/request-head.ts";
import { ListTokens } from "../../proto/h1/list-tokens.ts";
import { CODING_NAMES, Coding } from "../../proto/semantics/accept-encoding.ts";
import {
  dropPlainFields,
  forbidsTransforming,
  hasNoTransform,
  isOfPlainContent,
} from "../../proto/semantics/transformed-head.ts";
import type { CompressionPolicy } from "./compression-policy.ts";

/** What becomes of a response. */
export const enum Compressible {
  /** It goes out as it is. */
  No = 0,
  /** The same, but it depends on Accept-Encoding: others of its kind are compressed. */
  Varies,
  /** A 304: its fields follow those of the response that the client has. */
  NotModified,
  Yes,
}

/** Judges a response by its head: docs/compression.md#what-is-compressed */
export function judgeCompressible(
  { response, request }: Exchange,
  coding: Coding,
  policy: CompressionPolicy,
): Compressible {
  const { headers, status } = response;
  if (status === 304) return Compressible.NotModified;
  if (status < 200 || status === 204 || status === 205 || headers.find(HeaderId.ContentEncoding) >= 0)
    return Compressible.No;
  const type = headers.find(HeaderId.ContentType);
  if (type < 0 || !policy.types.has(headers.valueText(type)) || forbidsTransforming(headers)) return Compressible.No;
  if (coding === Coding.Identity || status === 206 || headers.find(HeaderId.ContentRange) >= 0)
    return Compressible.Varies;
  const length = lengthOf(response, request.method);
  return length === 0 || length < policy.minBytes ? Compressible.Varies : Compressible.Yes;
}

/** The same for a prebuilt response. */
export function judgeFixed({ status, fields, body }: PrebuiltResponse, policy: CompressionPolicy): Compressible {
  let type = "";
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    if (lower === "content-encoding" || (lower === "cache-control" && hasNoTransform(value))) return Compressible.No;
    if (lower === "content-type") type = value;
  }
  if (status < 200 || status === 204 || status === 206 || !policy.types.has(type)) return Compressible.No;
  return body.length === 0 || body.length < policy.minBytes ? Compressible.Varies : Compressible.Yes;
}

/** Makes the head of a response that of its compressed form: docs/compression.md#fields */
export function describeCompressed({ headers }: ResponseHead, coding: Coding): void {
  headers.removeAll(HeaderId.ContentLength);
  weaken(headers);
  dropPlainFields(headers);
  headers.add("Content-Encoding", CODING_NAMES[coding]!);
  addVary(headers);
}

/** The same for the fields of a prebuilt response. */
export function compressedFields(fields: PrebuiltResponse["fields"], coding: Coding): (readonly [string, string])[] {
  const kept = fields.filter(([name]) => !isOfPlainContent(name.toLowerCase()));
  const weak = kept.map(([name, value]): readonly [string, string] =>
    name.toLowerCase() === "etag" ? [name, weakTag(value)] : [name, value],
  );
  return varying([...weak, ["Content-Encoding", CODING_NAMES[coding]!]]);
}

/** The fields of a prebuilt response with Vary. */
export function varying(fields: PrebuiltResponse["fields"]): (readonly [string, string])[] {
  const varies = fields.some(([name, value]) => name.toLowerCase() === "vary" && NAMES_ENCODING.test(value));
  return varies ? [...fields] : [...fields, ["Vary", "Accept-Encoding"]];
}

/**
 * A 304 has the tag in the form in which the client has named it: what it has stored is the compressed form, if that is the
 * weak one (RFC 9110 §15.4.5).
 */
export function describeNotModified({ response, request }: Exchange): void {
  const { headers } = response;
  const etag = headers.valueOf(HeaderId.ETag);
  if (etag !== "" && namesWeakly(request.headers, etag)) {
    weaken(headers);
    dropPlainFields(headers);
  }
  addVary(headers);
}

/** Adds Vary: Accept-Encoding, if the response does not say it. */
export function addVary(headers: HeaderBlock): void {
  for (let i = headers.find(HeaderId.Vary); i >= 0; i = headers.find(HeaderId.Vary, i + 1)) {
    const tokens = new ListTokens(headers, i);
    while (tokens.next()) {
      if (equalsLower(headers.bytes, tokens.from, tokens.to, ACCEPT_ENCODING)) return;
      if (equalsLower(headers.bytes, tokens.from, tokens.to, STAR)) return;
    }
  }
  headers.add("Vary", "Accept-Encoding");
}

/** Whether a body is a stream of events, which must not wait. */
export function isEventStream(headers: HeaderBlock): boolean {
  return /^text\/event-stream\s*(;|$)/i.test(headers.valueOf(HeaderId.ContentType));
}

/** The length of the body, Infinity where it is unknown. */
function lengthOf(response: ResponseHead, method: Method): number {
  if (method === Method.Head) return response.lengthWithoutBody ? response.contentLength : Number.POSITIVE_INFINITY;
  if (response.framing === Framing.None) return 0;
  return response.framing === Framing.Length ? response.contentLength : Number.POSITIVE_INFINITY;
}

/** RFC 9110 §8.8.1: the compressed form is not the plain one byte for byte. */
function weaken(headers: HeaderBlock): void {
  if (headers.find(HeaderId.ETag) >= 0) headers.setValueOf(HeaderId.ETag, weakTag(headers.valueOf(HeaderId.ETag)));
}

function weakTag(etag: string): string {
  return etag.startsWith("W/") ? etag : `W/${etag}`;
}

function namesWeakly(request: HeaderBlock, etag: string): boolean {
  for (let i = request.find(HeaderId.IfNoneMatch); i >= 0; i = request.find(HeaderId.IfNoneMatch, i + 1)) {
    if (request.valueText(i).includes(weakTag(etag))) return true;
  }
  return false;
}

const NAMES_ENCODING = /(?:^|[\s,])(?:accept-encoding|\*)(?:$|[\s,])/i;
const ACCEPT_ENCODING: Uint8Array = latin1("accept-encoding");
const STAR: Uint8Array = latin1("*");
