import { Byte } from "../../core/bytes.ts";
import { HeaderId, headerIdOf } from "../../message/header-block.ts";
import { dropTable } from "../h1/response-encoder.ts";
import { FIELD_EXTRA, type HpackEncoder } from "../hpack/encoder.ts";
import { staticIndex, staticNameIndex } from "../hpack/static-table.ts";

/** Bytes that `encodeRequestBlock` may write at most for a head of so many bytes: each line has four that fall away. */
export function requestBlockBound(headBytes: number): number {
  return headBytes + Math.ceil(headBytes / 4) * FIELD_EXTRA + 64;
}

/**
 * Writes the header block of a request whose head is in `head[0, end)` as HTTP/1.1 has it, as the gateway writes it:
 * what goes to an origin is decided in one place, whatever it speaks. RFC 9113 §8.3.1.
 * @returns the offset after it
 */
export function encodeRequestBlock(
  encoder: HpackEncoder,
  out: Buffer,
  start: number,
  head: Buffer,
  end: number,
  isTls: boolean,
): number {
  const methodTo = head.indexOf(Byte.Space);
  const targetTo = head.indexOf(Byte.Space, methodTo + 1);
  const linesFrom = head.indexOf(Byte.Lf, targetTo) + 1;
  encoder.begin(out, start);
  if (isGet(head, methodTo)) encoder.indexed(METHOD_GET);
  else encoder.plain(METHOD_NAME, head, 0, methodTo);
  encoder.indexed(isTls ? SCHEME_HTTPS : SCHEME_HTTP);
  encoder.plain(PATH_NAME, head, methodTo + 1, targetTo);
  encodeAuthority(encoder, head, linesFrom, end);
  for (let from = linesFrom; from < end - 2; ) {
    const colon = head.indexOf(Byte.Colon, from);
    const lineTo = head.indexOf(Byte.Cr, colon);
    const id = headerIdOf(head, from, colon);
    if (DROP[id] === 0) encoder.field(id, head, from, colon, Math.min(colon + 2, lineTo), lineTo);
    from = lineTo + 2;
  }
  return encoder.end();
}

/** Host is the first line nearly always. */
function encodeAuthority(encoder: HpackEncoder, head: Buffer, from: number, end: number): void {
  for (let lineFrom = from; lineFrom < end - 2; ) {
    const colon = head.indexOf(Byte.Colon, lineFrom);
    const lineTo = head.indexOf(Byte.Cr, colon);
    if (headerIdOf(head, lineFrom, colon) === HeaderId.Host) {
      return encoder.plain(AUTHORITY_NAME, head, Math.min(colon + 2, lineTo), lineTo);
    }
    lineFrom = lineTo + 2;
  }
}

function isGet(head: Buffer, methodTo: number): boolean {
  return methodTo === 3 && head[0] === 0x47 && head[1] === 0x45 && head[2] === 0x54;
}

const METHOD_GET: number = staticIndex(":method", "GET");
const METHOD_NAME: number = staticNameIndex(":method");
const PATH_NAME: number = staticNameIndex(":path");
const AUTHORITY_NAME: number = staticNameIndex(":authority");
const SCHEME_HTTP: number = staticIndex(":scheme", "http");
const SCHEME_HTTPS: number = staticIndex(":scheme", "https");

/** RFC 9113 §8.2.2; TE stays, since it is only ever written to ask for trailers. */
const DROP: Uint8Array = dropTable([
  HeaderId.Host,
  HeaderId.Connection,
  HeaderId.TransferEncoding,
  HeaderId.KeepAlive,
  HeaderId.ProxyConnection,
  HeaderId.Upgrade,
  HeaderId.Http2Settings,
]);
