import { Byte, latin1, skipFieldValue, TOKEN } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { MAX_FIELDS, MAX_HEADER_LINE_BYTES, MAX_REQUEST_LINE_BYTES } from "../../core/limits.ts";
import { HeaderId, headerIdOf } from "../../message/header-block.ts";
import { Method, methodOf, type RequestHead } from "../../message/request-head.ts";
import { failure, NEED_MORE } from "./outcome.ts";
import { isHttp11, judgeRequest, locateTarget, TARGET_CLASS } from "./request-rules.ts";

/**
 * Where the parser is between two pieces of a head. Complete lines are never read twice; the line that was cut is
 * read again from its start, and a line is short.
 *
 *   Start ──CRLF──▶ Line ──request line──▶ Fields ──empty line──▶ (done)
 */
const enum HeadStage {
  /** Before the request line: one CRLF may be skipped. */
  Start = 0,
  Line,
  Fields,
}

/** Reads HTTP/1.1 request heads. RFC 9112 §2 to §5, with every leniency of those sections switched off. */
export class RequestParser {
  private readonly maxHeadBytes: number;
  private readonly maxFields: number;
  private stage: HeadStage = HeadStage.Start;
  private headFrom = 0;
  private at = 0;

  /**
   * @param maxHeadBytes largest head in bytes; more gives Fault.HeadTooLarge
   * @param maxFields header fields of one head; more give Fault.TooManyFields
   */
  constructor(maxHeadBytes: number, maxFields: number = MAX_FIELDS) {
    this.maxHeadBytes = maxHeadBytes;
    this.maxFields = maxFields;
  }

  /** Makes ready for a head that begins at `from`. */
  begin(from: number): void {
    this.stage = HeadStage.Start;
    this.headFrom = from;
    this.at = from;
  }

  /** Whether any byte of a head beyond the skipped CRLF has been seen. */
  hasBegun(to: number): boolean {
    return this.stage === HeadStage.Fields || this.at < to;
  }

  /**
   * Reads on. Between two calls `bytes` may be another array as long as what was there is at the same offsets.
   * @param to end of the valid bytes
   * @param head takes the result; its `bytes` must have been set with `reset`
   * @returns the offset after the head; NEED_MORE; or a failure (see `faultOf`). Where two faults meet, the one that
   * the earlier byte shows is given, so that it does not matter how the bytes come.
   */
  parse(bytes: Uint8Array, to: number, head: RequestHead): number {
    const end = Math.min(to, this.headFrom + this.maxHeadBytes);
    const outcome = this.parseUpTo(bytes, end, head);
    if (outcome >= 0 || (outcome === NEED_MORE && end === to)) return outcome;
    describeRefused(head);
    return outcome === NEED_MORE ? failure(Fault.HeadTooLarge) : outcome;
  }

  private parseUpTo(bytes: Uint8Array, to: number, head: RequestHead): number {
    head.bytes = bytes;
    head.headers.bytes = bytes;
    if (this.stage === HeadStage.Start) {
      const outcome = this.skipEmptyLine(bytes, to);
      if (outcome < 0) return outcome;
    }
    if (this.stage === HeadStage.Line) {
      const outcome = this.parseLine(bytes, to, head);
      if (outcome < 0) return outcome;
      this.at = outcome;
      this.stage = HeadStage.Fields;
    }
    return this.parseFields(bytes, to, head);
  }

  /** RFC 9112 §2.2: one empty line before the request line is skipped, no second one. docs/wire.md#request-line */
  private skipEmptyLine(bytes: Uint8Array, to: number): number {
    if (this.at >= to) return NEED_MORE;
    if (bytes[this.at] === Byte.Cr) {
      if (this.at + 1 >= to) return NEED_MORE;
      if (bytes[this.at + 1] !== Byte.Lf) return failure(Fault.BareLineBreak);
      this.at += 2;
    }
    this.stage = HeadStage.Line;
    return this.at;
  }

  private parseLine(bytes: Uint8Array, to: number, head: RequestHead): number {
    const from = this.at;
    const limit = Math.min(to, from + MAX_REQUEST_LINE_BYTES + 1);
    let at = from;
    while (at < limit && TOKEN[bytes[at]!] === 1) at++;
    if (at === limit) return cutLine(from, limit);
    if (bytes[at] !== Byte.Space || at === from) return failure(methodFault(bytes[at]!));
    head.methodFrom = from;
    head.methodTo = at;
    // Before all that may be refused: a response to HEAD has no body, a refusal neither.
    head.method = methodOf(bytes, from, at);
    const targetFrom = ++at;
    let flags = 0;
    let previous = 0;
    for (; at < limit; at++) {
      const byte = bytes[at]!;
      const bits = TARGET_CLASS[byte]!;
      if (bits === 0) break;
      // Two slashes side by side: bit 3 (Slash) of both, moved up to bit 7 (DoubleSlash).
      flags |= bits | ((bits & previous & 8) << 4);
      previous = bits;
    }
    if (at === limit) return cutLine(from, limit);
    if (bytes[at] !== Byte.Space) {
      // Of a refused target, what could be read is shown.
      head.targetFrom = targetFrom;
      head.targetTo = at;
      return failure(targetFault(bytes[at]!));
    }
    if (at === targetFrom) return failure(Fault.BadRequestLine);
    head.targetFrom = targetFrom;
    head.targetTo = at;
    head.targetFlags = flags;
    return this.parseVersion(bytes, at + 1, to, head);
  }

  private parseVersion(bytes: Uint8Array, from: number, to: number, head: RequestHead): number {
    const lineLimit = this.at + MAX_REQUEST_LINE_BYTES;
    if (from + VERSION_BYTES > lineLimit) {
      const outcome = this.parseOtherVersion(bytes, from, Math.min(to, lineLimit), head);
      return outcome === NEED_MORE && to > lineLimit ? failure(Fault.RequestLineTooLong) : outcome;
    }
    if (to - from < VERSION_LINE.length || !isHttp11Line(bytes, from)) {
      const outcome = this.parseOtherVersion(bytes, from, to, head);
      if (outcome < 0) return outcome;
    }
    const fault = locateTarget(bytes, head);
    return fault === Fault.None ? from + VERSION_LINE.length : failure(fault);
  }

  private parseOtherVersion(bytes: Uint8Array, from: number, to: number, head: RequestHead): number {
    const length = Math.min(to - from, VERSION_LINE.length);
    let other = false;
    for (let i = 0; i < length; i++) {
      const byte = bytes[from + i]!;
      if (i === MAJOR_AT || i === MINOR_AT) {
        if (byte < Byte.Zero || byte > Byte.Nine) return failure(Fault.BadVersion);
        if (i === MAJOR_AT) other = byte !== VERSION_LINE[i];
        else head.minor = byte - Byte.Zero;
      } else if (byte !== VERSION_LINE[i]) {
        return failure(byte === Byte.Lf || (i < MAJOR_AT && byte === Byte.Cr) ? Fault.BareLineBreak : Fault.BadVersion);
      }
    }
    if (length < VERSION_LINE.length) return NEED_MORE;
    return other || head.minor > 1 ? failure(Fault.UnsupportedVersion) : from;
  }

  /** One field line a turn: the name, the colon, the value without its outer whitespace, CRLF. */
  private parseFields(bytes: Uint8Array, to: number, head: RequestHead): number {
    const headers = head.headers;
    let at = this.at;
    for (;;) {
      this.at = at;
      if (at >= to) return NEED_MORE;
      const nameFrom = at;
      while (at < to && TOKEN[bytes[at]!] === 1) at++;
      if (isOverlong(bytes, at, to, nameFrom)) return failure(Fault.HeaderLineTooLong);
      if (at === to) return NEED_MORE;
      if (bytes[at] !== Byte.Colon || at === nameFrom) {
        if (at === nameFrom && bytes[at] === Byte.Cr) return this.endOfHead(bytes, at, to, head);
        return failure(nameFault(bytes[at]!, at === nameFrom));
      }
      const nameTo = at++;
      while (at < to && (bytes[at] === Byte.Space || bytes[at] === Byte.Tab)) at++;
      const valueFrom = at;
      at = skipFieldValue(bytes, at, to);
      if (isOverlong(bytes, at, to, nameFrom)) return failure(Fault.HeaderLineTooLong);
      if (at === to) return NEED_MORE;
      if (bytes[at] !== Byte.Cr) return failure(bytes[at] === Byte.Lf ? Fault.BareLineBreak : Fault.BadFieldValue);
      if (at + 1 === to) return NEED_MORE;
      if (bytes[at + 1] !== Byte.Lf) return failure(Fault.BareLineBreak);
      if (headers.count === this.maxFields) return failure(Fault.TooManyFields);
      let valueTo = at;
      while (valueTo > valueFrom && (bytes[valueTo - 1] === Byte.Space || bytes[valueTo - 1] === Byte.Tab)) valueTo--;
      headers.push(headerIdOf(bytes, nameFrom, nameTo), nameFrom, nameTo, valueFrom, valueTo);
      at += 2;
    }
  }

  private endOfHead(bytes: Uint8Array, at: number, to: number, head: RequestHead): number {
    if (at + 1 === to) return NEED_MORE;
    if (bytes[at + 1] !== Byte.Lf) return failure(Fault.BareLineBreak);
    const fault = judgeRequest(head);
    return fault === Fault.None ? at + 2 : failure(fault);
  }
}

const VERSION_LINE: Uint8Array = latin1("HTTP/1.1\r\n");
const VERSION_BYTES = 8;
const MAJOR_AT = 5;
const MINOR_AT = 7;

/** The request line goes on at `limit`: it is too long, or the rest is still to come. */
function cutLine(from: number, limit: number): number {
  return limit - from > MAX_REQUEST_LINE_BYTES ? failure(Fault.RequestLineTooLong) : NEED_MORE;
}

/** Whether a header line goes on beyond its limit; `at` is the first byte that has not been taken for it. */
function isOverlong(bytes: Uint8Array, at: number, to: number, lineFrom: number): boolean {
  const length = at - lineFrom;
  if (length < MAX_HEADER_LINE_BYTES) return false;
  return length > MAX_HEADER_LINE_BYTES || (at < to && bytes[at] !== Byte.Cr);
}

/** Whether ten bytes are `HTTP/1.1` and CRLF, as almost always. */
function isHttp11Line(bytes: Uint8Array, at: number): boolean {
  return isHttp11(bytes, at) && bytes[at + 8] === Byte.Cr && bytes[at + 9] === Byte.Lf;
}

function methodFault(byte: number): Fault {
  return byte === Byte.Cr || byte === Byte.Lf ? Fault.BadRequestLine : Fault.BadMethod;
}

function targetFault(byte: number): Fault {
  return byte === Byte.Cr || byte === Byte.Lf ? Fault.BadRequestLine : Fault.BadTarget;
}

function nameFault(byte: number, first: boolean): Fault {
  if (byte === Byte.Space || byte === Byte.Tab) return first ? Fault.LineFolding : Fault.SpaceBeforeColon;
  return byte === Byte.Lf ? Fault.BareLineBreak : Fault.BadFieldName;
}

/**
 * Finds Accept after a request line that is too long, where it is among the bytes that have come: so browsers get their page.
 * docs/pages.md#who-gets-a-page
 * @param to end of the received data
 */
export function findAccept(head: RequestHead, to: number): void {
  const { methodTo: from } = head;
  if (from === 0) return;
  const text = head.text(from, to);
  const end = text.indexOf("\r\n\r\n");
  const found = ACCEPT_LINE.exec(end < 0 ? text : text.slice(0, end + 2));
  if (found === null) return;
  const [line, name = "", before = "", value = ""] = found;
  const nameFrom = from + found.index + line.indexOf(name);
  const valueFrom = nameFrom + name.length + before.length;
  head.headers.push(HeaderId.Accept, nameFrom, nameFrom + name.length, valueFrom, valueFrom + value.length);
}

/** With its line break, so that no half of one is taken; each blank before the value has one reading. */
const ACCEPT_LINE = /\r\n(accept)(:[ \t]*)([\x21-\x7e][\x20-\x7e]*)?\r\n/i;

/**
 * Finds method, path and Host of a head that is refused, as far as they have been read: a HEAD gets no body even then
 * (RFC 9110 §9.3.2), and metrics and log say what was asked.
 */
export function describeRefused(head: RequestHead): void {
  const { bytes, targetFrom, targetTo } = head;
  if (head.method === Method.Other && head.methodTo > head.methodFrom) {
    head.method = methodOf(bytes, head.methodFrom, head.methodTo);
  }
  if (head.pathTo > head.pathFrom || targetTo === targetFrom || bytes[targetFrom] !== Byte.Slash) return;
  let at = targetFrom;
  while (at < targetTo && bytes[at] !== Byte.Question && bytes[at] !== Byte.Hash) at++;
  head.pathFrom = targetFrom;
  head.pathTo = at;
}
