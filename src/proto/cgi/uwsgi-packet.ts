import { copyBytes } from "../../core/bytes.ts";
import { ParamWalk } from "../fastcgi/param-walk.ts";

/** Bytes before the variables: two modifiers, and a length between them. */
const PACKET_HEADER_BYTES = 4;
/** Variables of one request: their length has two bytes. */
export const MAX_PACKET_BYTES = 65_535;

/** Bytes that a packet takes at most, whose parameters take so many: each has two lengths of two bytes. */
export function packetBound(paramBytes: number): number {
  return PACKET_HEADER_BYTES + paramBytes * 2;
}

/** Bytes of the variables in a packet. @param params as proto/fastcgi/params.ts writes them, up to `end` */
export function packetBytes(params: Uint8Array, end: number): number {
  const walk = new ParamWalk(params, 0, end);
  let bytes = 0;
  while (walk.next()) bytes += LENGTHS + walk.valueTo - walk.nameFrom;
  return bytes;
}

/**
 * Writes the packet that begins a request of uWSGI: the body follows as it is.
 * @param modifiers modifier1 and modifier2
 * @returns the offset after it
 */
export function writePacket(
  params: Uint8Array,
  end: number,
  modifiers: readonly [number, number],
  out: Buffer,
  start: number,
): number {
  const walk = new ParamWalk(params, 0, end);
  let at = start + PACKET_HEADER_BYTES;
  while (walk.next()) {
    const { nameFrom, nameTo, valueTo } = walk;
    at = copyBytes(out, writeShort(out, at, nameTo - nameFrom), params, nameFrom, nameTo);
    at = copyBytes(out, writeShort(out, at, valueTo - nameTo), params, nameTo, valueTo);
  }
  out[start] = modifiers[0];
  writeShort(out, start + 1, at - start - PACKET_HEADER_BYTES);
  out[start + 3] = modifiers[1];
  return at;
}

/** The lesser byte first. */
function writeShort(out: Buffer, at: number, value: number): number {
  out[at] = value;
  out[at + 1] = value >>> 8;
  return at + 2;
}

const LENGTHS = 4;
