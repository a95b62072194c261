import { FaultDetail } from "../../core/fault-detail.ts";
import { MAX_RESPONSE_FIELDS, MAX_RESPONSE_HEAD_BYTES } from "../../core/limits.ts";
import { HeaderId } from "../../message/header-block.ts";
import { Framing, Method, type ResponseHead } from "../../message/request-head.ts";
import { markInternalFields } from "../h1/internal-fields.ts";
import { parseContentLength } from "../h1/request-rules.ts";
import { FieldEvent, type HpackDecoder } from "../hpack/decoder.ts";
import { ENTRY_OVERHEAD } from "../hpack/dynamic-table.ts";
import { FieldKind, idOf, kindOf } from "../hpack/field-kind.ts";
import type { LineBuffer } from "../hpack/line-buffer.ts";

/** Reads a response's head out of a header block, as strictly as a request's. RFC 9113 §8.2, §8.3.2. */
export class ResponseHeadReader {
  /** Whether the block could not be decoded, and the connection with it. */
  isBroken = false;
  status = 0;
  /** The declared length, or -1. */
  contentLength = -1;
  /** Bytes of the head's fields, each with its cost beside its text. RFC 9113 §6.5.2 */
  listBytes = 0;
  /** Why the head is malformed; FaultDetail.None if it is not. */
  detail: FaultDetail = FaultDetail.None;
  private sawRegular = false;
  private readonly maxFields: number;

  /** @param maxFields header fields of one head; more are malformed */
  constructor(maxFields: number = MAX_RESPONSE_FIELDS) {
    this.maxFields = maxFields;
  }

  /**
   * Decodes all of a block that `decoder` has begun into `response.headers`.
   * @param lines holds the head from here on
   * @returns whether it is well formed
   */
  read(decoder: HpackDecoder, lines: LineBuffer, response: ResponseHead): boolean {
    this.isBroken = false;
    this.status = 0;
    this.contentLength = -1;
    this.sawRegular = false;
    this.detail = FaultDetail.None;
    lines.reset();
    response.headers.reset(lines.bytes);
    let isGood = true;
    this.listBytes = 0;
    for (;;) {
      const event = decoder.next(lines);
      if (event === FieldEvent.Done) break;
      if (event === FieldEvent.Failed) {
        this.isBroken = true;
        return false;
      }
      this.listBytes += decoder.valueTo - decoder.nameFrom + ENTRY_OVERHEAD;
      if (!isGood) continue;
      if (this.listBytes > MAX_RESPONSE_HEAD_BYTES) isGood = this.refuse(FaultDetail.HeadTooLarge);
      else isGood = this.take(decoder, lines, response);
    }
    response.headers.bytes = lines.bytes;
    markInternalFields(response.headers);
    if (!isGood) return false;
    if (this.status < 100) return this.refuse(FaultDetail.BadStatus);
    return this.judgeLength(response) || this.refuse(FaultDetail.BadLength);
  }

  private refuse(detail: FaultDetail): false {
    this.detail = detail;
    return false;
  }

  /** Tells the response how its body is delimited. @param isEnd whether none follows */
  describe(response: ResponseHead, method: Method, isEnd: boolean): void {
    const { status } = this;
    response.status = status;
    response.giveReason(status, "");
    response.fromUpstream = true;
    response.withoutBody = method === Method.Head || status === 304 || status < 200;
    response.lengthWithoutBody = response.withoutBody && this.contentLength >= 0;
    response.contentLength = Math.max(0, this.contentLength);
    if (isEnd || response.withoutBody || status === 204 || this.contentLength === 0) response.framing = Framing.None;
    else response.framing = this.contentLength > 0 ? Framing.Length : Framing.Chunked;
  }

  private take(field: HpackDecoder, lines: LineBuffer, response: ResponseHead): boolean {
    const { tag, nameFrom, nameTo, valueFrom, valueTo } = field;
    const kind = kindOf(tag);
    if (kind === FieldKind.Status) {
      const isGood = !this.sawRegular && this.status === 0 && this.takeStatus(field, lines);
      return isGood || this.refuse(FaultDetail.BadStatus);
    }
    if (kind !== FieldKind.Regular) return this.refuse(FaultDetail.BadField);
    if (response.headers.count === this.maxFields) return this.refuse(FaultDetail.TooManyFields);
    this.sawRegular = true;
    response.headers.push(idOf(tag), nameFrom, nameTo, valueFrom, valueTo);
    lines.end = valueTo + 2;
    return true;
  }

  private takeStatus({ valueFrom, valueTo }: HpackDecoder, { bytes }: LineBuffer): boolean {
    if (valueTo - valueFrom !== 3) return false;
    let status = 0;
    for (let i = valueFrom; i < valueTo; i++) {
      const digit = bytes[i]! - 0x30;
      if (digit < 0 || digit > 9) return false;
      status = status * 10 + digit;
    }
    this.status = status;
    // RFC 9113 §8.6: there is no 101.
    return status >= 100 && status <= 599 && status !== 101;
  }

  private judgeLength({ headers }: ResponseHead): boolean {
    const index = headers.find(HeaderId.ContentLength);
    if (index < 0) return true;
    if (headers.find(HeaderId.ContentLength, index + 1) >= 0) return false;
    this.contentLength = parseContentLength(headers, index);
    return this.contentLength >= 0;
  }
}
