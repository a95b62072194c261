import { Byte, equalsLower, LOWER, latin1, TOKEN } from "../../core/ascii.ts";
import { Fault } from "../../core/fault.ts";
import { MAX_CONNECTION_OPTIONS, MAX_CONTENT_LENGTH } from "../../core/limits.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { HeaderId } from "../../message/header-id.ts";
import { Framing, type RequestHead } from "../../message/request-head.ts";
import { Authority, canonicaliseAuthority, judgeAuthority, sameAuthority } from "./authority.ts";
import { isClaim } from "./claimed-fields.ts";
import { ListTokens } from "./list-tokens.ts";
import { namesHttp } from "./upgrade-tokens.ts";

/**
 * Judges a head whose lines are well formed: framing, Host, Connection, Expect.
 * docs/wire.md#content-length-and-transfer-encoding
 * @returns Fault.None, or why the request is refused; the derived fields of `head` are set
 */
export function judgeRequest(head: RequestHead): Fault {
  const headers = head.headers;
  head.keepAlive = head.minor === 1;
  let lengthIndex = -1;
  let codingIndex = -1;
  let hasUpgrade = false;
  let codingFault = Fault.None;
  let expectFault = Fault.None;
  for (let i = 0; i < headers.count; i++) {
    switch (headers.ids[i]) {
      case HeaderId.Host:
        if (head.hostIndex >= 0) return Fault.DuplicateHost;
        head.hostIndex = i;
        break;
      case HeaderId.ContentLength:
        if (lengthIndex >= 0) return Fault.DuplicateContentLength;
        lengthIndex = i;
        break;
      case HeaderId.TransferEncoding:
        codingFault = judgeCoding(headers, i, codingIndex >= 0, codingFault);
        codingIndex = i;
        break;
      case HeaderId.Expect:
        if (expectFault === Fault.None) expectFault = judgeExpectation(head, i);
        break;
      case HeaderId.Upgrade:
        hasUpgrade = true;
        break;
      case HeaderId.Other:
        if (isClaim(headers, i)) headers.ids[i] = HeaderId.NamedByConnection;
        break;
    }
  }
  if (lengthIndex >= 0 && codingIndex >= 0) return Fault.LengthAndEncoding;
  if (codingIndex >= 0 && head.minor === 0) return Fault.EncodingInHttp10;
  if (codingFault !== Fault.None) return codingFault;
  if (codingIndex >= 0) head.framing = Framing.Chunked;
  else if (lengthIndex >= 0) {
    const length = parseContentLength(headers, lengthIndex);
    if (length < 0) return Fault.BadContentLength;
    head.contentLength = length;
    head.framing = length > 0 ? Framing.Length : Framing.None;
  }
  const hostFault = judgeHost(head);
  if (hostFault !== Fault.None) return hostFault;
  return judgeConnection(head, hasUpgrade) ? expectFault : Fault.TooManyOptions;
}

/**
 * The number in a Content-Length field. RFC 9110 §8.6: digits only, no list, at most 2^53-1.
 * @returns the length in bytes, or -1
 */
export function parseContentLength(headers: HeaderBlock, index: number): number {
  const from = headers.spans[index * 4 + 2]!;
  const to = headers.spans[index * 4 + 3]!;
  if (from === to) return -1;
  let length = 0;
  for (let at = from; at < to; at++) {
    const digit = headers.bytes[at]! - Byte.Zero;
    if (digit < 0 || digit > 9) return -1;
    length = length * 10 + digit;
    if (length > MAX_CONTENT_LENGTH) return -1;
  }
  return length;
}

/**
 * Judges one Transfer-Encoding field. Several fields are one list (RFC 9110 §5.3), which may hold `chunked` once and last,
 * so that nothing can follow a field without fault. docs/wire.md#content-length-and-transfer-encoding
 * @param again whether there was a field before, with `fault` as its outcome
 */
function judgeCoding(headers: HeaderBlock, index: number, again: boolean, fault: Fault): Fault {
  const bytes = headers.bytes;
  const nameTo = headers.spans[index * 4 + 1]!;
  const from = headers.spans[index * 4 + 2]!;
  const to = headers.spans[index * 4 + 3]!;
  if (again && fault !== Fault.UnsupportedCoding) return Fault.BadTransferEncoding;
  if (hasTab(bytes, nameTo + 1)) return Fault.BadTransferEncoding;
  if (!again && equalsLower(bytes, from, to, CHUNKED)) return Fault.None;
  return judgeCodingList(bytes, from, to, fault);
}

/** Whether there is a tab in the rest of a line: after the colon it is refused, and no honest client sends one elsewhere. */
function hasTab(bytes: Uint8Array, from: number): boolean {
  let at = from;
  while (bytes[at] !== Byte.Cr && bytes[at] !== Byte.Tab) at++;
  return bytes[at] === Byte.Tab;
}

/** An empty element or anything but tokens is malformed, and so is what follows `chunked`; other codings are foreign. */
function judgeCodingList(bytes: Uint8Array, from: number, to: number, before: Fault): Fault {
  let fault = before;
  let at = from;
  let last = false;
  while (at <= to) {
    let end = at;
    while (end < to && bytes[end] !== Byte.Comma) end++;
    let a = at;
    let b = end;
    while (a < b && isBlank(bytes[a]!)) a++;
    while (b > a && isBlank(bytes[b - 1]!)) b--;
    if (a === b || last) return Fault.BadTransferEncoding;
    for (let i = a; i < b; i++) if (TOKEN[bytes[i]!] !== 1) return Fault.BadTransferEncoding;
    last = equalsLower(bytes, a, b, CHUNKED);
    if (equalsLower(bytes, a, b, IDENTITY)) return Fault.BadTransferEncoding;
    if (!last) fault = Fault.UnsupportedCoding;
    at = end + 1;
  }
  return fault;
}

/** RFC 9110 §10.1.1: 100-continue is the only expectation; in HTTP/1.0 it is ignored. */
function judgeExpectation(head: RequestHead, index: number): Fault {
  if (head.minor === 0) return Fault.None;
  if (!head.headers.valueEquals(index, CONTINUE)) return Fault.BadExpectation;
  head.expectContinue = true;
  return Fault.None;
}

/**
 * RFC 9112 §3.2: exactly one valid Host in HTTP/1.1, in agreement with an absolute-form target. It is made canonical where it
 * stands, so that all that match, key and forward it see the same bytes.
 */
function judgeHost(head: RequestHead): Fault {
  const hasAuthority = head.authorityTo > head.authorityFrom;
  const { bytes, spans } = head.headers;
  if (head.hostIndex >= 0) {
    const from = spans[head.hostIndex * 4 + 2]!;
    const to = spans[head.hostIndex * 4 + 3]!;
    const authority = judgeAuthority(bytes, from, to);
    if (authority === Authority.Bad) return Fault.BadHost;
    if (hasAuthority && !sameAuthority(bytes, from, to, head.bytes, head.authorityFrom, head.authorityTo)) {
      return Fault.AuthorityMismatch;
    }
    if (authority === Authority.Unusual) spans[head.hostIndex * 4 + 3] = canonicaliseAuthority(bytes, from, to);
  } else if (head.minor === 1) return Fault.MissingHost;
  if (hasAuthority) head.authorityTo = canonicaliseAuthority(head.bytes, head.authorityFrom, head.authorityTo);
  return Fault.None;
}

/** RFC 9112 §9.3 and RFC 9110 §7.6.1: persistence, upgrade, and the fields that Connection names; not too many. */
function judgeConnection(head: RequestHead, hasUpgrade: boolean): boolean {
  const headers = head.headers;
  let close = false;
  let options = 0;
  for (let i = headers.find(HeaderId.Connection); i >= 0; i = headers.find(HeaderId.Connection, i + 1)) {
    if (headers.valueEquals(i, KEEP_ALIVE)) {
      head.keepAlive = true;
      continue;
    }
    const tokens = new ListTokens(headers.bytes, headers.spans[i * 4 + 2]!, headers.spans[i * 4 + 3]!);
    while (tokens.next()) {
      if (++options > MAX_CONNECTION_OPTIONS) return false;
      const { from, to } = tokens;
      if (equalsLower(headers.bytes, from, to, CLOSE)) close = true;
      else if (equalsLower(headers.bytes, from, to, KEEP_ALIVE)) head.keepAlive = true;
      else if (equalsLower(headers.bytes, from, to, UPGRADE)) head.upgrade = hasUpgrade && head.minor === 1;
      else markNamed(headers, headers.bytes, from, to);
    }
  }
  if (close) head.keepAlive = false;
  if (head.upgrade && namesHttp(headers)) {
    head.upgrade = false;
    head.ignoresUpgrade = true;
  }
  return true;
}

/** Marks what the head's Connection fields name in fields that came later: in trailers. RFC 9110 §7.6.1. */
export function markNamedIn(fields: HeaderBlock, head: HeaderBlock): void {
  for (let i = head.find(HeaderId.Connection); i >= 0; i = head.find(HeaderId.Connection, i + 1)) {
    const tokens = new ListTokens(head.bytes, head.spans[i * 4 + 2]!, head.spans[i * 4 + 3]!);
    while (tokens.next()) markNamed(fields, head.bytes, tokens.from, tokens.to);
  }
}

/**
 * Marks the fields with the name in `bytes[from, to)` as hop-by-hop. Only names that mean nothing to the gateway can be
 * taken away like that: what it reads or sets (framing, Host, credentials, whom the request comes from, what a cache goes
 * by) is either end-to-end, whatever Connection says, or never goes on. docs/security.md#identity-headers
 */
export function markNamed(fields: HeaderBlock, bytes: Uint8Array, from: number, to: number): void {
  const name = bytes.slice(from, to).map((byte) => LOWER[byte]!);
  for (let i = 0; i < fields.count; i++) {
    if (fields.ids[i] !== HeaderId.Other) continue;
    if (equalsLower(fields.bytes, fields.spans[i * 4]!, fields.spans[i * 4 + 1]!, name)) {
      fields.ids[i] = HeaderId.NamedByConnection;
    }
  }
}

function isBlank(byte: number): boolean {
  return byte === Byte.Space || byte === Byte.Tab;
}

const CHUNKED: Uint8Array = latin1("chunked");
const IDENTITY: Uint8Array = latin1("identity");
const CONTINUE: Uint8Array = latin1("100-continue");
const CLOSE: Uint8Array = latin1("close");
const KEEP_ALIVE: Uint8Array = latin1("keep-alive");
const UPGRADE: Uint8Array = latin1("upgrade");
