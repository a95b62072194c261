import { sliceText } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Framing, type ResponseHead } from "../../message/request-head.ts";
import { NOT_IN_FIXED, NOT_IN_REPLIES } from "../h2/response-block.ts";
import type { FieldRecord } from "./field-dictionary.ts";

type Growing = Record<string, string | string[]>;

/**
 * The fields of a response's head as the runtime takes them. RFC 9114 §4.3.2.
 * @param date the 29 bytes of the current date, for a response without one
 */
export function responseRecord(response: ResponseHead, date: Uint8Array): FieldRecord {
  const record = begin(response.status);
  addBlock(record, response.headers);
  if (response.shownIdEnd > 0) {
    record["x-request-id"] = sliceText(response.requestIdLine, ID_NAME + 2, response.shownIdEnd - 2);
  }
  if (response.headers.find(HeaderId.Date) < 0) record.date = sliceText(date, 0, 29);
  if (!response.fromUpstream) record.server = SERVER;
  if (response.extra !== null) addBlock(record, response.extra.block);
  if (response.framing === Framing.Length || response.lengthWithoutBody) {
    record["content-length"] = String(response.contentLength);
  }
  return record;
}

/** The fields of a prebuilt response, with those that taps have added. */
export function fixedRecord(response: PrebuiltResponse, head: ResponseHead, date: Uint8Array): FieldRecord {
  const record = begin(response.status);
  record.date = sliceText(date, 0, 29);
  record.server = SERVER;
  addBlock(record, response.block, NOT_IN_FIXED);
  if (head.extra !== null) addBlock(record, head.extra.block);
  if (response.hasLength) record["content-length"] = String(response.body.length);
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
