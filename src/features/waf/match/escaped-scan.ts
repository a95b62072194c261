import { Byte, byteTable, classOf, EMPTY_BYTES, HEX_VALUE } from "../../../core/bytes.ts";
import { ByteClass, CLASS_BITS, CLASS_COUNT, CLASS_OF, type KeywordAutomaton } from "./keyword-automaton.ts";
import { MIN_PACKED_CHARS, NO_SEXTET, SEXTETS, unpack } from "./packed-text.ts";
import type { StepBudget } from "./step-budget.ts";

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
 * The groups of all keywords in the texts that are packed in `bytes[from, to)`: in each run of base64 that begins after some other
 * character, and whose first bytes are text. Of other text, every few bytes are examined, as such a run is long; what is no text, such
 * as a token or a hash, is given up after a few characters. A run that is a text from many of its places is not unpacked from each:
 * past MAX_UNPACKINGS of its length, all groups are called, and each value is unpacked once.
 * @param steps counts the unpacked data
 */
export function findPackedGroups(
  automaton: KeywordAutomaton,
  bytes: Uint8Array,
  from: number,
  to: number,
  steps: StepBudget,
): number {
  let found = 0;
  let left = MAX_UNPACKINGS * (to - from);
  let end = from;
  for (let at = from; at + MIN_PACKED_CHARS <= to; ) {
    let last = at + MIN_PACKED_CHARS - 1;
    // In packed ASCII, the two characters that are neither letter nor digit are the last of four.
    while (
      last >= at &&
      (IN_RUN[bytes[last]!] === 1 || (((last - at) & 3) === 3 && SEXTETS[bytes[last]!] !== NO_SEXTET))
    ) {
      last--;
    }
    const escaped = last < at ? -1 : escapedStart(bytes, at, last);
    if (last >= at && escaped < 0) {
      at = last + 1;
      continue;
    }
    const isEscaped = escaped >= 0;
    if (isEscaped) at = escaped;
    if (isEscaped || mayBeginText(bytes, at)) {
      if (end <= at) end = packedEnd(bytes, at, to);
      const length = unpackText(bytes, at, end);
      found |= automaton.find(scratch, 0, length);
      left -= length;
      if (!steps.take(2 * length) || left < 0) return ALL_GROUPS;
    }
    at += MIN_PACKED_CHARS;
    while (at < to && IN_RUN[bytes[at]!] === 1) at++;
  }
  return found;
}

/** Whether the first of each four characters at `at` may be that of ASCII: of five tokens, four fail here. */
export function mayBeginText(bytes: Uint8Array, at: number): boolean {
  return (OF_ASCII[bytes[at]!]! & OF_ASCII[bytes[at + 4]!]! & OF_ASCII[bytes[at + 8]!]!) === 1;
}

/** The groups of all keywords in `bytes[from, to)` where it begins with a text in base64; else 0. */
export function packedGroupsAt(automaton: KeywordAutomaton, bytes: Uint8Array, from: number, to: number): number {
  // Unpacked first, since that may make a larger `scratch`.
  const length = unpackText(bytes, from, to);
  return automaton.find(scratch, 0, length);
}

/** Undoes base64 into `scratch`. @returns the length of the text; 0 if the first bytes are none */
function unpackText(bytes: Uint8Array, from: number, to: number): number {
  if (unpack(head, bytes, from, to) !== head.length) return 0;
  if (scratch.length < to - from) scratch = new Uint8Array(2 * (to - from));
  return unpack(scratch, bytes, from, to);
}

/** Offset after the run of base64 that goes on at `from`, its escapes included. */
function packedEnd(bytes: Uint8Array, from: number, to: number): number {
  let end = from;
  while (end < to && ON_WIRE[bytes[end]!] === 1) end++;
  return end;
}

/** Where a string of JSON begins whose letters are escaped up to `last`; -1 if none does. */
function escapedStart(bytes: Uint8Array, from: number, last: number): number {
  if (bytes[last] !== Byte.Backslash || bytes[last + 1] !== LOWER_U) return -1;
  let at = last;
  while (at - ESCAPE_BYTES >= from && bytes[at - ESCAPE_BYTES] === Byte.Backslash) at -= ESCAPE_BYTES;
  return bytes[at - 1] === Byte.Quote ? at : -1;
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
  return byteTable((byte) => roles[String.fromCharCode(byte)] ?? CLASS_OF[byte]!);
}

const ALL_GROUPS = -1;
/** A text can begin at one of four places in a row only, since four characters are three bytes. */
const MAX_UNPACKINGS = 4;
const NO_DIGIT = 255;
const EQUALS_CLASS: number = CLASS_OF[Byte.Equals]!;
const PERCENT_CLASS: number = CLASS_OF[Byte.Percent]!;
/** Bytes that must be text before the rest is unpacked. One token in thousands has so many by chance. */
const HEAD_BYTES = 9;
/** The upper six bits of an ASCII character that is not NUL or the like. */
const OF_ASCII: Uint8Array = byteTable((byte) => (SEXTETS[byte]! >= 2 && SEXTETS[byte]! < 32 ? 1 : 0));
/** What both alphabets have at all places. */
const IN_RUN: Uint8Array = classOf("a-zA-Z0-9");
/** The alphabet, and what begins an escape of it. */
const ON_WIRE: Uint8Array = byteTable((byte) => {
  return SEXTETS[byte] !== NO_SEXTET || byte === Byte.Percent || byte === Byte.Backslash ? 1 : 0;
});
const head: Uint8Array = new Uint8Array(HEAD_BYTES);
let scratch: Uint8Array = EMPTY_BYTES;
const LOWER_U = 0x75;
/** Length of the escape of a letter in JSON. */
const ESCAPE_BYTES = 6;
