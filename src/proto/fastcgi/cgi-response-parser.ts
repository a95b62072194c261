import { Byte, isDigit, latin1 } from "../../core/bytes.ts";
import { FaultDetail } from "../../core/fault-detail.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { Method } from "../../message/request-head.ts";
import { LenientResponseParser } from "../h1/lenient-response-parser.ts";
import { NEED_MORE } from "../h1/outcome.ts";
import { phraseOf } from "../h1/response-parser.ts";

/**
 * Reads the head of a script's response: fields and an empty line, the status in a field `Status`. RFC 3875 §6. It is as strict as
 * a head of HTTP/1.1 is, but that lines may end with a bare LF (RFC 3875 §6.2), and that what a script says of the connection and of
 * its framing is left out: that is the gateway's. Without a status a response is 302 if it has a `Location`, else 200.
 */
export class CgiResponseParser extends LenientResponseParser {
  private readonly takesLine: boolean;
  private hasLine = false;

  /**
   * @param maxFields fields of one head; more are malformed
   * @param takesLine whether a head may begin with a status line of HTTP, as servers of uWSGI write it
   */
  constructor(maxFields: number, takesLine = false) {
    super(maxFields, IGNORED);
    this.takesLine = takesLine;
  }

  protected override parseStatusLine(bytes: Uint8Array, to: number): number {
    const from = this.headFrom;
    this.hasLine = false;
    if (!this.takesLine) return from;
    const known = Math.min(to - from, LINE_START.length);
    for (let i = 0; i < known; i++) if (bytes[from + i] !== LINE_START[i]) return from;
    if (known < LINE_START.length) return NEED_MORE;
    this.hasLine = true;
    return super.parseStatusLine(bytes, to);
  }

  protected override judge(headers: HeaderBlock, method: Method): boolean {
    for (const id of NOT_SCRIPTS) if (headers.find(id) >= 0) headers.removeAll(id);
    this.minor = 1;
    this.status = this.takeStatus(headers);
    if (this.status >= 200) return super.judge(headers, method);
    this.detail = FaultDetail.BadStatus;
    return false;
  }

  /** The status of a script's response, whose field is removed, with its phrase; 0 if there is none that could be one. */
  private takeStatus(headers: HeaderBlock): number {
    const { bytes } = headers;
    const found: number[] = this.hasLine ? [this.status] : [];
    headers.removeWhere((_, i) => {
      if (!headers.isNamed(i, STATUS)) return false;
      const from = headers.valueFrom(i);
      const to = headers.valueTo(i);
      const status = statusIn(bytes, from, to);
      this.reason = phraseOf(bytes, from + PHRASE_AT, to, status);
      found.push(status);
      return true;
    });
    const [first] = found;
    // Two would be two responses, unless a field repeats the status line, as frameworks do.
    if (found.length > (this.hasLine ? 2 : 1) || found.some((one) => one !== first)) return 0;
    if (first !== undefined) return first;
    return headers.find(HeaderId.Location) >= 0 ? 302 : 200;
  }

  /** A script that says 204 and a length has no body to send. */
  protected override dropsBody(headers: HeaderBlock): boolean {
    headers.removeAll(HeaderId.ContentLength);
    this.contentLength = 0;
    this.hasLength = false;
    return true;
  }
}

/** Three digits, alone or with a space and a phrase after them. RFC 3875 §6.3.3 */
function statusIn(bytes: Uint8Array, from: number, to: number): number {
  if (to - from < 3 || (to - from > 3 && bytes[from + 3] !== Byte.Space)) return 0;
  let status = 0;
  for (let at = from; at < from + 3; at++) {
    if (!isDigit(bytes[at]!)) return 0;
    status = status * 10 + bytes[at]! - 0x30;
  }
  return status >= 100 && status <= 599 ? status : 0;
}

/** What is taken leniently of a script is not reported: that is for origins of HTTP/1.1. */
const IGNORED = (): void => {};
const STATUS: Uint8Array = latin1("status");
const LINE_START: Uint8Array = latin1("HTTP/");
/** Where the phrase begins after a status and a space. */
const PHRASE_AT = 4;

/** What is about a connection, and about how a message is framed on it. RFC 9110 §7.6.1 */
const NOT_SCRIPTS: readonly HeaderId[] = [
  HeaderId.Connection,
  HeaderId.TransferEncoding,
  HeaderId.KeepAlive,
  HeaderId.ProxyConnection,
  HeaderId.Upgrade,
  HeaderId.Te,
  HeaderId.Trailer,
];
