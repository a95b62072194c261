import { Byte, latin1, TOKEN } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { MAX_HEADER_LINE_BYTES, MAX_REQUEST_LINE_BYTES } from "../../core/limits.ts";
import { HeaderId } from "../../message/header-block.ts";
import { Framing, Method, methodOf, type RequestHead } from "../../message/request-head.ts";
import { describeRefused } from "../h1/request-parser.ts";
import { judgeRequest, locateTarget, sameAuthority, TARGET_CLASS, withoutDefaultPort } from "../h1/request-rules.ts";
import { FieldEvent, type FieldSource } from "../hpack/decoder.ts";
import { ENTRY_OVERHEAD } from "../hpack/dynamic-table.ts";
import { FieldKind, idOf, kindOf } from "../hpack/field-kind.ts";
import { HOST_NAME_BYTES, type LineBuffer } from "../hpack/line-buffer.ts";
import { joinCookies } from "./cookie-fields.ts";

/** What a server says of the heads that it takes. */
export interface HeadRules {
  /** Names and values, and 32 bytes a field. RFC 9113 §6.5.2, SETTINGS_MAX_HEADER_LIST_SIZE. */
  readonly maxListBytes: number;
  /** Header fields of one head, all Cookie fields counted as one; more are 431. */
  readonly maxFields: number;
  /** RFC 9113 §8.3 against VECTOR-08: whether unknown pseudo-headers are refused; else they are dropped. */
  readonly refusesUnknownPseudo: boolean;
  /** RFC 8441: whether `:protocol` may stand beside CONNECT. */
  readonly allowsConnectProtocol: boolean;
}

/**
 * Reads a request's head out of a header block, into the form that HTTP/1.1 heads have. RFC 9113 §8.2, §8.3.
 * docs/wire.md#http2. Nothing that would not be well formed in HTTP/1.1 gets into a HeaderBlock.
 */
export class RequestHeadReader {
  /** Whether the block could not be decoded, and the connection with it. */
  isBroken = false;
  /** Whether the head asks for a tunnel with `:protocol` (RFC 8441); its value is `bytes[protocolFrom, protocolTo)`. */
  protocolFrom = 0;
  protocolTo = 0;
  private readonly rules: HeadRules;
  private schemeFrom = 0;
  private schemeTo = 0;
  private sawRegular = false;
  private hasAuthority = false;
  /** Whether there is a Cookie field, and how many there are beside the first. */
  private hasCookie = false;
  private crumbs = 0;

  constructor(rules: HeadRules) {
    this.rules = rules;
  }

  /**
   * Decodes all of a block that `decoder` has begun.
   * @param lines holds the head from here on
   * @param isEnd whether the request ends with it
   * @returns Fault.None, or why the request is refused; what was found is in `head` even then
   */
  read(decoder: FieldSource, lines: LineBuffer, head: RequestHead, isEnd: boolean): Fault {
    this.begin();
    lines.reset();
    head.reset(lines.bytes);
    head.major = 2;
    let fault = Fault.None;
    let listBytes = 0;
    for (;;) {
      const event = decoder.next(lines);
      if (event === FieldEvent.Done) break;
      if (event === FieldEvent.Failed) {
        this.isBroken = true;
        return Fault.BadFieldName;
      }
      listBytes += decoder.nameTo - decoder.nameFrom + decoder.valueTo - decoder.valueFrom + ENTRY_OVERHEAD;
      // A refused head is decoded to its end all the same, since the tables go on: one field over the other.
      if (fault !== Fault.None) continue;
      fault = listBytes > this.rules.maxListBytes ? Fault.HeadTooLarge : this.take(decoder, lines, head);
    }
    head.bytes = lines.bytes;
    head.headers.bytes = lines.bytes;
    if (fault === Fault.None) fault = this.judge(lines, head, isEnd);
    if (fault !== Fault.None) describeRefused(head);
    return fault;
  }

  /** Where the pseudo-headers of the last head begin in its memory, which is their order: method, authority, scheme, path; 0 for an absent one. */
  pseudoPlaces(head: RequestHead): readonly number[] {
    const authority = this.hasAuthority && head.headers.count > 0 ? head.headers.valueFrom(0) : 0;
    return [head.methodFrom, authority, this.schemeFrom, head.targetFrom];
  }

  private begin(): void {
    this.isBroken = false;
    this.protocolFrom = 0;
    this.protocolTo = 0;
    this.schemeFrom = 0;
    this.schemeTo = 0;
    this.sawRegular = false;
    this.hasAuthority = false;
    this.crumbs = 0;
    this.hasCookie = false;
  }

  private take(field: FieldSource, lines: LineBuffer, head: RequestHead): Fault {
    const kind = kindOf(field.tag);
    if (kind === FieldKind.Regular) return this.takeRegular(field, lines, head);
    if (kind === FieldKind.BadName) return Fault.BadFieldName;
    if (kind === FieldKind.BadValue) return Fault.BadFieldValue;
    if (kind === FieldKind.ConnectionSpecific) return Fault.ConnectionField;
    return this.sawRegular ? Fault.BadPseudoHeader : this.takePseudo(kind, field, lines, head);
  }

  private takeRegular(field: FieldSource, lines: LineBuffer, head: RequestHead): Fault {
    const { nameFrom, nameTo, valueFrom, valueTo } = field;
    const { headers } = head;
    const id = idOf(field.tag);
    this.sawRegular = true;
    if (valueTo - nameFrom > MAX_HEADER_LINE_BYTES) return Fault.HeaderLineTooLong;
    // RFC 9113 §8.2.3: what a client has cut one Cookie field into is one field still.
    if (id === HeaderId.Cookie && this.hasCookie) this.crumbs++;
    else if (headers.count - this.crumbs === this.rules.maxFields) return Fault.TooManyFields;
    if (id === HeaderId.Host && this.hasAuthority) {
      // RFC 9113 §8.3.1: both may stand there, and then they name the same. `:authority` always is the first field.
      const { bytes } = lines;
      // The scheme is a pseudo-header, and so before every other field; the wrong ones are refused at the end.
      const isSecure = this.schemeTo - this.schemeFrom === HTTPS.length;
      const ownTo = withoutDefaultPort(bytes, valueFrom, valueTo, isSecure);
      const from = headers.valueFrom(0);
      const to = withoutDefaultPort(bytes, from, headers.valueTo(0), isSecure);
      const isSame = sameAuthority(bytes, valueFrom, ownTo, bytes, from, to);
      return isSame ? Fault.None : Fault.AuthorityMismatch;
    }
    if (id === HeaderId.Cookie) this.hasCookie = true;
    headers.push(id, nameFrom, nameTo, valueFrom, valueTo);
    lines.end = valueTo + 2;
    return Fault.None;
  }

  private takePseudo(kind: FieldKind, field: FieldSource, lines: LineBuffer, head: RequestHead): Fault {
    const { valueFrom, valueTo } = field;
    switch (kind) {
      case FieldKind.Method:
        if (head.methodTo > 0) return Fault.BadPseudoHeader;
        head.methodFrom = valueFrom;
        head.methodTo = valueTo;
        // At once, not when all fields are there: a refused HEAD is answered without a body, too.
        head.method = methodOf(lines.bytes, valueFrom, valueTo);
        break;
      case FieldKind.Path:
        if (head.targetTo > 0) return Fault.BadPseudoHeader;
        head.targetFrom = valueFrom;
        head.targetTo = valueTo;
        break;
      case FieldKind.Scheme:
        if (this.schemeTo > 0) return Fault.BadPseudoHeader;
        this.schemeFrom = valueFrom;
        this.schemeTo = valueTo;
        break;
      case FieldKind.Authority:
        if (this.hasAuthority) return Fault.BadPseudoHeader;
        this.hasAuthority = true;
        head.headers.push(HeaderId.Host, 0, HOST_NAME_BYTES, valueFrom, valueTo);
        break;
      case FieldKind.Protocol:
        // It means something beside CONNECT alone, which may come after it.
        if (!this.rules.allowsConnectProtocol || this.protocolTo > 0) return this.dropped();
        this.protocolFrom = valueFrom;
        this.protocolTo = valueTo;
        break;
      // RFC 9113 §8.3: one that is defined for responses is no unknown one.
      case FieldKind.Status:
        return Fault.BadPseudoHeader;
      default:
        return this.dropped();
    }
    lines.end = valueTo + 2;
    return Fault.None;
  }

  /** Requests with unknown pseudo-headers are forwarded without them. docs/wire.md#pseudo-headers */
  private dropped(): Fault {
    return this.rules.refusesUnknownPseudo ? Fault.BadPseudoHeader : Fault.None;
  }

  private judge(lines: LineBuffer, head: RequestHead, isEnd: boolean): Fault {
    if (head.methodTo === head.methodFrom) return Fault.BadPseudoHeader;
    for (let i = head.methodFrom; i < head.methodTo; i++) if (TOKEN[lines.bytes[i]!] !== 1) return Fault.BadMethod;
    if (this.protocolTo > 0 && head.method !== Method.Connect) {
      if (this.rules.refusesUnknownPseudo) return Fault.BadPseudoHeader;
      this.protocolTo = 0;
    }
    const targetFault = this.judgeTarget(lines, head);
    if (targetFault !== Fault.None) return targetFault;
    joinCookies(lines, head.headers);
    head.bytes = lines.bytes;
    const fault = judgeRequest(head);
    if (fault !== Fault.None) return fault;
    if (this.protocolTo > 0) return head.framing === Framing.None ? Fault.None : Fault.LengthMismatch;
    if (isEnd) return head.contentLength > 0 ? Fault.LengthMismatch : Fault.None;
    // A body whose length is not declared is what a chunked one is in HTTP/1.1.
    if (head.headers.find(HeaderId.ContentLength) < 0) head.framing = Framing.Chunked;
    return Fault.None;
  }

  /** RFC 9113 §8.3.1, and §8.5 for CONNECT. The target keeps its bytes as they came. */
  private judgeTarget(lines: LineBuffer, head: RequestHead): Fault {
    const { bytes } = lines;
    if (head.method === Method.Connect && this.protocolTo === 0) {
      if (this.schemeTo > 0 || head.targetTo > 0 || !this.hasAuthority) return Fault.BadPseudoHeader;
      head.targetFrom = head.headers.valueFrom(0);
      head.targetTo = head.headers.valueTo(0);
      return locateTarget(bytes, head);
    }
    if (this.protocolTo > 0 && !this.hasAuthority) return Fault.BadPseudoHeader;
    if (!this.isHttpScheme(bytes) || head.targetTo === head.targetFrom) return Fault.BadPseudoHeader;
    if (head.targetTo - head.targetFrom > MAX_REQUEST_LINE_BYTES) return Fault.RequestLineTooLong;
    let flags = 0;
    let previous = 0;
    for (let at = head.targetFrom; at < head.targetTo; at++) {
      const bits = TARGET_CLASS[bytes[at]!]!;
      if (bits === 0) return Fault.BadTarget;
      // As in the parser of HTTP/1.1: bit 3 (Slash) of two neighbours, moved up to bit 7 (DoubleSlash).
      flags |= bits | ((bits & previous & 8) << 4);
      previous = bits;
    }
    head.targetFlags = flags;
    // RFC 8441 §4: the target of an extended CONNECT is a path like any other.
    if (this.protocolTo > 0) head.method = Method.Get;
    const isPath = bytes[head.targetFrom] === Byte.Slash;
    if (!isPath && (head.method !== Method.Options || bytes[head.targetFrom] !== Byte.Star)) return Fault.BadTarget;
    return locateTarget(bytes, head);
  }

  private isHttpScheme(bytes: Uint8Array): boolean {
    const { schemeFrom, schemeTo } = this;
    const length = schemeTo - schemeFrom;
    if (length !== 4 && length !== 5) return false;
    for (let i = 0; i < length; i++) if ((bytes[schemeFrom + i]! | 0x20) !== HTTPS[i]) return false;
    return true;
  }
}

const HTTPS: Uint8Array = latin1("https");
