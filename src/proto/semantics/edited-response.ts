import { latin1 } from "../../core/bytes.ts";
import type { BodyEditor } from "../../message/editing-sink.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { jsonRefusal, type PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, Method } from "../../message/request-head.ts";
import type { MediaTypes } from "./media-types.ts";
import { dropPlainFields, forbidsTransforming, hasNoTransform, isOfPlainContent } from "./transformed-head.ts";

/** The ways of a response whose body may be edited. */
const enum Editing {
  /** It goes out as it is. */
  None = 0,
  /** It has no body, and the head of an edited response. */
  Head,
  /** It is a part of a body to edit, and cannot be edited. */
  Part,
  Body,
}

/**
 * Judges a response by its head, which becomes that of the edited body.
 * @returns the editor; null if the body passes as it is, or there is none; or the response in place of a part
 */
export function editorFor(
  ex: Exchange,
  types: MediaTypes,
  make: () => BodyEditor,
): BodyEditor | PrebuiltResponse | null {
  const editing = judgeEditing(ex, types);
  if (editing === Editing.None) return null;
  if (editing === Editing.Part) return PART_REFUSED;
  describeEdited(ex);
  return editing === Editing.Body ? make() : null;
}

/** Judges a response by its head. A compressed body passes as it is, and so does a response with no-transform (RFC 9110 §7.7). */
function judgeEditing({ request, response }: Exchange, types: MediaTypes): Editing {
  const { headers, status, framing } = response;
  const type = headers.find(HeaderId.ContentType);
  const isMeant = type >= 0 && types.has(headers.valueText(type)) && status !== 304;
  if (!isMeant || forbidsTransforming(headers) || isCoded(headers)) return Editing.None;
  if (status === 206 || headers.find(HeaderId.ContentRange) >= 0) return Editing.Part;
  if (request.method === Method.Head) return Editing.Head;
  return response.withoutBody || framing === Framing.None ? Editing.None : Editing.Body;
}

/** Whether a body is in a coding: some servers say that it is in none. RFC 9110 §8.4 */
export function isCoded(headers: HeaderBlock): boolean {
  const { ids } = headers;
  for (let i = headers.find(HeaderId.ContentEncoding); i >= 0 && i < headers.count; i++)
    if (ids[i] === HeaderId.ContentEncoding && !headers.valueEquals(i, IDENTITY)) return true;
  return false;
}

/** Makes a head that of the edited body: without a length, without a validator of the plain content. */
function describeEdited({ response }: Exchange): void {
  const { headers } = response;
  // Of the coding, `identity` alone is there: what comes after this may compress the body.
  for (const id of PLAIN_IDS) headers.removeAll(id);
  dropPlainFields(headers);
  response.lengthWithoutBody = false;
  response.contentLength = 0;
  // Whether the end of a connection is the end of the body, or a cut, is not known: the cache asks for that.
  if (response.framing === Framing.Length) response.framing = Framing.Chunked;
}

/** Whether a prebuilt response is to be edited. */
export function isEditedFixed({ status, fields, body, isRefusal }: PrebuiltResponse, types: MediaTypes): boolean {
  let isMeant = false;
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    if (lower === "content-encoding" || lower === "content-range") return false;
    if (lower === "cache-control" && hasNoTransform(value)) return false;
    if (lower === "content-type") isMeant = types.has(value);
  }
  return isMeant && !isRefusal && status !== 304 && body.length > 0;
}

/** The fields of a prebuilt response whose body is edited. */
export function editedFields(fields: PrebuiltResponse["fields"]): PrebuiltResponse["fields"] {
  return fields.filter(([name]) => {
    const lower = name.toLowerCase();
    return lower !== "etag" && lower !== "last-modified" && !isOfPlainContent(lower);
  });
}

const PLAIN_IDS: readonly HeaderId[] = [
  HeaderId.ContentEncoding,
  HeaderId.ContentLength,
  HeaderId.ETag,
  HeaderId.LastModified,
];

const IDENTITY: Uint8Array = latin1("identity");

/** An edited text may lie across the end of a part. */
const PART_REFUSED: PrebuiltResponse = jsonRefusal(416, "this response has no parts", [["Accept-Ranges", "none"]]);
