import { type HeaderBlock, HeaderId, HeaderIdSet } from "../../message/header-block.ts";
import { Method, type RequestHead } from "../../message/request-head.ts";
import { ByteRange, RangeVerdict } from "../../proto/semantics/byte-range.ts";
import { parseHttpDate } from "../../proto/semantics/http-date.ts";

/** What of a stored 200 a request asks for. */
export const enum Selected {
  Whole = 0,
  /** The client has it already: 304. */
  NotModified,
  /** The bytes of `range`. */
  Part,
  /** No byte that there is: 416. */
  Unsatisfiable,
}

/** Whether a request may have a condition or a range that a cache judges: it asks for something other than the whole response. */
export function isSelective({ headers }: RequestHead): boolean {
  return headers.mayHave(SELECTING);
}

/** Whether it asks for one range and nothing else: the whole response then serves it, and others. */
export function isPartOnly({ headers, method }: RequestHead): boolean {
  if (headers.find(HeaderId.IfNoneMatch) >= 0 || headers.find(HeaderId.IfModifiedSince) >= 0) return false;
  const index = headers.find(HeaderId.Range);
  return index >= 0 && method === Method.Get && ONE_RANGE.test(headers.valueText(index));
}

/** Conditions and ranges, as a cache judges them. RFC 9111 §4.3.2; RFC 9110 §13.2.2, §14.2. */
export class Selection {
  readonly range: ByteRange = new ByteRange();

  /**
   * @param request the client's fields
   * @param stored the fields of the response
   * @param bodyBytes its length; -1 if a range means nothing (HEAD)
   * @param nowMs milliseconds since the epoch
   */
  select(request: HeaderBlock, stored: HeaderBlock, bodyBytes: number, nowMs: number): Selected {
    if (isNotModified(request, stored, nowMs)) return Selected.NotModified;
    const index = request.find(HeaderId.Range);
    if (index < 0 || bodyBytes < 0 || request.find(HeaderId.Range, index + 1) >= 0) return Selected.Whole;
    if (!rangeApplies(request, stored, nowMs)) return Selected.Whole;
    const verdict = this.range.resolve(request.valueText(index), bodyBytes);
    if (verdict === RangeVerdict.Part) return Selected.Part;
    return verdict === RangeVerdict.Whole ? Selected.Whole : Selected.Unsatisfiable;
  }
}

/** Whether two responses have the same entity tag, or, where the second has none, the same date of change. */
export function hasSameValidator(stored: HeaderBlock, fresh: HeaderBlock): boolean {
  const etag = fresh.valueOf(HeaderId.ETag);
  if (etag !== "") return opaque(etag) === opaque(stored.valueOf(HeaderId.ETag));
  const modified = fresh.valueOf(HeaderId.LastModified);
  return modified !== "" && modified === stored.valueOf(HeaderId.LastModified);
}

function isNotModified(request: HeaderBlock, stored: HeaderBlock, nowMs: number): boolean {
  if (request.find(HeaderId.IfNoneMatch) >= 0) return namesTag(request, stored.valueOf(HeaderId.ETag));
  const index = request.find(HeaderId.IfModifiedSince);
  if (index < 0 || request.find(HeaderId.IfModifiedSince, index + 1) >= 0) return false;
  const since = parseHttpDate(request.valueText(index), nowMs);
  // RFC 9111 §4.3.2: without a date of change the date of the response counts.
  const modified = stored.valueOf(HeaderId.LastModified);
  return parseHttpDate(modified === "" ? stored.valueOf(HeaderId.Date) : modified, nowMs) <= since;
}

/** RFC 9110 §13.1.2: weak comparison. Commas may stand within the quotes. */
function namesTag(request: HeaderBlock, etag: string): boolean {
  for (let i = request.find(HeaderId.IfNoneMatch); i >= 0; i = request.find(HeaderId.IfNoneMatch, i + 1)) {
    const text = request.valueText(i);
    if (text === "*") return true;
    if (etag === "") continue;
    if (text === etag) return true;
    for (const match of text.matchAll(TAG)) if (match[1] === opaque(etag)) return true;
  }
  return false;
}

/** RFC 9110 §13.1.5: strong comparison; a date is strong where it lies a second or more before the response's. */
function rangeApplies(request: HeaderBlock, stored: HeaderBlock, nowMs: number): boolean {
  const index = request.find(HeaderId.IfRange);
  if (index < 0) return true;
  if (request.find(HeaderId.IfRange, index + 1) >= 0) return false;
  const text = request.valueText(index);
  if (text.startsWith('"')) return text === stored.valueOf(HeaderId.ETag);
  if (text.startsWith("W/")) return false;
  const modified = parseHttpDate(stored.valueOf(HeaderId.LastModified), nowMs);
  const date = parseHttpDate(stored.valueOf(HeaderId.Date), nowMs);
  return parseHttpDate(text, nowMs) === modified && date - modified >= 1;
}

/** The tag with its quotes, without the sign of weakness. */
function opaque(etag: string): string {
  return etag.startsWith("W/") ? etag.slice(2) : etag;
}

const SELECTING = new HeaderIdSet([HeaderId.IfNoneMatch, HeaderId.IfModifiedSince, HeaderId.Range]);
const ONE_RANGE = /^bytes=[ \t]*(?:\d+-\d*|-\d+)[ \t]*$/i;
const TAG = /(?:W\/)?("[^"]*")/g;
