import { Byte, classOf, HEX_VALUE, table } from "../../../core/bytes.ts";
import { ByteClass, CLASS_BITS, CLASS_COUNT, CLASS_OF, type KeywordAutomaton } from "./keyword-automaton.ts";

/** What a byte is that is not simply part of a value; above all classes, so that one table tells both. */
export const enum Role {
  /** It begins an escape. */
  Escape = 64,
  /** It stands for a space. */
  Plus,
  /** It ends a value, and the next part begins. */
  Separator,
  /** It ends a name, once a part. */
  Assign,
}

/** a=1&b=2, as in queries and forms: the class of each byte, or its role. */
export const PAIR_BYTES: Uint8Array = bytesWith({
  "%": Role.Escape,
  "+": Role.Plus,
  "&": Role.Separator,
  "=": Role.Assign,
});
/** A URL with its query: /a/b?c=1&d=2. */
export const URL_BYTES: Uint8Array = bytesWith({
  "%": Role.Escape,
  "+": Role.Plus,
  "?": Role.Separator,
  "&": Role.Separator,
  "=": Role.Assign,
});
/** a=1; b=2 */
export const COOKIE_BYTES: Uint8Array = bytesWith({ "%": Role.Escape, ";": Role.Separator, "=": Role.Assign });
/** One value, whatever is in it. */
export const VALUE_BYTES: Uint8Array = bytesWith({ "%": Role.Escape });

/**
 * The groups of all keywords in the values in `bytes[from, to)`, escapes undone once. This is all that a benign
 * request costs: one pass, no call, nothing allocated.
 * @param kinds one of the tables above
 */
export function findGroups(
  automaton: KeywordAutomaton,
  kinds: Uint8Array,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  const { next, bits, start } = automaton;
  let state = start;
  let found = 0;
  let isAssigned = false;
  for (let at = from; at < to; at++) {
    let one = kinds[bytes[at]!]!;
    if (one >= CLASS_COUNT) {
      if (one >= Role.Separator) {
        if (one === Role.Separator || !isAssigned) {
          isAssigned = one === Role.Assign;
          state = start;
          continue;
        }
        one = EQUALS_CLASS;
      } else if (one === Role.Plus) one = ByteClass.Space;
      else {
        const high = at + 2 < to ? HEX_VALUE[bytes[at + 1]!]! : NO_DIGIT;
        const low = high === NO_DIGIT ? NO_DIGIT : HEX_VALUE[bytes[at + 2]!]!;
        if (low === NO_DIGIT) one = PERCENT_CLASS;
        else {
          one = CLASS_OF[high * 16 + low]!;
          at += 2;
        }
      }
    }
    state = next[(state << CLASS_BITS) | one]!;
    found |= bits[state]!;
  }
  return found;
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

const PLAIN: Uint8Array = classOf("a-zA-Z0-9-_");

function bytesWith(roles: Readonly<Record<string, Role>>): Uint8Array {
  return table((byte) => roles[String.fromCharCode(byte)] ?? CLASS_OF[byte]!);
}

const NO_DIGIT = 255;
const EQUALS_CLASS: number = CLASS_OF[Byte.Equals]!;
const PERCENT_CLASS: number = CLASS_OF[Byte.Percent]!;
