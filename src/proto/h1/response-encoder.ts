import { Byte, copyBytes, writeDecimal, writeHex } from "../../core/bytes.ts";
import { reasonOf } from "../../core/status.ts";
import type { ExtraFields } from "../../message/extra-fields.ts";
import { HEADER_ID_COUNT, type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, type ResponseHead } from "../../message/request-head.ts";
import { parseContentLength } from "./request-rules.ts";

/**
 * Writes the fields of a block that `drop` does not name, as `Name: value` lines. Neighbouring lines that stand in the
 * block's bytes just as they would be written are copied together: a native copy costs the same for one as for ten.
 * @param drop one entry a HeaderId: 1 leaves the field out
 * @returns the offset after the last line
 */
export function copyFields(out: Buffer, start: number, block: HeaderBlock, drop: Uint8Array): number {
  const { bytes, ids, count } = block;
  let at = start;
  let runFrom = -1;
  let runTo = -1;
  for (let i = 0; i < count; i++) {
    if (drop[ids[i]!] === 1) continue;
    const nameFrom = block.nameFrom(i);
    const nameTo = block.nameTo(i);
    const valueFrom = block.valueFrom(i);
    const valueTo = block.valueTo(i);
    const asWritten = valueFrom === nameTo + 2 && bytes[nameTo + 1] === Byte.Space && bytes[valueTo] === Byte.Cr;
    if (asWritten && runTo === nameFrom) {
      runTo = valueTo + 2;
      continue;
    }
    if (runFrom >= 0) at = copyBytes(out, at, bytes, runFrom, runTo);
    runFrom = -1;
    runTo = -1;
    if (asWritten) {
      runFrom = nameFrom;
      runTo = valueTo + 2;
    } else at = writeValue(out, copyBytes(out, at, bytes, nameFrom, nameTo), bytes, valueFrom, valueTo);
  }
  return runFrom < 0 ? at : copyBytes(out, at, bytes, runFrom, runTo);
}

/** Writes what follows a field's name. */
function writeValue(out: Buffer, start: number, bytes: Uint8Array, from: number, to: number): number {
  let at = start;
  out[at++] = Byte.Colon;
  out[at++] = Byte.Space;
  at = copyBytes(out, at, bytes, from, to);
  out[at++] = Byte.Cr;
  out[at++] = Byte.Lf;
  return at;
}

/** A table for `copyFields` that leaves these fields out. */
export function dropTable(ids: readonly HeaderId[]): Uint8Array {
  const drop = new Uint8Array(HEADER_ID_COUNT);
  for (const id of ids) drop[id] = 1;
  return drop;
}

/** The response's statement about its connection. RFC 9112 §9.3. */
export const enum Persistence {
  /** No field: HTTP/1.1 stays open by itself. */
  Silent = 0,
  /** HTTP/1.0 clients need the field. */
  KeepAlive,
  Close,
  /** A 101: the fields of the upgrade are kept. */
  Upgrade,
}

/** Bytes for status line, Date, Server, length and connection. */
const OWN_BOUND = 512;
/** Bytes of a Connection line at most. */
const CONNECTION_BOUND = 32;

/** Bytes that `encodeResponseHead` may write at most. */
export function responseHeadBound(response: ResponseHead): number {
  const extra = response.extra === null ? 0 : response.extra.lines.length;
  return OWN_BOUND + response.headers.lineBytes + extra;
}

/**
 * Writes a response's head for HTTP/1.1, hop-by-hop fields left out. RFC 9112 §4, §6; RFC 9110 §7.6.1, §6.6.1 (Date).
 * @param chunked whether the body will be sent in chunks
 * @param date the 29 bytes of the current date, for a response without one
 * @returns the offset after the head
 */
export function encodeResponseHead(
  out: Buffer,
  start: number,
  response: ResponseHead,
  chunked: boolean,
  persistence: Persistence,
  date: Uint8Array,
): number {
  let at = writeStatusLine(out, start, response.status, response.reasonFor(response.status));
  const keepsLength = response.fromUpstream && !chunked && hasPlainLength(response);
  const offersUpgrade = response.status === 426 && response.headers.find(HeaderId.Upgrade) >= 0;
  const keepsUpgrade = offersUpgrade || persistence === Persistence.Upgrade;
  at = copyFields(out, at, response.headers, DROPS[Number(keepsLength) + 2 * Number(keepsUpgrade)]!);
  if (response.shownIdEnd > 0) at = copyBytes(out, at, response.requestIdLine, 0, response.shownIdEnd);
  if (response.headers.find(HeaderId.Date) < 0) {
    at = copyBytes(out, at, DATE, 0, DATE.length);
    at = copyBytes(out, at, date, 0, 29);
    at = copyBytes(out, at, CRLF, 0, 2);
  }
  if (!response.fromUpstream) at = copyBytes(out, at, SERVER, 0, SERVER.length);
  if (response.extra !== null) at = copyBytes(out, at, response.extra.lines, 0, response.extra.lines.length);
  if (chunked) at = copyBytes(out, at, TRANSFER_ENCODING, 0, TRANSFER_ENCODING.length);
  else if (
    !keepsLength &&
    (response.framing === Framing.Length || response.lengthWithoutBody || saysLengthZero(response))
  ) {
    at = copyBytes(out, at, CONTENT_LENGTH, 0, CONTENT_LENGTH.length);
    at = writeDecimal(out, at, response.contentLength);
    at = copyBytes(out, at, CRLF, 0, 2);
  }
  return endHead(out, at, persistence, offersUpgrade);
}

/**
 * Writes a prebuilt response, whose date must be right.
 * @param extra fields that it does not have itself
 * @param withBody false for HEAD
 * @returns the offset after it
 */
export function encodePrebuilt(
  out: Buffer,
  start: number,
  response: PrebuiltResponse,
  extra: ExtraFields | null,
  withBody: boolean,
  persistence: Persistence,
): number {
  const { image, fieldsTo } = response;
  if (persistence === Persistence.Silent && extra === null) {
    return copyBytes(out, start, image, 0, withBody ? image.length : fieldsTo + CRLF.length);
  }
  let at = copyBytes(out, start, image, 0, fieldsTo);
  if (extra !== null) at = copyBytes(out, at, extra.lines, 0, extra.lines.length);
  at = endHead(out, at, persistence);
  return withBody ? copyBytes(out, at, image, fieldsTo + CRLF.length, image.length) : at;
}

/** Bytes that `encodePrebuilt` may write at most. */
export function prebuiltBound(response: PrebuiltResponse, extra: ExtraFields | null): number {
  return response.image.length + (extra === null ? 0 : extra.lines.length) + CONNECTION_BOUND;
}

/** Writes the line before a chunk's data. RFC 9112 §7.1. Eight hexadecimal digits and CRLF at most. */
export function encodeChunkSize(out: Buffer, start: number, size: number): number {
  const at = writeHex(out, start, size);
  return copyBytes(out, at, CRLF, 0, 2);
}

/** Writes a complete interim response. RFC 9110 §15.2. */
export function encodeInterim(
  out: Buffer,
  start: number,
  status: number,
  reason: string,
  headers: HeaderBlock,
): number {
  let at = writeStatusLine(out, start, status, reason);
  at = copyFields(out, at, headers, DROP);
  return copyBytes(out, at, CRLF, 0, 2);
}

/** Writes the last chunk with trailers after it. RFC 9112 §7.1.2. */
export function encodeTrailers(out: Buffer, start: number, trailers: HeaderBlock): number {
  let at = copyBytes(out, start, LAST_CHUNK, 0, 3);
  at = copyFields(out, at, trailers, DROP);
  return copyBytes(out, at, CRLF, 0, 2);
}

export const CRLF: Buffer = Buffer.from("\r\n");
export const LAST_CHUNK: Buffer = Buffer.from("0\r\n\r\n");
export const CONTINUE_LINE: Buffer = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

/** Whether an upstream's Content-Length stands as the gateway would write it, and can go on with its neighbours. */
function hasPlainLength(response: ResponseHead): boolean {
  if (response.framing !== Framing.Length) return false;
  const { headers } = response;
  const index = headers.find(HeaderId.ContentLength);
  if (index < 0 || headers.find(HeaderId.ContentLength, index + 1) >= 0) return false;
  return (
    headers.bytes[headers.valueFrom(index)] !== ZERO && parseContentLength(headers, index) === response.contentLength
  );
}

/** An empty body is announced, if a reader could otherwise wait for the connection's end. */
function saysLengthZero(response: ResponseHead): boolean {
  return (
    response.framing === Framing.None &&
    !response.withoutBody &&
    response.status >= 200 &&
    response.status !== 204 &&
    response.status !== 304
  );
}

/** @param offersUpgrade whether a 426 says what to upgrade to, which is about the connection. RFC 9110 §15.5.22, §7.8 */
function endHead(out: Buffer, start: number, persistence: Persistence, offersUpgrade = false): number {
  let at = start;
  if (persistence === Persistence.Close) at = copyBytes(out, at, CLOSE, 0, CLOSE.length);
  else if (persistence === Persistence.KeepAlive) at = copyBytes(out, at, KEEP_ALIVE, 0, KEEP_ALIVE.length);
  if (offersUpgrade || persistence === Persistence.Upgrade) at = copyBytes(out, at, UPGRADE, 0, UPGRADE.length);
  return copyBytes(out, at, CRLF, 0, 2);
}

/** @param reason in the place of that of the status; "" for that one */
function writeStatusLine(out: Buffer, start: number, status: number, reason: string): number {
  const line = STATUS_LINES[status] ?? statusLine(status);
  if (reason === "") return copyBytes(out, start, line, 0, line.length);
  let at = copyBytes(out, start, line, 0, REASON_AT);
  at += out.latin1Write(reason, at, reason.length);
  return copyBytes(out, at, CRLF, 0, CRLF.length);
}

function statusLine(status: number): Buffer {
  return Buffer.from(`HTTP/1.1 ${status} ${reasonOf(status)}\r\n`);
}

const STATUS_LINES: (Buffer | undefined)[] = Array.from({ length: 600 }, (_, status) =>
  status >= 100 ? statusLine(status) : undefined,
);
const DATE: Buffer = Buffer.from("Date: ");
const SERVER: Buffer = Buffer.from("Server: edge\r\n");
const TRANSFER_ENCODING: Buffer = Buffer.from("Transfer-Encoding: chunked\r\n");
const CONTENT_LENGTH: Buffer = Buffer.from("Content-Length: ");
const CLOSE: Buffer = Buffer.from("Connection: close\r\n");
const KEEP_ALIVE: Buffer = Buffer.from("Connection: keep-alive\r\n");
const UPGRADE: Buffer = Buffer.from("Connection: Upgrade\r\n");

const DROP: Uint8Array = dropTable([
  ...HOP_BY_HOP,
  // Its line is the gateway's own: see ResponseHead.requestIdLine.
  HeaderId.XRequestId,
]);
const DROP_BUT_LENGTH: Uint8Array = DROP.slice();
DROP_BUT_LENGTH[HeaderId.ContentLength] = 0;
/** The fields to leave out, by whether the length stays, and by whether Upgrade does. */
const DROPS: readonly Uint8Array[] = [DROP, DROP_BUT_LENGTH, keepingUpgrade(DROP), keepingUpgrade(DROP_BUT_LENGTH)];

function keepingUpgrade(drop: Uint8Array): Uint8Array {
  const kept = drop.slice();
  kept[HeaderId.Upgrade] = 0;
  return kept;
}

/** Offset of the phrase in a status line. */
const REASON_AT = "HTTP/1.1 200 ".length;

const ZERO = 0x30;
