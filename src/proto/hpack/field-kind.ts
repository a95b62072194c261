import { Byte, byteTable, equalsBytes, equalsLower, isOws, latin1, TOKEN } from "../../core/bytes.ts";
import { HeaderId, headerIdOf } from "../../message/header-block.ts";

/**
 * What a field is to HTTP/2, judged once for each entry of a table and once for each literal. RFC 9113 §8.2, §8.3;
 * docs/wire.md#http2
 */
export const enum FieldKind {
  Regular = 0,
  Method,
  Scheme,
  Authority,
  Path,
  Protocol,
  Status,
  UnknownPseudo,
  /** An empty name, an upper-case letter, or anything that is no token. */
  BadName,
  /** A control byte but HTAB, DEL, or white space at either end. */
  BadValue,
  /** A field about the connection, which HTTP/2 has none of. RFC 9113 §8.2.2 */
  ConnectionSpecific,
}

/** A kind and a HeaderId in one number. */
export type FieldTag = number;

/** Judges the field with this name and value. */
export function tagOf(
  bytes: Uint8Array,
  nameFrom: number,
  nameTo: number,
  valueFrom: number,
  valueTo: number,
): FieldTag {
  if (!isValue(bytes, valueFrom, valueTo)) return FieldKind.BadValue;
  if (bytes[nameFrom] === Byte.Colon && nameTo > nameFrom) return pseudoOf(bytes, nameFrom, nameTo);
  if (nameFrom === nameTo) return FieldKind.BadName;
  for (let i = nameFrom; i < nameTo; i++) if (LOWER_TOKEN[bytes[i]!] !== 1) return FieldKind.BadName;
  const id = headerIdOf(bytes, nameFrom, nameTo);
  switch (id) {
    case HeaderId.Connection:
    case HeaderId.KeepAlive:
    case HeaderId.ProxyConnection:
    case HeaderId.TransferEncoding:
    case HeaderId.Upgrade:
      return FieldKind.ConnectionSpecific;
    case HeaderId.Te:
      return equalsLower(bytes, valueFrom, valueTo, TRAILERS) ? id << 8 : FieldKind.ConnectionSpecific;
    default:
      return id << 8;
  }
}

/** The kind in a tag. */
export function kindOf(tag: FieldTag): FieldKind {
  return tag & 255;
}

/** The HeaderId in the tag of a regular field. */
export function idOf(tag: FieldTag): HeaderId {
  return tag >> 8;
}

function isValue(bytes: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (VALUE[bytes[i]!] !== 1) return false;
  return from === to || (!isOws(bytes[from]!) && !isOws(bytes[to - 1]!));
}

function pseudoOf(bytes: Uint8Array, from: number, to: number): FieldKind {
  for (let i = 0; i < PSEUDO.length; i++) {
    if (equalsBytes(bytes, from, to, PSEUDO[i]!)) return FieldKind.Method + i;
  }
  for (let i = from + 1; i < to; i++) if (LOWER_TOKEN[bytes[i]!] !== 1) return FieldKind.BadName;
  return FieldKind.UnknownPseudo;
}

const TRAILERS: Uint8Array = latin1("trailers");
/** In the order of FieldKind. */
const PSEUDO: readonly Uint8Array[] = [":method", ":scheme", ":authority", ":path", ":protocol", ":status"].map(latin1);
const LOWER_TOKEN: Uint8Array = byteTable((byte) => (byte >= 0x41 && byte <= 0x5a ? 0 : TOKEN[byte]!));
const VALUE: Uint8Array = byteTable((byte) => (byte === Byte.Tab || (byte >= Byte.Space && byte !== Byte.Del) ? 1 : 0));
