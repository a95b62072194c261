import { Byte, HEX_VALUE, table } from "../../../core/ascii.ts";
import { ByteClass, CLASS_BITS, CLASS_OF } from "./byte-class.ts";
import { isSuspicious, type KeywordFilter } from "./keyword-filter.ts";

const AMPERSAND = 0x26;
const PLUS = 0x2b;

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

/**
 * Whether a name in `bytes[from, to)` is one of letters, digits and single marks, as most are: no rule on names can
 * match it, and its bytes are its characters.
 */
export function isPlainName(bytes: Uint8Array, from: number, to: number): boolean {
  let previous = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (PLAIN[byte] === 0 || (byte === Byte.Underscore && previous === byte)) return false;
    previous = byte;
  }
  return true;
}

const PLAIN: Uint8Array = table((byte) => {
  const lower = byte | 0x20;
  const isLetter = lower >= 0x61 && lower <= 0x7a;
  return isLetter || (byte >= Byte.Zero && byte <= Byte.Nine) || byte === Byte.Dash || byte === Byte.Underscore ? 1 : 0;
});
