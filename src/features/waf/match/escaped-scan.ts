import { Byte, HEX_VALUE, table } from "../../../core/ascii.ts";
import { ByteClass, CLASS_BITS, CLASS_OF } from "./byte-class.ts";
import { isSuspicious, type KeywordFilter } from "./keyword-filter.ts";

/** What a byte does between values. */
export const enum Role {
  /** It is part of a value. */
  None = 0,
  /** It begins an escape. */
  Escape,
  /** It stands for a space. */
  Plus,
  /** It ends a value, and the next part begins. */
  Separator,
  /** It ends a name, once a part. */
  Assign,
}

/** a=1&b=2, as in queries and forms. */
export const PAIR_ROLES: Uint8Array = table((byte) => {
  if (byte === Byte.Percent) return Role.Escape;
  if (byte === PLUS) return Role.Plus;
  if (byte === AMPERSAND) return Role.Separator;
  return byte === Byte.Equals ? Role.Assign : Role.None;
});

/** A URL with its query: /a/b?c=1&d=2. */
export const URL_ROLES: Uint8Array = table((byte) => (byte === Byte.Question ? Role.Separator : PAIR_ROLES[byte]!));

/** a=1; b=2 */
export const COOKIE_ROLES: Uint8Array = table((byte) => {
  if (byte === Byte.Semicolon) return Role.Separator;
  if (byte === Byte.Percent) return Role.Escape;
  return byte === Byte.Equals ? Role.Assign : Role.None;
});

/** One value, whatever is in it. */
export const VALUE_ROLES: Uint8Array = table((byte) => (byte === Byte.Percent ? Role.Escape : Role.None));

/**
 * Whether a keyword of the filter may be in one of the values in `bytes[from, to)`, escapes undone once. This is all
 * that a benign request costs: one pass, no call, nothing allocated.
 */
export function mayHoldKeyword(
  filter: KeywordFilter,
  roles: Uint8Array,
  bytes: Uint8Array,
  from: number,
  to: number,
): boolean {
  const { masks, start } = filter;
  let state = start;
  let all = -1;
  let previous: number = ByteClass.Boundary;
  let isAssigned = false;
  for (let at = from; at < to; at++) {
    let byte = bytes[at]!;
    const role = roles[byte]!;
    if (role !== Role.None) {
      if (role === Role.Escape) {
        if (at + 2 < to) {
          const high = HEX_VALUE[bytes[at + 1]!]!;
          const low = HEX_VALUE[bytes[at + 2]!]!;
          if ((high | low) < 16) {
            byte = high * 16 + low;
            at += 2;
          }
        }
      } else if (role === Role.Plus) byte = Byte.Space;
      else if (role === Role.Separator || !isAssigned) {
        isAssigned = role === Role.Assign;
        state = start;
        previous = ByteClass.Boundary;
        continue;
      }
    }
    const one = CLASS_OF[byte]!;
    state = (state << 8) | masks[(previous << CLASS_BITS) | one]!;
    all &= state;
    previous = one;
  }
  return isSuspicious(all);
}

/** Whether nothing but letters, digits and marks that no attack is made of stands in `bytes[from, to)`. */
export function isPlain(bytes: Uint8Array, from: number, to: number): boolean {
  let all = 1;
  for (let at = from; at < to; at++) all &= PLAIN[bytes[at]!]!;
  return all === 1;
}

const AMPERSAND = 0x26;
const PLUS = 0x2b;
/** Letters, digits, - _ ~ and what separates pairs. A dot is not: names of files and hosts need no more. */
const PLAIN: Uint8Array = table((byte) => {
  const lower = byte | 0x20;
  const isLetter = lower >= 0x61 && lower <= 0x7a;
  const isDigit = byte >= Byte.Zero && byte <= Byte.Nine;
  const isMark = byte === Byte.Dash || byte === Byte.Underscore || byte === TILDE;
  return isLetter || isDigit || isMark || byte === Byte.Equals || byte === AMPERSAND ? 1 : 0;
});
const TILDE = 0x7e;
