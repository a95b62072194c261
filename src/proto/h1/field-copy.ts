import { Byte } from "../../core/ascii.ts";
import { copyBytes } from "../../core/bytes.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { HEADER_ID_COUNT, HeaderId } from "../../message/header-id.ts";

/**
 * Writes the fields of a block that `drop` does not name, as `Name: value` lines. Neighbouring lines that stand in the
 * block's bytes just as they would be written are copied together: a native copy costs the same for one as for ten.
 * @param drop one entry a HeaderId: 1 leaves the field out
 * @returns the offset behind the last line
 */
export function copyFields(out: Buffer, start: number, block: HeaderBlock, drop: Uint8Array): number {
  const { bytes, spans, ids, count } = block;
  let at = start;
  let runFrom = -1;
  let runTo = -1;
  for (let i = 0; i < count; i++) {
    if (drop[ids[i]!] === 1) continue;
    const s = i * 4;
    const nameFrom = spans[s]!;
    const nameTo = spans[s + 1]!;
    const valueFrom = spans[s + 2]!;
    const valueTo = spans[s + 3]!;
    const asWritten = valueFrom === nameTo + 2 && bytes[nameTo + 1] === Byte.Space && bytes[valueTo] === Byte.Cr;
    if (asWritten && runTo === nameFrom) {
      runTo = valueTo + 2;
      continue;
    }
    if (runFrom >= 0) at = copyBytes(out, at, bytes, runFrom, runTo);
    runFrom = -1;
    runTo = -1;
    if (asWritten) {
      runFrom = nameFrom;
      runTo = valueTo + 2;
    } else at = writeField(out, at, bytes, nameFrom, nameTo, valueFrom, valueTo);
  }
  return runFrom < 0 ? at : copyBytes(out, at, bytes, runFrom, runTo);
}

function writeField(
  out: Buffer,
  start: number,
  bytes: Uint8Array,
  nameFrom: number,
  nameTo: number,
  valueFrom: number,
  valueTo: number,
): number {
  let at = copyBytes(out, start, bytes, nameFrom, nameTo);
  out[at++] = Byte.Colon;
  out[at++] = Byte.Space;
  at = copyBytes(out, at, bytes, valueFrom, valueTo);
  out[at++] = Byte.Cr;
  out[at++] = Byte.Lf;
  return at;
}

/** A table for `copyFields` that leaves these fields out. */
export function dropTable(ids: readonly HeaderId[]): Uint8Array {
  const drop = new Uint8Array(HEADER_ID_COUNT);
  for (const id of ids) drop[id] = 1;
  return drop;
}

/**
 * Fields about one connection or about how a message is framed on it, and those that Connection names: nobody passes them
 * on. RFC 9110 §7.6.1; RFC 9112 §6.
 */
export const HOP_BY_HOP: readonly HeaderId[] = [
  HeaderId.Connection,
  HeaderId.ContentLength,
  HeaderId.TransferEncoding,
  HeaderId.KeepAlive,
  HeaderId.ProxyConnection,
  HeaderId.ProxyAuthenticate,
  HeaderId.ProxyAuthorization,
  HeaderId.Te,
  HeaderId.Trailer,
  HeaderId.Upgrade,
  HeaderId.NamedByConnection,
];
