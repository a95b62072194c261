import {
  Byte,
  byteTable,
  equalsBytes,
  equalsLower,
  indexOfByte,
  isOws,
  LOWER,
  latin1,
  TOKEN,
} from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { hostLiteral } from "../../core/ip-address.ts";
import { MAX_AUTHORITY_BYTES } from "../../core/limits.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Framing, Method, type RequestHead, TargetFlag } from "../../message/request-head.ts";
import { hasDotSegment } from "../target/dot-segments.ts";
import { isClaim } from "./claimed-fields.ts";
import { ListTokens } from "./list-tokens.ts";
import { namesHttp } from "./upgrade-tokens.ts";

/** Options in the Connection fields of one head; more gives 400, since the parser compares each with all fields. */
export const MAX_CONNECTION_OPTIONS = 100;
/** Largest Content-Length that a JavaScript number holds exactly. */
const MAX_CONTENT_LENGTH = Number.MAX_SAFE_INTEGER;

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
  let hasHost = false;
  let hasUpgrade = false;
  let codingFault = Fault.None;
  let expectFault = Fault.None;
  for (let i = 0; i < headers.count; i++) {
    switch (headers.ids[i]) {
      case HeaderId.Host:
        if (hasHost) return Fault.DuplicateHost;
        hasHost = true;
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
  const from = headers.valueFrom(index);
  const to = headers.valueTo(index);
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
  const nameTo = headers.nameTo(index);
  const from = headers.valueFrom(index);
  const to = headers.valueTo(index);
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
    while (a < b && isOws(bytes[a]!)) a++;
    while (b > a && isOws(bytes[b - 1]!)) b--;
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
  const { headers } = head;
  const { bytes } = headers;
  const host = headers.find(HeaderId.Host);
  let isOtherSpelling = false;
  if (host >= 0) {
    const from = headers.valueFrom(host);
    const to = headers.valueTo(host);
    const authority = judgeAuthority(bytes, from, to);
    if (authority === Authority.Bad) return Fault.BadHost;
    if (hasAuthority) {
      const { authorityFrom, authorityTo } = head;
      const isSecure = LOWER[head.bytes[head.targetFrom + HTTP_LENGTH]!] === LOWER_S;
      const ownTo = withoutDefaultPort(bytes, from, to, isSecure);
      const targetTo = withoutDefaultPort(head.bytes, authorityFrom, authorityTo, isSecure);
      if (!sameAuthority(bytes, from, ownTo, head.bytes, authorityFrom, targetTo)) return Fault.AuthorityMismatch;
      isOtherSpelling = to - from !== authorityTo - authorityFrom;
    }
    if (authority === Authority.Unusual) headers.endValue(host, canonicaliseAuthority(bytes, from, to));
  } else if (head.minor === 1) return Fault.MissingHost;
  if (hasAuthority) head.authorityTo = canonicaliseAuthority(head.bytes, head.authorityFrom, head.authorityTo);
  // RFC 9112 §3.2.2: the target's wins, and all that key, match and forward a host see one.
  if (isOtherSpelling) headers.setValueOf(HeaderId.Host, head.authority());
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
    const tokens = new ListTokens(headers, i);
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

/**
 * Marks the names of the head's Connection fields among later fields: in trailers. RFC 9110 §7.6.1.
 * @param first number of the first of them in `fields`
 */
export function markNamedIn(fields: HeaderBlock, head: HeaderBlock, first: number): void {
  for (let i = head.find(HeaderId.Connection); i >= 0; i = head.find(HeaderId.Connection, i + 1)) {
    const tokens = new ListTokens(head, i);
    while (tokens.next()) markNamed(fields, head.bytes, tokens.from, tokens.to, first);
  }
}

/**
 * Marks the fields with the name in `bytes[from, to)` as hop-by-hop. Only names that mean nothing to the gateway can be
 * taken away like that: what it reads or sets (framing, Host, credentials, whom the request comes from, what a cache goes
 * by) is either end-to-end, whatever Connection says, or never goes on. docs/security.md#identity-headers
 * @param first number of the first field that may be marked
 */
export function markNamed(fields: HeaderBlock, bytes: Uint8Array, from: number, to: number, first = 0): void {
  const name = bytes.slice(from, to).map((byte) => LOWER[byte]!);
  for (let i = first; i < fields.count; i++) {
    if (fields.ids[i] === HeaderId.Other && fields.isNamed(i, name)) fields.ids[i] = HeaderId.NamedByConnection;
  }
}

const CHUNKED: Uint8Array = latin1("chunked");
const IDENTITY: Uint8Array = latin1("identity");
const CONTINUE: Uint8Array = latin1("100-continue");
const CLOSE: Uint8Array = latin1("close");
const KEEP_ALIVE: Uint8Array = latin1("keep-alive");
const UPGRADE: Uint8Array = latin1("upgrade");

/** See TargetFlag.Mark. */
const MARKS = "$<{'\"(;|&`*!+";

/**
 * What each byte of a target means; 0 is refused. Visible ASCII is let through, so that the WAF and the origin judge
 * odd characters; control bytes, space, DEL and raw non-ASCII bytes are not (RFC 3986 §2 allows none of them).
 */
export const TARGET_CLASS: Uint8Array = byteTable((byte) => {
  if (byte <= Byte.Space || byte >= Byte.Del) return 0;
  switch (byte) {
    case Byte.Percent:
    case Byte.Backslash:
      return TargetFlag.Valid | TargetFlag.Percent;
    case Byte.Dot:
      return TargetFlag.Valid | TargetFlag.Dot;
    case Byte.Slash:
      return TargetFlag.Valid | TargetFlag.Slash;
    case Byte.Question:
      return TargetFlag.Valid | TargetFlag.Question;
    case Byte.Hash:
      return TargetFlag.Valid | TargetFlag.Hash;
    default:
      return MARKS.includes(String.fromCharCode(byte)) ? TargetFlag.Valid | TargetFlag.Mark : TargetFlag.Valid;
  }
});

/**
 * Finds authority, path and query within a target whose bytes have been checked.
 * RFC 9112 §3.2: origin-form, absolute-form, authority-form (CONNECT alone), asterisk-form (OPTIONS alone).
 * @returns Fault.None or Fault.BadTarget
 */
export function locateTarget(bytes: Uint8Array, head: RequestHead): Fault {
  const from = head.targetFrom;
  const to = head.targetTo;
  // A path after CONNECT is malformed, but no two readers take it in two ways: it gets the 405 of CONNECT.
  if (head.method === Method.Connect && bytes[from] !== Byte.Slash) return locateAuthorityForm(bytes, head);
  if (bytes[from] === Byte.Slash) {
    locatePath(bytes, head, from, to);
    return Fault.None;
  }
  if (bytes[from] === Byte.Star && to === from + 1 && head.method === Method.Options) {
    locatePath(bytes, head, from, to);
    return Fault.None;
  }
  const authorityFrom = behindScheme(bytes, from, to);
  if (authorityFrom < 0) return Fault.BadTarget;
  let at = authorityFrom;
  while (at < to && bytes[at] !== Byte.Slash && bytes[at] !== Byte.Question && bytes[at] !== Byte.Hash) at++;
  if (judgeAuthority(bytes, authorityFrom, at) === Authority.Bad) return Fault.BadTarget;
  head.authorityFrom = authorityFrom;
  head.authorityTo = at;
  locatePath(bytes, head, at, to);
  return Fault.None;
}

function locateAuthorityForm(bytes: Uint8Array, head: RequestHead): Fault {
  if (judgeAuthority(bytes, head.targetFrom, head.targetTo) === Authority.Bad) return Fault.BadTarget;
  head.authorityFrom = head.targetFrom;
  head.authorityTo = head.targetTo;
  locatePath(bytes, head, head.targetTo, head.targetTo);
  return Fault.None;
}

function locatePath(bytes: Uint8Array, head: RequestHead, from: number, to: number): void {
  let queryTo = to;
  if ((head.targetFlags & TargetFlag.Hash) !== 0) queryTo = indexOfByte(bytes, Byte.Hash, from, to);
  head.pathFrom = from;
  head.queryTo = queryTo;
  const hasQuery = (head.targetFlags & TargetFlag.Question) !== 0;
  head.pathTo = hasQuery ? indexOfByte(bytes, Byte.Question, from, queryTo) : queryTo;
}

/** Offset after `http://` or `https://`, or -1. */
function behindScheme(bytes: Uint8Array, from: number, to: number): number {
  if (equalsLower(bytes, from, Math.min(to, from + HTTP.length), HTTP)) return from + HTTP.length;
  return equalsLower(bytes, from, Math.min(to, from + HTTPS.length), HTTPS) ? from + HTTPS.length : -1;
}

const HTTP: Uint8Array = latin1("http://");
const HTTPS: Uint8Array = latin1("https://");

/** What some bytes are as a host with an optional port. */
const enum Authority {
  Bad = 0,
  /** As it goes on: no capitals, no dot at the end of the name, no empty port, no zeros before one. */
  Canonical,
  /** Another spelling of a canonical one. */
  Unusual,
}

/**
 * Judges `bytes[from, to)` as a host with an optional port: a registered name without empty labels, an IPv4 address, or an
 * IPv6 address in brackets. RFC 9110 §7.2, RFC 3986 §3.2, but no user information, and no percent-encoding, which routes,
 * keys and origins would each read in their own way. docs/security.md#paths-and-hosts
 */
function judgeAuthority(bytes: Uint8Array, from: number, to: number): Authority {
  if (to - from > MAX_AUTHORITY_BYTES) return Authority.Bad;
  const isLiteral = bytes[from] === Byte.LeftBracket;
  let at = from;
  let kinds = 0;
  let previous = NameByte.Dot;
  if (isLiteral) {
    while (at < to && bytes[at] !== Byte.RightBracket) kinds |= NAME[bytes[at++]!]!;
    if (at === to || hostLiteral(textOf(bytes, from, ++at)) === "") return Authority.Bad;
  } else {
    for (; at < to; at++) {
      const kind = NAME[bytes[at]!]!;
      if (kind === 0) break;
      if (kind === NameByte.Dot && previous === kind) return Authority.Bad;
      kinds |= kind;
      previous = kind;
    }
    if (at === from) return Authority.Bad;
  }
  const isCanonical = (kinds & NameByte.Capital) === 0 && (isLiteral || previous !== NameByte.Dot);
  if (at < to) {
    const port = bytes[at] === Byte.Colon ? judgePort(bytes, at + 1, to) : Authority.Bad;
    if (port !== Authority.Canonical) return port;
  }
  return isCanonical ? Authority.Canonical : Authority.Unusual;
}

/**
 * Makes an unusual authority canonical in place; freed bytes become spaces after it.
 * @returns its new end
 */
function canonicaliseAuthority(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at++) bytes[at] = LOWER[bytes[at]!]!;
  const portFrom = portStart(bytes, from, to);
  let end = portFrom === to ? to - 1 : to;
  // One digit stays of a port that is 0.
  let digits = portFrom;
  while (digits >= 0 && digits < end - 1 && bytes[digits] === Byte.Zero) digits++;
  if (digits > portFrom) {
    bytes.copyWithin(portFrom, digits, end);
    end -= digits - portFrom;
  }
  // Of an IPv6 address the bracket ends the name, and no dot is before it.
  const nameTo = portFrom < 0 ? end : portFrom - 1;
  if (bytes[nameTo - 1] === Byte.Dot) {
    bytes.copyWithin(nameTo - 1, nameTo, end);
    end--;
  }
  if (end < to) bytes.fill(Byte.Space, end, to);
  return end;
}

/** Whether two authorities name the same host and port, without regard to case; ports are compared as written. */
export function sameAuthority(
  a: Uint8Array,
  aFrom: number,
  aTo: number,
  b: Uint8Array,
  bFrom: number,
  bTo: number,
): boolean {
  if (aTo - aFrom !== bTo - bFrom) return false;
  for (let i = 0; i < aTo - aFrom; i++) {
    if (LOWER[a[aFrom + i]!] !== LOWER[b[bFrom + i]!]) return false;
  }
  return true;
}

/**
 * End of an authority without its port, if that is the scheme's default, or empty: it then names the same as without.
 * RFC 9110 §4.2.3
 */
export function withoutDefaultPort(bytes: Uint8Array, from: number, to: number, isSecure: boolean): number {
  const portFrom = portStart(bytes, from, to);
  const isDefault = portFrom === to || portAt(bytes, portFrom, to) === (isSecure ? HTTPS_PORT : HTTP_PORT);
  return portFrom > 0 && isDefault ? portFrom - 1 : to;
}

/** Where the port of an authority begins, behind its colon; -1 if it has none. */
function portStart(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && bytes[at - 1]! >= Byte.Zero && bytes[at - 1]! <= Byte.Nine) at--;
  return at > from && bytes[at - 1] === Byte.Colon ? at : -1;
}

/** The number in `bytes[from, to)`; NaN if that is none. */
function portAt(bytes: Uint8Array, from: number, to: number): number {
  let port = 0;
  for (let at = from; at < to; at++) {
    const digit = bytes[at]! - Byte.Zero;
    if (digit < 0 || digit > 9) return Number.NaN;
    port = port * 10 + digit;
  }
  return port;
}

/** An empty port is no port (RFC 3986 §3.2.3), and zeros in front add nothing; one with more digits than any has is made to hide something. */
function judgePort(bytes: Uint8Array, from: number, to: number): Authority {
  if (from === to) return Authority.Unusual;
  if (to - from > MAX_PORT_DIGITS) return Authority.Bad;
  // Not a number fails this, too.
  if (!(portAt(bytes, from, to) <= MAX_PORT)) return Authority.Bad;
  return bytes[from] === Byte.Zero && to - from > 1 ? Authority.Unusual : Authority.Canonical;
}

function textOf(bytes: Uint8Array, from: number, to: number): string {
  return String.fromCharCode(...bytes.subarray(from, to));
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;
/** Of `http` in a target of absolute form. */
const HTTP_LENGTH = 4;
const LOWER_S = 0x73;
const MAX_PORT = 65535;
const MAX_PORT_DIGITS = 5;
/** Bits of the bytes of a registered name; 0 is none. */
const enum NameByte {
  Plain = 1,
  Capital = 2,
  Dot = 4,
}
/** RFC 3986 §3.2.2: unreserved and sub-delims. */
const NAME: Uint8Array = byteTable((byte) => {
  if (byte === Byte.Dot) return NameByte.Dot;
  const character = String.fromCharCode(byte);
  if (/[A-Z]/.test(character)) return NameByte.Capital;
  return /[a-z0-9\-_~!$&'()*+,;=]/.test(character) ? NameByte.Plain : 0;
});

/** Whether eight bytes are `HTTP/1.1`, as almost always; the caller has made sure that they are there. RFC 9112 §2.3. */
export function isHttp11(bytes: Uint8Array, at: number): boolean {
  return (
    bytes[at] === 0x48 &&
    bytes[at + 1] === 0x54 &&
    bytes[at + 2] === 0x54 &&
    bytes[at + 3] === 0x50 &&
    bytes[at + 4] === 0x2f &&
    bytes[at + 5] === 0x31 &&
    bytes[at + 6] === 0x2e &&
    bytes[at + 7] === 0x31
  );
}

/**
 * Whether the raw path is its own canonical form: no escape, no backslash, no `.` or `..` segment, no two slashes side by
 * side.
 * For most requests that is one look at the flags, and one scan of the path if a dot is in the target.
 */
export function isPlainPath(head: RequestHead): boolean {
  const flags = head.targetFlags;
  if ((flags & (TargetFlag.Percent | TargetFlag.DoubleSlash | TargetFlag.Dot)) === 0) return true;
  const from = head.pathFrom;
  const to = head.pathTo;
  // The flags are about the whole target: their bytes may stand in the query.
  if ((flags & (TargetFlag.Percent | TargetFlag.DoubleSlash)) !== 0 && hasEscapeOrSlashes(head.bytes, from, to)) {
    return false;
  }
  return (flags & TargetFlag.Dot) === 0 || !hasDotSegment(head.bytes, from, to);
}

function hasEscapeOrSlashes(bytes: Uint8Array, from: number, to: number): boolean {
  let previous = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === Byte.Percent || byte === Byte.Backslash) return true;
    if (byte === Byte.Slash && previous === Byte.Slash) return true;
    previous = byte;
  }
  return false;
}

/** The path that challenges of certificate authorities are under, and the label of the requests for it. RFC 8555 §8.3. */
export const CHALLENGE_PREFIX = "/.well-known/acme-challenge/";

/** Whether the path, as it was written, begins with the one of challenges. */
export function isChallenge({ bytes, pathFrom, pathTo }: RequestHead): boolean {
  const end = pathFrom + CHALLENGE.length;
  return end <= pathTo && equalsBytes(bytes, pathFrom, end, CHALLENGE);
}

const CHALLENGE: Uint8Array = latin1(CHALLENGE_PREFIX);

/**
 * Whether a request may make an origin take its connection for that of one client: with NTLM and Negotiate, origins
 * authenticate connections and not requests (RFC 4559 §6). docs/security.md#connections-to-origins
 */
export function authenticatesConnection(headers: HeaderBlock): boolean {
  for (let i = headers.find(HeaderId.Authorization); i >= 0; i = headers.find(HeaderId.Authorization, i + 1)) {
    const from = headers.valueFrom(i);
    const to = headers.valueTo(i);
    if (SCHEMES.some((scheme) => beginsWith(headers.bytes, from, to, scheme))) return true;
  }
  return false;
}

function beginsWith(bytes: Uint8Array, from: number, to: number, scheme: Uint8Array): boolean {
  const end = from + scheme.length;
  if (end > to || !equalsLower(bytes, from, end, scheme)) return false;
  return end === to || bytes[end] === Byte.Space || bytes[end] === Byte.Tab;
}

const SCHEMES: readonly Uint8Array[] = ["ntlm", "negotiate"].map(latin1);
