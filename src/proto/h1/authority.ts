import { Byte, LOWER, table } from "../../core/ascii.ts";
import { hostLiteral } from "../../core/ip-address.ts";
import { MAX_AUTHORITY_BYTES } from "../../core/limits.ts";

/** What some bytes are as a host with an optional port. */
export const enum Authority {
  Bad = 0,
  /** As it goes on: no capitals, no dot at the end of the name, no empty port. */
  Canonical,
  /** Another spelling of one that is canonical. */
  Unusual,
}

/**
 * Judges `bytes[from, to)` as a host with an optional port: a registered name without empty labels, an IPv4 address, or an
 * IPv6 address in brackets. RFC 9110 §7.2, RFC 3986 §3.2, but no user information, and no percent-encoding, which routes,
 * keys and origins would each read in their own way. docs/security.md#paths-and-hosts
 */
export function judgeAuthority(bytes: Uint8Array, from: number, to: number): Authority {
  if (to - from > MAX_AUTHORITY_BYTES) return Authority.Bad;
  const isLiteral = bytes[from] === Byte.LeftBracket;
  let at = from;
  let kinds = 0;
  let previous = NameByte.Dot;
  if (isLiteral) {
    while (at < to && bytes[at] !== Byte.RightBracket) kinds |= NAME[bytes[at++]!]!;
    if (at === to || hostLiteral(textOf(bytes, from, ++at)) === "") return Authority.Bad;
  } else {
    for (; at < to; at++) {
      const kind = NAME[bytes[at]!]!;
      if (kind === 0) break;
      if (kind === NameByte.Dot && previous === kind) return Authority.Bad;
      kinds |= kind;
      previous = kind;
    }
    if (at === from) return Authority.Bad;
  }
  const isCanonical = (kinds & NameByte.Capital) === 0 && (isLiteral || previous !== NameByte.Dot);
  if (at < to) {
    const port = bytes[at] === Byte.Colon ? judgePort(bytes, at + 1, to) : Authority.Bad;
    if (port !== Authority.Canonical) return port;
  }
  return isCanonical ? Authority.Canonical : Authority.Unusual;
}

/**
 * Makes an unusual authority canonical in place; what it needs no longer becomes a space behind it.
 * @returns where it ends now
 */
export function canonicaliseAuthority(bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at++) bytes[at] = LOWER[bytes[at]!]!;
  let end = bytes[to - 1] === Byte.Colon ? to - 1 : to;
  let nameTo = end;
  // Of an IPv6 address the bracket ends the name, and no dot stands before it.
  while (nameTo > from && bytes[nameTo - 1]! >= Byte.Zero && bytes[nameTo - 1]! <= Byte.Nine) nameTo--;
  nameTo = nameTo > from && bytes[nameTo - 1] === Byte.Colon ? nameTo - 1 : end;
  if (bytes[nameTo - 1] === Byte.Dot) {
    bytes.copyWithin(nameTo - 1, nameTo, end);
    end--;
  }
  if (end < to) bytes.fill(Byte.Space, end, to);
  return end;
}

/** Whether two authorities name the same host and port, without regard to case; ports are compared as written. */
export function sameAuthority(
  a: Uint8Array,
  aFrom: number,
  aTo: number,
  b: Uint8Array,
  bFrom: number,
  bTo: number,
): boolean {
  if (aTo - aFrom !== bTo - bFrom) return false;
  for (let i = 0; i < aTo - aFrom; i++) {
    if (LOWER[a[aFrom + i]!] !== LOWER[b[bFrom + i]!]) return false;
  }
  return true;
}

/** An empty port is no port (RFC 3986 §3.2.3); one with more digits than any has is made to hide something. */
function judgePort(bytes: Uint8Array, from: number, to: number): Authority {
  if (from === to) return Authority.Unusual;
  if (to - from > MAX_PORT_DIGITS) return Authority.Bad;
  let port = 0;
  for (let at = from; at < to; at++) {
    const digit = bytes[at]! - Byte.Zero;
    if (digit < 0 || digit > 9) return Authority.Bad;
    port = port * 10 + digit;
  }
  return port > MAX_PORT ? Authority.Bad : Authority.Canonical;
}

function textOf(bytes: Uint8Array, from: number, to: number): string {
  return String.fromCharCode(...bytes.subarray(from, to));
}

const MAX_PORT = 65535;
const MAX_PORT_DIGITS = 5;
/** Bits of the bytes of a registered name; 0 is none. */
const enum NameByte {
  Plain = 1,
  Capital = 2,
  Dot = 4,
}
/** RFC 3986 §3.2.2: unreserved and sub-delims. */
const NAME: Uint8Array = table((byte) => {
  if (byte === Byte.Dot) return NameByte.Dot;
  const character = String.fromCharCode(byte);
  if (/[A-Z]/.test(character)) return NameByte.Capital;
  return /[a-z0-9\-_~!$&'()*+,;=]/.test(character) ? NameByte.Plain : 0;
});
