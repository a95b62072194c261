import { Byte, equalsBytes, equalsLower, isDigit, latin1, skipFieldValue, sliceText, TOKEN } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { FaultDetail } from "../../core/fault-detail.ts";
import { MAX_RESPONSE_FIELDS, MAX_RESPONSE_HEAD_BYTES } from "../../core/limits.ts";
import { reasonOf } from "../../core/status.ts";
import { type HeaderBlock, HeaderId, headerIdOf } from "../../message/header-block.ts";
import { Framing, Method, type ResponseHead } from "../../message/request-head.ts";
import { markInternalField, markInternalFields } from "./internal-fields.ts";
import { ListTokens } from "./list-tokens.ts";
import { failure, NEED_MORE } from "./outcome.ts";
import { isHttp11, MAX_CONNECTION_OPTIONS, markNamed, parseContentLength } from "./request-rules.ts";

/** Bytes of a reason phrase that is passed on; a longer one gives way to that of its status. */
const MAX_REASON_BYTES = 128;

/**
 * Reads HTTP/1.1 response heads as strictly as requests: what an origin sends is as hostile as what a client sends.
 * RFC 9112 §4 and §6.3. Every failure is Fault.UpstreamMalformed, and `detail` says which.
 */
export class ResponseParser {
  status = 0;
  /** The phrase after the status, one character a byte, if it is another than the status has by itself; else "". */
  reason = "";
  /** Minor version of the response: 0 or 1. */
  minor = 1;
  framing: Framing = Framing.None;
  contentLength = 0;
  /** Whether a Content-Length stood in the head, also if no body follows (HEAD, 304). */
  hasLength = false;
  /** Whether the connection may be used again after this response. */
  keepAlive = true;
  /** Why the head is malformed; FaultDetail.None if it is not. */
  detail: FaultDetail = FaultDetail.None;
  private readonly maxFields: number;
  protected headFrom = 0;
  private at = 0;
  private inFields = false;
  /** Whether Connection says close, which wins over keep-alive. */
  private closes = false;
  /** Options in Connection so far. */
  private options = 0;
  /** Names of fields that Connection gives: none of them is passed on, in trailers neither. Null if it gives none. */
  private named: Uint8Array[] | null = null;

  /** @param maxFields header fields of one head; more are malformed */
  constructor(maxFields: number = MAX_RESPONSE_FIELDS) {
    this.maxFields = maxFields;
  }

  /** Makes ready for a head that begins at `from`. */
  begin(from: number): void {
    this.headFrom = from;
    this.at = from;
    this.inFields = false;
    this.status = 0;
    this.reason = "";
    this.framing = Framing.None;
    this.contentLength = 0;
    this.hasLength = false;
    this.keepAlive = true;
    this.detail = FaultDetail.None;
    this.named = null;
  }

  /**
   * Reads on. Between two calls `bytes` may be another array as long as what was there is at the same offsets.
   * @param method of the request, since a response to HEAD has no body
   * @returns the offset after the head; NEED_MORE; or a failure
   */
  parse(bytes: Uint8Array, to: number, headers: HeaderBlock, method: Method): number {
    const end = Math.min(to, this.headFrom + MAX_RESPONSE_HEAD_BYTES);
    const outcome = this.parseUpTo(bytes, end, headers, method);
    return outcome === NEED_MORE && end < to ? this.refuse(FaultDetail.HeadTooLarge) : outcome;
  }

  private parseUpTo(bytes: Uint8Array, to: number, headers: HeaderBlock, method: Method): number {
    headers.bytes = bytes;
    if (!this.inFields) {
      const outcome = this.parseStatusLine(bytes, to);
      if (outcome < 0) return outcome;
      this.at = outcome;
      this.inFields = true;
    }
    return this.parseFields(bytes, to, headers, method);
  }

  /** Tells a response what its head says. */
  describe(response: ResponseHead, method: Method): void {
    response.status = this.status;
    response.giveReason(this.status, this.reason);
    response.framing = this.framing;
    response.contentLength = this.contentLength;
    response.fromUpstream = true;
    response.withoutBody = method === Method.Head || this.status === 304 || this.status < 200;
    // RFC 9110 §8.6: interim responses say no length.
    response.lengthWithoutBody = response.withoutBody && this.hasLength && this.status >= 200;
  }

  /** @returns the offset after the status line; NEED_MORE; or a failure */
  protected parseStatusLine(bytes: Uint8Array, to: number): number {
    const from = this.at;
    const known = Math.min(to - from, STATUS_LINE.length);
    let i = 0;
    if (known === STATUS_LINE.length && isUsual(bytes, from)) {
      this.minor = 1;
      i = known;
    }
    for (; i < known; i++) {
      const byte = bytes[from + i]!;
      if (i === MINOR_AT && (byte === 0x30 || byte === 0x31)) this.minor = byte - 0x30;
      else if (i >= CODE_AT && i < CODE_AT + 3) {
        if (byte < 0x30 || byte > 0x39) return this.refuse(FaultDetail.BadStatus);
      } else if (byte !== STATUS_LINE[i]) return this.refuse(FaultDetail.NotHttp);
    }
    if (known < STATUS_LINE.length) return NEED_MORE;
    const code = from + CODE_AT;
    this.status = (bytes[code]! - 0x30) * 100 + (bytes[code + 1]! - 0x30) * 10 + (bytes[code + 2]! - 0x30);
    if (this.status < 100 || this.status > 599) return this.refuse(FaultDetail.BadStatus);
    let at = from + STATUS_LINE.length;
    // RFC 9112 §4: the space after the code is required, the phrase is not. Servers that leave both out are many.
    if (at < to && bytes[at] !== Byte.Space && bytes[at] !== Byte.Cr) return this.refuse(FaultDetail.BadStatus);
    const phraseFrom = at + 1;
    at = skipFieldValue(bytes, at, to);
    if (at === to) return NEED_MORE;
    if (bytes[at] !== Byte.Cr) return this.refuse(FaultDetail.BadStatus);
    if (at + 1 === to) return NEED_MORE;
    if (bytes[at + 1] !== Byte.Lf) return this.refuse(FaultDetail.BadStatus);
    this.reason = phraseOf(bytes, phraseFrom, at, this.status);
    return at + 2;
  }

  private parseFields(bytes: Uint8Array, to: number, headers: HeaderBlock, method: Method): number {
    let at = this.at;
    for (;;) {
      this.at = at;
      const nameFrom = at;
      while (at < to && TOKEN[bytes[at]!] === 1) at++;
      if (at === to) return NEED_MORE;
      if (bytes[at] !== Byte.Colon || at === nameFrom) {
        if (at !== nameFrom || bytes[at] !== Byte.Cr) return this.refuse(FaultDetail.BadField);
        if (at + 1 === to) return NEED_MORE;
        if (bytes[at + 1] !== Byte.Lf) return this.refuse(FaultDetail.BadField);
        this.detail = FaultDetail.None;
        return this.judge(headers, method) ? at + 2 : this.refuse(this.detail || FaultDetail.BadLength);
      }
      const nameTo = at++;
      while (at < to && (bytes[at] === Byte.Space || bytes[at] === Byte.Tab)) at++;
      const valueFrom = at;
      at = skipFieldValue(bytes, at, to);
      if (at === to || (bytes[at] === Byte.Cr && at + 1 === to)) return NEED_MORE;
      if (bytes[at] !== Byte.Cr || bytes[at + 1] !== Byte.Lf) return this.refuse(FaultDetail.BadField);
      if (headers.count === this.maxFields) return this.refuse(FaultDetail.TooManyFields);
      let valueTo = at;
      while (valueTo > valueFrom && (bytes[valueTo - 1] === Byte.Space || bytes[valueTo - 1] === Byte.Tab)) valueTo--;
      headers.push(headerIdOf(bytes, nameFrom, nameTo), nameFrom, nameTo, valueFrom, valueTo);
      at += 2;
    }
  }

  /** Notes why the head is malformed. @returns the failure */
  protected refuse(detail: FaultDetail): number {
    this.detail = detail;
    return MALFORMED;
  }

  /**
   * RFC 9112 §6.3: how long the body is. Anything that two readers could read in two ways is refused: for its length, unless `detail`
   * says otherwise.
   */
  protected judge(headers: HeaderBlock, method: Method): boolean {
    let lengthIndex = -1;
    let codingIndex = -1;
    this.keepAlive = this.minor === 1;
    this.closes = false;
    this.options = 0;
    for (let i = 0; i < headers.count; i++) {
      const id = headers.ids[i];
      if (id === HeaderId.ContentLength) {
        if (lengthIndex >= 0) return false;
        lengthIndex = i;
      } else if (id === HeaderId.TransferEncoding) {
        if (codingIndex >= 0 || !headers.valueEquals(i, CHUNKED)) return false;
        codingIndex = i;
      } else if (id === HeaderId.Connection) this.readConnection(headers, i);
      else if (id === HeaderId.Other) markInternalField(headers, i);
    }
    if (this.options > MAX_CONNECTION_OPTIONS) {
      this.detail = FaultDetail.BadField;
      return false;
    }
    if (this.closes) this.keepAlive = false;
    if (codingIndex >= 0 && (lengthIndex >= 0 || this.minor === 0)) return false;
    if (lengthIndex >= 0) {
      this.contentLength = parseContentLength(headers, lengthIndex);
      if (this.contentLength < 0) return false;
      this.hasLength = true;
    }
    const bodyless = method === Method.Head || this.status < 200 || this.status === 204 || this.status === 304;
    // RFC 9110 §8.6 and RFC 9112 §6.1: neither field may stand in a 1xx or 204.
    if ((this.status < 200 || this.status === 204) && (codingIndex >= 0 || this.contentLength > 0)) {
      if (!this.dropsBody(headers)) return false;
    }
    if (bodyless) this.framing = Framing.None;
    else if (codingIndex >= 0) this.framing = Framing.Chunked;
    else if (lengthIndex >= 0) this.framing = this.contentLength > 0 ? Framing.Length : Framing.None;
    else {
      this.framing = Framing.UntilClose;
      this.keepAlive = false;
    }
    return true;
  }

  /** Whether a response that can have no body is taken although it announces one; then nothing of that is left in the head. */
  protected dropsBody(_headers: HeaderBlock): boolean {
    return false;
  }

  private readConnection(headers: HeaderBlock, index: number): void {
    if (headers.valueEquals(index, KEEP_ALIVE)) {
      this.options++;
      this.keepAlive = true;
      return;
    }
    const { bytes } = headers;
    const tokens = new ListTokens(headers, index);
    while (tokens.next()) {
      if (++this.options > MAX_CONNECTION_OPTIONS) return;
      const { from, to } = tokens;
      if (equalsLower(bytes, from, to, CLOSE)) this.closes = true;
      else if (equalsLower(bytes, from, to, KEEP_ALIVE)) this.keepAlive = true;
      else if (!equalsLower(bytes, from, to, UPGRADE)) {
        markNamed(headers, bytes, from, to);
        this.named ??= [];
        this.named.push(bytes.slice(from, to));
      }
    }
  }

  /** Marks what goes no further in the trailers after the body: what the head's Connection names too. RFC 9110 §7.6.1. */
  markTrailers(trailers: HeaderBlock): void {
    markInternalFields(trailers);
    for (const name of this.named ?? []) markNamed(trailers, name, 0, name.length);
  }
}

/** The phrase in `bytes[from, to)`, RFC 9112 §4: "" if there is none, one that is too long, or the one that the status has. */
export function phraseOf(bytes: Uint8Array, from: number, to: number, status: number): string {
  if (from >= to || to - from > MAX_REASON_BYTES) return "";
  const usual = REASON_BYTES[status];
  return usual !== undefined && equalsBytes(bytes, from, to, usual) ? "" : sliceText(bytes, from, to);
}

/** Whether twelve bytes are `HTTP/1.1` and a code, as almost always. */
function isUsual(bytes: Uint8Array, at: number): boolean {
  if (!isHttp11(bytes, at) || bytes[at + 8] !== Byte.Space) return false;
  return isDigit(bytes[at + 9]!) && isDigit(bytes[at + 10]!) && isDigit(bytes[at + 11]!);
}

const MALFORMED = failure(Fault.UpstreamMalformed);
const STATUS_LINE: Uint8Array = latin1("HTTP/1.1 200");
const MINOR_AT = 7;
const CODE_AT = 9;
const CHUNKED: Uint8Array = latin1("chunked");
const CLOSE: Uint8Array = latin1("close");
const KEEP_ALIVE: Uint8Array = latin1("keep-alive");
const UPGRADE: Uint8Array = latin1("upgrade");
/** By status. */
const REASON_BYTES: readonly Uint8Array[] = Array.from({ length: 600 }, (_, status) => latin1(reasonOf(status)));

/**
 * Whether an interim response of an origin goes on to the client: all but 100, which the gateway has asked for itself or says itself,
 * and 101, which is no interim one. RFC 9110 §15.2
 */
export function isPassedOn(status: number): boolean {
  return status > 101;
}
