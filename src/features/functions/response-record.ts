import type { Exchange } from "../../message/exchange.ts";
import { type HeaderId, headerIdFromName } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import { Framing, Method } from "../../message/request-head.ts";
import type { Records } from "./wire.ts";

/** A response as a thread tells it. */
export interface ResponseRecord {
  readonly status: number;
  readonly fields: readonly (readonly [string, string])[];
  /** In bytes; -1 if none is declared. */
  readonly length: number;
  /** "0" no body, "1" whole, "2" it follows. */
  readonly mode: string;
  readonly body: Buffer | null;
}

/** Reads the fields of the record of a response. */
export function readResponseRecord(records: Records): ResponseRecord {
  const status = records.number();
  const fields = records.fields();
  const length = records.number();
  const mode = records.line();
  return { status, fields, length, mode, body: mode === "1" ? records.bytes() : null };
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** All fields of a response together. */
const MAX_HEAD_CHARS = 262_144;
const OUT: ReadonlySet<HeaderId> = new Set(HOP_BY_HOP);

/**
 * Why a head that a module has made cannot be sent, or "": whatever the module does to its runtime, no line is added to a response, and nothing
 * is said about how it is framed.
 */
export function fieldsFault(fields: ResponseRecord["fields"]): string {
  let chars = 0;
  for (const [name, value] of fields) {
    if (!NAME.test(name)) return "a field's name is none";
    if (!VALUE.test(value)) return `the value of the field ${name} has a character that none may have`;
    chars += name.length + value.length;
  }
  return chars > MAX_HEAD_CHARS ? `its fields are longer than ${MAX_HEAD_CHARS} characters` : "";
}

/** The same, of a whole head: of its status and of the length that it declares, too. */
export function recordFault({ status, fields, length }: ResponseRecord): string {
  if (!Number.isInteger(status) || status < 200 || status > 599) return `status ${status}`;
  if (!Number.isSafeInteger(length) || length < -1) return "its length is none";
  return fieldsFault(fields);
}

/** Puts the fields of a head into `ex.response`, without those about the connection. */
function setResponseFields(ex: Exchange, status: number, fields: ResponseRecord["fields"]): void {
  const { response } = ex;
  response.status = status;
  response.headers.resetOwn();
  for (const [name, value] of fields) if (!OUT.has(headerIdFromName(name))) response.headers.add(name, value);
  response.fromUpstream = true;
}

/** Puts a response into `ex.response`. @returns whether a body may follow */
export function setResponse(ex: Exchange, { status, fields, length, mode, body }: ResponseRecord): boolean {
  setResponseFields(ex, status, fields);
  const { response } = ex;
  const isHead = ex.request.method === Method.Head;
  const isBodiless = status === 204 || status === 205 || status === 304;
  const known = mode === "1" ? body!.length : mode === "0" && !isHead ? 0 : length;
  response.withoutBody = isHead || status === 304;
  response.framing = isHead || isBodiless ? Framing.None : known >= 0 ? Framing.Length : Framing.Chunked;
  response.contentLength = isBodiless ? 0 : Math.max(0, known);
  response.lengthWithoutBody = isHead && known >= 0;
  return !isHead && !isBodiless;
}
