import { Byte, copyBytes, latin1 } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Method, type RequestHead } from "../../message/request-head.ts";
import type { LineBuffer } from "../hpack/line-buffer.ts";

/**
 * Makes an extended CONNECT the request of HTTP/1.1 that asks for the same: GET with Upgrade. RFC 8441 §5; a WebSocket's
 * key is of our own making, since HTTP/2 has none.
 * @param lines holds the head
 * @param key for `Sec-WebSocket-Key`; "" leaves that field out
 */
export function becomeUpgrade(
  lines: LineBuffer,
  head: RequestHead,
  protocolFrom: number,
  protocolTo: number,
  key: string,
): void {
  const { headers } = head;
  headers.removeWhere(isKeyField);
  addLine(lines, headers, HeaderId.Upgrade, UPGRADE, lines.bytes.subarray(protocolFrom, protocolTo));
  if (key !== "") addLine(lines, headers, HeaderId.Other, KEY, latin1(key));
  const out = lines.reserve(GET.length);
  head.methodFrom = lines.end;
  head.methodTo = copyBytes(out, lines.end, GET, 0, GET.length);
  lines.end = head.methodTo;
  head.method = Method.Get;
  head.upgrade = true;
  head.bytes = lines.bytes;
  headers.bytes = lines.bytes;
}

/** Whether the field is about the handshake that HTTP/2 does without. */
export function isKeyField(headers: HeaderBlock, index: number): boolean {
  return headers.isNamed(index, KEY) || headers.isNamed(index, ACCEPT);
}

function addLine(lines: LineBuffer, headers: HeaderBlock, id: HeaderId, name: Uint8Array, value: Uint8Array): void {
  const out = lines.reserve(name.length + value.length + 4);
  const nameFrom = lines.end;
  const nameTo = copyBytes(out, nameFrom, name, 0, name.length);
  out[nameTo] = Byte.Colon;
  out[nameTo + 1] = Byte.Space;
  const valueTo = copyBytes(out, nameTo + 2, value, 0, value.length);
  out[valueTo] = Byte.Cr;
  out[valueTo + 1] = Byte.Lf;
  headers.push(id, nameFrom, nameTo, nameTo + 2, valueTo);
  lines.end = valueTo + 2;
}

const GET: Uint8Array = latin1("GET");
const UPGRADE: Uint8Array = latin1("upgrade");
const KEY: Uint8Array = latin1("sec-websocket-key");
const ACCEPT: Uint8Array = latin1("sec-websocket-accept");
