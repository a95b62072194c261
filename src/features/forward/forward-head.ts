import { byteTable, copyBytes, equalsLower, latin1, RandomPool, writeCrlf, writeDecimal } from "../../core/bytes.ts";
import { MAX_CLIENT_CERT_CHARS } from "../../core/limits.ts";
import { UNKNOWN_CLIENT } from "../../message/client-peer.ts";
import type { Exchange, RequestNamer, Target } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import {
  Framing,
  MAX_REQUEST_ID_BYTES,
  Method,
  REQUEST_ID_FROM,
  type RequestHead,
} from "../../message/request-head.ts";
import { isOwnVia } from "../../message/via.ts";
import { CLAIMS } from "../../proto/h1/claimed-fields.ts";
import { ListTokens } from "../../proto/h1/list-tokens.ts";
import { copyFields, dropTable } from "../../proto/h1/response-encoder.ts";
import { isForwardableUpgrade } from "../../proto/h1/upgrade-tokens.ts";

/** Own entries in Via after which a request counts as a loop (508). */
const MAX_VIA_HOPS = 10;

/** What a route says of the heads it forwards. */
export interface ForwardHeadSettings {
  /** Whether the client's Host is forwarded; if not, the target's own authority is. */
  readonly preserveHost: boolean;
  /** Sent in the place of both; absent or "" for none. */
  readonly hostHeader?: string;
}

/** Bytes that `encodeForwardHead` may add to what came from the client. */
const OWN_BOUND = 672;
/** Bytes of a line `X-Forwarded-Client-Cert` beside its value. */
const CERTIFICATE_LINE_BOUND = 32;

/** Bytes that `encodeForwardHead` may write at most. */
export function forwardHeadBound(ex: Exchange, target: Target): number {
  const head = ex.request;
  const path = head.targetTo - head.targetFrom + ex.forwardPath.length;
  const host = head.hostIndex < 0 ? head.authorityTo - head.authorityFrom : 0;
  const certificate = ex.client.identity === null ? 0 : MAX_CLIENT_CERT_CHARS + CERTIFICATE_LINE_BOUND;
  const fixed = OWN_BOUND + target.basePath.length + target.upstream.authority.length + certificate;
  // Host is written as Host and as X-Forwarded-Host; X-Forwarded-For may be copied and appended to.
  return fixed + path + host * 2 + head.headers.lineBytes * 2 + (head.methodTo - head.methodFrom);
}

/**
 * Writes the head that goes upstream: request line, Host, the client's end-to-end fields, then the gateway's own.
 * RFC 9110 §7.6, docs/upstreams.md#fields-that-are-sent. The response's own lines hold the X-Request-Id line already.
 * @returns the offset after the head
 */
export function encodeForwardHead(
  ex: Exchange,
  settings: ForwardHeadSettings,
  target: Target,
  out: Buffer,
  start: number,
): number {
  const head = ex.request;
  const upgrade = head.upgrade && isForwardableUpgrade(head.headers);
  let at = copyBytes(out, start, head.bytes, head.methodFrom, head.methodTo);
  at = writeTarget(ex, target.basePath, out, at);
  // HTTP/1.0 clients may leave Host out; HTTP/1.1 origins must get one (RFC 9112 §3.2).
  const { hostHeader = "" } = settings;
  const keepsHost =
    hostHeader === "" && settings.preserveHost && (head.hostIndex >= 0 || head.authorityTo > head.authorityFrom);
  at = writeHost(head, keepsHost ? "" : hostHeader || target.upstream.authority, out, at);
  at = copyFields(out, at, head.headers, upgrade ? DROP_ON_UPGRADE : DROP);
  if (head.framing === Framing.Length || (head.framing === Framing.None && saysNone(head))) {
    at = copyBytes(out, at, CONTENT_LENGTH, 0, CONTENT_LENGTH.length);
    at = writeCrlf(out, writeDecimal(out, at, head.contentLength));
  } else if (head.framing === Framing.Chunked) {
    at = copyBytes(out, at, CHUNKED, 0, CHUNKED.length);
  }
  at = writeForwarded(ex, out, at);
  if (acceptsTrailers(head.headers)) at = copyBytes(out, at, TE_TRAILERS, 0, TE_TRAILERS.length);
  if (ex.attempt.asksOrigin) at = copyBytes(out, at, EXPECT_CONTINUE, 0, EXPECT_CONTINUE.length);
  if (upgrade) at = copyBytes(out, at, CONNECTION_UPGRADE, 0, CONNECTION_UPGRADE.length);
  at = copyBytes(out, at, ex.response.requestIdLine, 0, ex.response.requestIdEnd);
  const via = head.major === 1 && head.minor === 1 ? VIA_AND_END : viaAndEnd(head);
  return copyBytes(out, at, via, 0, via.length);
}

/** Whether this request has come through this gateway too often. docs/upstreams.md#fields-that-are-sent */
export function isLoop(headers: HeaderBlock): boolean {
  let hops = 0;
  for (let i = headers.find(HeaderId.Via); i >= 0; i = headers.find(HeaderId.Via, i + 1)) {
    for (const part of headers.valueText(i).split(",")) if (isOwnVia(part)) hops++;
  }
  return hops >= MAX_VIA_HOPS;
}

function writeTarget(ex: Exchange, basePath: Buffer, out: Buffer, start: number): number {
  const head = ex.request;
  out[start] = SPACE;
  let at = copyBytes(out, start + 1, basePath, 0, basePath.length);
  if (ex.forwardPath !== "") at += out.latin1Write(ex.forwardPath, at);
  else {
    const from = head.pathFrom + ex.prefixLength;
    if (from >= head.pathTo || head.bytes[from] !== SLASH) out[at++] = SLASH;
    // Path and query stand side by side.
    return copyBytes(out, at, head.bytes, Math.min(from, head.pathTo), head.queryTo);
  }
  return copyBytes(out, at, head.bytes, head.pathTo, head.queryTo);
}

function writeHost(head: RequestHead, authority: string, out: Buffer, start: number): number {
  let at = copyBytes(out, start, VERSION_AND_HOST, 0, VERSION_AND_HOST.length);
  if (authority !== "") at += out.latin1Write(authority, at);
  else at = copyClientHost(head, out, at);
  return writeCrlf(out, at);
}

/** Copies the authority that the client named. @returns the offset after it */
export function copyClientHost(head: RequestHead, out: Buffer, at: number): number {
  if (head.authorityTo > head.authorityFrom)
    return copyBytes(out, at, head.bytes, head.authorityFrom, head.authorityTo);
  if (head.hostIndex < 0) return at;
  return head.headers.copyValue(head.hostIndex, out, at);
}

/**
 * Writes the lines that tell a server who the client is: X-Forwarded-For, X-Real-IP, X-Forwarded-Proto, its certificate, X-Forwarded-Host.
 * What a client says of itself there is not believed; the chain that a trusted proxy reports is kept, and appended to.
 * docs/upstreams.md#fields-that-are-sent
 * @returns the offset after them
 */
export function writeForwarded(ex: Exchange, out: Buffer, start: number): number {
  const { request, client, fromTrustedProxy } = ex;
  let at = start;
  if (fromTrustedProxy) at = writeChain(ex, out, at);
  else {
    const lines = client.forwardLines ?? client.makeForwardLines();
    at = copyBytes(out, at, lines, 0, lines.length);
  }
  return writeCrlf(out, copyClientHost(request, out, at));
}

/** A trusted proxy is before us: the chain that it reports is kept, and it is appended. */
function writeChain(ex: Exchange, out: Buffer, start: number): number {
  const { headers } = ex.request;
  let at = copyBytes(out, start, FORWARDED_FOR, 0, FORWARDED_FOR.length);
  const first = at;
  for (let i = headers.find(HeaderId.XForwardedFor); i >= 0; i = headers.find(HeaderId.XForwardedFor, i + 1)) {
    if (headers.valueLength(i) === 0) continue;
    at = copyBytes(out, headers.copyValue(i, out, at), COMMA, 0, COMMA.length);
  }
  // The proxy forwards for a client: it must not be recorded as the client.
  if (at === first && ex.forwardedIp === UNKNOWN_CLIENT) at += out.latin1Write(`${UNKNOWN_CLIENT}, `, at);
  at = writeCrlf(out, at + out.latin1Write(ex.client.address, at));
  if (ex.client.identity === null) at = copyCertificates(headers, out, at);
  const { certificateLine } = ex.client;
  const text = `X-Real-IP: ${ex.clientIp}\r\nX-Forwarded-Proto: ${ex.scheme}\r\n${certificateLine}X-Forwarded-Host: `;
  return at + out.latin1Write(text, at);
}

/** What a trusted proxy says of the certificate that it has verified, where the gateway has not seen one itself. */
function copyCertificates(headers: HeaderBlock, out: Buffer, start: number): number {
  const id = HeaderId.XForwardedClientCert;
  let at = start;
  for (let i = headers.find(id); i >= 0; i = headers.find(id, i + 1)) {
    at = copyBytes(out, at, CLIENT_CERT, 0, CLIENT_CERT.length);
    at = writeCrlf(out, headers.copyValue(i, out, at));
  }
  return at;
}

/** Whether TE holds `trailers`, alone or among codings, which are for this hop. RFC 9110 §10.1.4 */
function acceptsTrailers(headers: HeaderBlock): boolean {
  for (let i = headers.find(HeaderId.Te); i >= 0; i = headers.find(HeaderId.Te, i + 1)) {
    const tokens = new ListTokens(headers, i);
    while (tokens.next()) if (equalsLower(headers.bytes, tokens.from, tokens.to, TRAILERS)) return true;
  }
  return false;
}

/** RFC 9110 §8.6: a length of 0 is sent where the method gives a body meaning, and where the client has said it. */
function saysNone({ method, headers }: RequestHead): boolean {
  const expectsBody = method === Method.Post || method === Method.Put || method === Method.Patch;
  return expectsBody || headers.find(HeaderId.ContentLength) >= 0;
}

function viaAndEnd({ major }: RequestHead): Buffer {
  return OTHER_VIAS[major - 1]!;
}

const SPACE = 0x20;
const SLASH = 0x2f;
const VERSION_AND_HOST: Buffer = Buffer.from(" HTTP/1.1\r\nHost: ");
const CONTENT_LENGTH: Buffer = Buffer.from("Content-Length: ");
const CHUNKED: Buffer = Buffer.from("Transfer-Encoding: chunked\r\n");
const FORWARDED_FOR: Buffer = Buffer.from("X-Forwarded-For: ");
const CLIENT_CERT: Buffer = Buffer.from("X-Forwarded-Client-Cert: ");
const COMMA: Buffer = Buffer.from(", ");
const VIA_AND_END: Buffer = Buffer.from("Via: 1.1 edge\r\n\r\n");
const OTHER_VIAS: readonly Buffer[] = ["1.0", "2", "3"].map((version) => Buffer.from(`Via: ${version} edge\r\n\r\n`));
const TE_TRAILERS: Buffer = Buffer.from("TE: trailers\r\n");
const EXPECT_CONTINUE: Buffer = Buffer.from("Expect: 100-continue\r\n");
const CONNECTION_UPGRADE: Buffer = Buffer.from("Connection: Upgrade\r\n");
const TRAILERS: Uint8Array = latin1("trailers");

/** Hop-by-hop fields (RFC 9110 §7.6.1), what the gateway writes itself, and what only a trusted hop may say. */
const DROPPED: readonly HeaderId[] = [...HOP_BY_HOP, HeaderId.Host, HeaderId.Trailers, ...CLAIMS];
const DROP: Uint8Array = dropTable(DROPPED);
const DROP_ON_UPGRADE: Uint8Array = dropTable(DROPPED.filter((id) => id !== HeaderId.Upgrade));

const HEX_PAIRS: Uint8Array = Uint8Array.from({ length: 512 }, (_, i) => {
  const digit = i & 1 ? (i >> 1) & 15 : i >> 5;
  return digit < 10 ? 0x30 + digit : 0x57 + digit;
});
const RANDOM_PER_ID = 10;
const ID_CHARACTER: Uint8Array = byteTable((byte) => (/[A-Za-z0-9._-]/.test(String.fromCharCode(byte)) ? 1 : 0));

/** Gives every forwarded request its X-Request-Id. docs/upstreams.md#fields-that-are-sent */
export class RequestIds implements RequestNamer {
  private readonly random: RandomPool = new RandomPool();
  private readonly clock: { readonly nowMs: number };

  /** @param clock milliseconds since the epoch */
  constructor(clock: { readonly nowMs: number }) {
    this.clock = clock;
  }

  /**
   * Puts the line `X-Request-Id: …` into the response's own lines: a valid client value of 1 to 128 characters is kept,
   * any other gives way to a new UUIDv7 (RFC 9562 §5.7). The same bytes go upstream. A request that has one keeps it.
   */
  assign(ex: Exchange): void {
    if (ex.response.requestIdEnd > 0) return;
    const line = ex.response.requestIdLine;
    let at = REQUEST_ID_FROM;
    const headers = ex.request.headers;
    const index = headers.find(HeaderId.XRequestId);
    const from = index < 0 ? 0 : headers.valueFrom(index);
    const to = index < 0 ? 0 : headers.valueTo(index);
    if (isValid(headers.bytes, from, to)) at = copyBytes(line, at, headers.bytes, from, to);
    else at = this.writeUuid(line, at);
    line[at++] = 0x0d;
    line[at++] = 0x0a;
    ex.response.requestIdEnd = at;
    ex.response.shownIdEnd = at;
  }

  /** See RequestNamer: for the log lines of requests that are refused, which are named for nothing else. */
  idOf(ex: Exchange): string {
    this.assign(ex);
    return ex.response.requestId();
  }

  private writeUuid(out: Buffer, start: number): number {
    const r = this.random.take(RANDOM_PER_ID);
    const random = this.random.bytes;
    const now = this.clock.nowMs;
    const high = Math.floor(now / 0x100000000);
    const low = now >>> 0;
    let at = pair(out, start, (high >>> 8) & 255);
    at = pair(out, at, high & 255);
    at = pair(out, at, low >>> 24);
    at = pair(out, at, (low >>> 16) & 255);
    out[at++] = DASH;
    at = pair(out, at, (low >>> 8) & 255);
    at = pair(out, at, low & 255);
    out[at++] = DASH;
    at = pair(out, at, 0x70 | (random[r]! & 15));
    at = pair(out, at, random[r + 1]!);
    out[at++] = DASH;
    at = pair(out, at, 0x80 | (random[r + 2]! & 63));
    at = pair(out, at, random[r + 3]!);
    out[at++] = DASH;
    for (let i = 4; i < RANDOM_PER_ID; i++) at = pair(out, at, random[r + i]!);
    return at;
  }
}

function isValid(bytes: Uint8Array, from: number, to: number): boolean {
  if (to === from || to - from > MAX_REQUEST_ID_BYTES) return false;
  for (let i = from; i < to; i++) if (ID_CHARACTER[bytes[i]!] !== 1) return false;
  return true;
}

function pair(out: Buffer, at: number, byte: number): number {
  out[at] = HEX_PAIRS[byte * 2]!;
  out[at + 1] = HEX_PAIRS[byte * 2 + 1]!;
  return at + 2;
}

const DASH = 0x2d;
