import { Byte, equalsBytes, isOws, latin1 } from "../../core/bytes.ts";
import { FaultDetail } from "../../core/fault-detail.ts";
import { LENIENCIES, Leniency } from "../../core/leniency.ts";
import { MAX_RESPONSE_HEAD_BYTES } from "../../core/limits.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Method } from "../../message/request-head.ts";
import { HeadMender } from "./head-mender.ts";
import { NEED_MORE } from "./outcome.ts";
import { ResponseParser } from "./response-parser.ts";

/**
 * Reads what old origins send, one for each connection. A head that the strict parser refuses is mended and parsed once more:
 * what is accepted is what a strict origin could have sent, and the fields stand in the mended copy. A response that needed it
 * is the last of its connection, and so is every 204, 304 and response to HEAD, after which such origins
 * send bodies.
 * docs/upstreams.md#old-origins
 */
export class LenientResponseParser extends ResponseParser {
  private readonly onUse: (what: Leniency) => void;
  private from = 0;
  private mender: HeadMender | null = null;
  /** What the head needs, and what the responses of the connection have needed, one bit a Leniency. */
  private found = 0;
  private used = 0;

  /**
   * @param maxFields header fields of one head; more are malformed
   * @param onUse is notified once of each thing that an accepted response needed
   */
  constructor(maxFields: number, onUse: (what: Leniency) => void) {
    super(maxFields);
    this.onUse = onUse;
  }

  override begin(from: number): void {
    super.begin(from);
    this.from = from;
    this.mender = null;
    this.found = 0;
  }

  /** As that of the strict parser; where it gives an offset, `headers.bytes` may be other bytes than those given. */
  override parse(bytes: Uint8Array, to: number, headers: HeaderBlock, method: Method): number {
    if (this.mender === null) {
      const outcome = super.parse(bytes, to, headers, method);
      if (outcome === NEED_MORE) return NEED_MORE;
      if (outcome >= 0) return this.accept(outcome, method);
      this.mender = new HeadMender(this.from);
      this.found = 0;
      // Its detail stays if it cannot be mended.
      const { detail } = this;
      super.begin(0);
      this.detail = detail;
      headers.reset(this.mender.bytes);
    }
    return this.parseMended(this.mender, bytes, to, headers, method);
  }

  /** Something of a response has been read leniently: it is the last of its connection. */
  note(what: Leniency): void {
    this.keepAlive = false;
    if ((this.used & (1 << what)) !== 0) return;
    this.used |= 1 << what;
    this.onUse(what);
  }

  protected override judge(headers: HeaderBlock, method: Method): boolean {
    if (mergeLengths(headers)) this.found |= 1 << Leniency.RepeatedLength;
    if (mergeCodings(headers)) this.found |= 1 << Leniency.RepeatedCoding;
    return super.judge(headers, method);
  }

  /** RFC 9110 §15.3.5: a 204 has no body, whatever it announces. Anything after it is thrown away with the connection. */
  protected override dropsBody(headers: HeaderBlock): boolean {
    if (this.status !== 204) return false;
    headers.removeAll(HeaderId.ContentLength);
    headers.removeAll(HeaderId.TransferEncoding);
    this.contentLength = 0;
    this.hasLength = false;
    this.found |= 1 << Leniency.BodyOf204;
    return true;
  }

  private parseMended(mender: HeadMender, bytes: Uint8Array, to: number, headers: HeaderBlock, method: Method): number {
    const end = Math.min(to, this.from + MAX_RESPONSE_HEAD_BYTES);
    if (!mender.take(bytes, end)) return this.refuse(this.detail);
    const outcome = super.parse(mender.bytes, mender.to, headers, method);
    if (outcome === NEED_MORE) return end < to ? this.refuse(FaultDetail.HeadTooLarge) : NEED_MORE;
    if (outcome < 0) return outcome;
    this.found |= mender.found;
    return this.accept(mender.consumed, method);
  }

  private accept(end: number, method: Method): number {
    // What follows a 101 has no framing that could be checked.
    if (this.status === 101 && (this.found | this.used) !== 0) return this.refuse(FaultDetail.BadStatus);
    for (let what = 0; what < LENIENCIES.length; what++) if ((this.found & (1 << what)) !== 0) this.note(what);
    const isBodyless = method === Method.Head || this.status === 204 || this.status === 304;
    if (this.used !== 0 || isBodyless) this.keepAlive = false;
    return end;
  }
}

/**
 * Makes one Transfer-Encoding of several fields that say `chunked` and nothing else, as a framework and the server below it do of the one
 * coding that the body has. A list of codings stays for the strict rules to refuse.
 * @returns whether there were several
 */
function mergeCodings(headers: HeaderBlock): boolean {
  const first = headers.find(HeaderId.TransferEncoding);
  if (first < 0 || headers.find(HeaderId.TransferEncoding, first + 1) < 0) return false;
  for (let i = first; i >= 0; i = headers.find(HeaderId.TransferEncoding, i + 1)) {
    if (!headers.valueEquals(i, CHUNKED)) return false;
  }
  headers.removeWhere((_, i) => i > first && headers.ids[i] === HeaderId.TransferEncoding);
  return true;
}

/**
 * Makes one Content-Length of several that say the same, letter by letter. RFC 9110 §8.6.
 * @returns whether there were several; if they differ, they stay for the strict rules to refuse
 */
function mergeLengths(headers: HeaderBlock): boolean {
  const { bytes } = headers;
  const first = headers.find(HeaderId.ContentLength);
  if (first < 0) return false;
  const from = headers.valueFrom(first);
  const to = endOfElement(bytes, from, headers.valueTo(first));
  const isSingle = to === headers.valueTo(first) && headers.find(HeaderId.ContentLength, first + 1) < 0;
  if (isSingle) return false;
  const text = bytes.subarray(from, to);
  for (let i = first; i >= 0; i = headers.find(HeaderId.ContentLength, i + 1)) {
    if (!isListOf(bytes, headers.valueFrom(i), headers.valueTo(i), text)) return false;
  }
  headers.endValue(first, to);
  headers.removeWhere((_, i) => i > first && headers.ids[i] === HeaderId.ContentLength);
  return true;
}

/** Whether each element of a list is this text; an empty element is not. */
function isListOf(bytes: Uint8Array, from: number, to: number, text: Uint8Array): boolean {
  for (let at = from; at <= to; ) {
    const end = endOfElement(bytes, at, to);
    if (!equalsBytes(bytes, at, end, text)) return false;
    at = end;
    while (at < to && isOws(bytes[at]!)) at++;
    // Past the comma, or past the end.
    at++;
    while (at < to && isOws(bytes[at]!)) at++;
  }
  return true;
}

/** Where the element of a list that begins at `from` ends, white space left out. */
function endOfElement(bytes: Uint8Array, from: number, to: number): number {
  let end = from;
  while (end < to && bytes[end] !== Byte.Comma) end++;
  while (end > from && isOws(bytes[end - 1]!)) end--;
  return end;
}

const CHUNKED: Uint8Array = latin1("chunked");
