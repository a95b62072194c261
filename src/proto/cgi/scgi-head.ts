import { copyBytes, equalsBytes, latin1, writeDecimal } from "../../core/bytes.ts";
import { ParamWalk } from "../fastcgi/param-walk.ts";

/** Bytes of a head beside its parameters: the length of the netstring and its marks, the version, a number. */
const OWN_BYTES = 64;

/** Bytes that a head of SCGI takes at most, whose parameters take so many. */
export function scgiHeadBound(paramBytes: number): number {
  return paramBytes + OWN_BYTES;
}

/**
 * Writes the head of a request of SCGI, a netstring of names and values: the body follows as it is. The length of the body comes first,
 * and is 0 if there is none.
 * @param params as proto/fastcgi/params.ts writes them, up to `end`, without a NUL
 * @returns the offset after it
 */
export function writeScgiHead(
  params: Uint8Array,
  end: number,
  contentLength: number,
  out: Buffer,
  start: number,
): number {
  // The length of the netstring stands before it, and is known after it.
  const from = start + LENGTH_ROOM;
  let at = copyBytes(out, from, FIRST, 0, FIRST.length);
  at = writeDecimal(out, at, contentLength);
  at = copyBytes(out, at, VERSION, 0, VERSION.length);
  const walk = new ParamWalk(params, 0, end);
  while (walk.next()) {
    const { nameFrom, nameTo, valueTo } = walk;
    if (equalsBytes(params, nameFrom, nameTo, CONTENT_LENGTH)) continue;
    at = copyBytes(out, at, params, nameFrom, nameTo);
    out[at] = 0;
    at = copyBytes(out, at + 1, params, nameTo, valueTo);
    out[at++] = 0;
  }
  const bodyFrom = writeDecimal(out, start, at - from);
  out[bodyFrom] = COLON;
  out.copyWithin(bodyFrom + 1, from, at);
  const to = bodyFrom + 1 + at - from;
  out[to] = COMMA;
  return to + 1;
}

const LENGTH_ROOM = 12;
const COLON = 0x3a;
const COMMA = 0x2c;
const CONTENT_LENGTH: Uint8Array = latin1("CONTENT_LENGTH");
const FIRST: Uint8Array = latin1("CONTENT_LENGTH\0");
const VERSION: Uint8Array = latin1("\0SCGI\x001\0");
