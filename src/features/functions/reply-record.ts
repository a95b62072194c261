import type { Exchange } from "../../message/exchange.ts";
import { type HeaderId, headerIdFromName } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import { Framing, Method } from "../../message/request-head.ts";
import type { Records } from "./wire.ts";

/** A response as a thread tells it. */
export interface ReplyRecord {
  readonly status: number;
  readonly fields: readonly (readonly [string, string])[];
  /** In bytes; -1 if none is declared. */
  readonly length: number;
  /** "0" no body, "1" whole, "2" it follows. */
  readonly mode: string;
  readonly body: Buffer | null;
}

/** Reads the fields of the record of a response. */
export function readReply(records: Records): ReplyRecord {
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
export function fieldsFault(fields: ReplyRecord["fields"]): string {
  let chars = 0;
  for (const [name, value] of fields) {
    if (!NAME.test(name)) return "a field's name is none";
    if (!VALUE.test(value)) return `the value of the field ${name} has a character that none may have`;
    chars += name.length + value.length;
  }
  return chars > MAX_HEAD_CHARS ? `its fields are longer than ${MAX_HEAD_CHARS} characters` : "";
}

/** The same, of a whole head: of its status and of the length that it declares, too. */
export function recordFault({ status, fields, length }: ReplyRecord): string {
  if (!Number.isInteger(status) || status < 200 || status > 599) return `status ${status}`;
  if (!Number.isSafeInteger(length) || length < -1) return "its length is none";
  return fieldsFault(fields);
}

/** Puts the fields of a head into `ex.reply`, without those about the connection. */
function setReplyFields(ex: Exchange, status: number, fields: ReplyRecord["fields"]): void {
  const { reply } = ex;
  reply.status = status;
  reply.headers.resetOwn();
  for (const [name, value] of fields) if (!OUT.has(headerIdFromName(name))) reply.headers.add(name, value);
  reply.fromUpstream = true;
}

/** Puts a response into `ex.reply`. @returns whether a body may follow */
export function setReply(ex: Exchange, { status, fields, length, mode, body }: ReplyRecord): boolean {
  setReplyFields(ex, status, fields);
  const { reply } = ex;
  const isHead = ex.request.method === Method.Head;
  const isBodiless = status === 204 || status === 205 || status === 304;
  const known = mode === "1" ? body!.length : mode === "0" && !isHead ? 0 : length;
  reply.withoutBody = isHead || status === 304;
  reply.framing = isHead || isBodiless ? Framing.None : known >= 0 ? Framing.Length : Framing.Chunked;
  reply.contentLength = isBodiless ? 0 : Math.max(0, known);
  reply.lengthWithoutBody = isHead && known >= 0;
  return !isHead && !isBodiless;
}
