import { sliceText } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, type ReplyHead } from "../../message/request-head.ts";
import { NOT_IN_FIXED, NOT_IN_REPLIES } from "../h2/reply-block.ts";
import type { FieldRecord } from "./field-dictionary.ts";

type Growing = Record<string, string | string[]>;

/**
 * The fields of a response's head as the runtime takes them. RFC 9114 §4.3.2.
 * @param date the 29 bytes of the current date, used where the response has none
 */
export function replyRecord(reply: ReplyHead, date: Uint8Array): FieldRecord {
  const record = begin(reply.status);
  addBlock(record, reply.headers);
  if (reply.shownIdEnd > 0) {
    record["x-request-id"] = sliceText(reply.requestIdLine, ID_NAME + 2, reply.shownIdEnd - 2);
  }
  if (reply.headers.find(HeaderId.Date) < 0) record.date = sliceText(date, 0, 29);
  if (!reply.fromUpstream) record.server = SERVER;
  if (reply.extra !== null) addBlock(record, reply.extra.block);
  if (reply.framing === Framing.Length || reply.lengthWithoutBody) {
    record["content-length"] = String(reply.contentLength);
  }
  return record;
}

/** The fields of a prebuilt response, with those that taps have added. */
export function fixedRecord(reply: PrebuiltResponse, head: ReplyHead, date: Uint8Array): FieldRecord {
  const record = begin(reply.status);
  record.date = sliceText(date, 0, 29);
  record.server = SERVER;
  addBlock(record, reply.block, NOT_IN_FIXED);
  if (head.extra !== null) addBlock(record, head.extra.block);
  if (reply.hasLength) record["content-length"] = String(reply.body.length);
  return record;
}

/** The fields of an interim response. RFC 9114 §4.1. */
export function interimRecord(status: number, headers: HeaderBlock): FieldRecord {
  const record = begin(status);
  addBlock(record, headers);
  return record;
}

/** The fields after a body. */
export function trailerRecord(trailers: HeaderBlock): FieldRecord {
  const record: Growing = Object.create(null);
  addBlock(record, trailers);
  return record;
}

function begin(status: number): Growing {
  const record: Growing = Object.create(null);
  record[":status"] = String(status);
  return record;
}

function addBlock(record: Growing, block: HeaderBlock, drop: Uint8Array = NOT_IN_REPLIES): void {
  for (let i = 0; i < block.count; i++) {
    if (drop[block.ids[i]!] === 1) continue;
    const name = block.nameText(i).toLowerCase();
    const value = block.valueText(i);
    const before = record[name];
    if (before === undefined) record[name] = value;
    else if (typeof before === "string") record[name] = [before, value];
    else before.push(value);
  }
}

const SERVER = "edge";
const ID_NAME = "X-Request-Id".length;
