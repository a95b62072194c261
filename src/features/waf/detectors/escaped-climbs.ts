import { Byte, HEX_VALUE, hexPair } from "../../../core/bytes.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { CRITICAL_SCORE, type DetectionListener, type WafRule } from "../rule.ts";

/** Dots and slashes that only a lenient reader takes for some. */
export const ESCAPED_CLIMB: WafRule = {
  id: "LFI-006",
  crs: [930100],
  category: "lfi",
  score: CRITICAL_SCORE,
  description: "path traversal whose dots or slashes are escaped once more, or overlong",
  // Of each spelling of a dot, and of a slash behind a plain one; a digit is any.
  keywords: [
    "%0e%0e",
    "%c0%",
    "%c0.",
    "0x0e0x",
    "%u002e",
    "%uff0e",
    "%%00%",
    "..%0f",
    "..%0c",
    "..%c",
    "..%00",
    "..%u",
    "..%e",
    "..0x0",
  ],
};

/**
 * Finds %c0%ae%c0%ae/, ..%252f, %u002e%u002e%u2215, 0x2e0x2e0x2f: in a value without blanks, two steps up one after the other of which one is
 * spelled so. A step is read in as many ways as lenient readers have.
 */
export function findEscapedClimbs({ bytes, length }: ValueReading, listener: DetectionListener): void {
  if (length > MAX_VALUE) return;
  for (let at = 0; at < length; at++) if (bytes[at]! <= Byte.Space) return;
  let first = 0;
  let steps = 0;
  let isEscaped = false;
  for (let at = 0; at < length; ) {
    const end = stepEnd(bytes, at);
    if (end < 0) {
      steps = 0;
      isEscaped = false;
      at++;
      continue;
    }
    if (steps++ === 0) first = at;
    isEscaped ||= hasEscape;
    if (steps >= MIN_STEPS && isEscaped) return listener.found(ESCAPED_CLIMB, first);
    at = end;
  }
}

/** Offset after two dots and the slashes behind them; -1 if there are none. Whether one of them is escaped is in `hasEscape`. */
function stepEnd(bytes: Uint8Array, from: number): number {
  hasEscape = false;
  const second = read(bytes, from) === Dot ? readTo : -1;
  if (second < 0 || read(bytes, second) !== Dot) return -1;
  let at = readTo;
  if (read(bytes, at) !== Slash) return -1;
  for (let count = 0; count < MAX_SLASHES && read(bytes, at) === Slash; count++) at = readTo;
  return at;
}

/** What one character at `at` may be taken for; `readTo` is after it. */
function read(bytes: Uint8Array, at: number): typeof Dot | typeof Slash | typeof Other {
  const byte = bytes[at]!;
  readTo = at + 1;
  if (byte === Byte.Dot) return Dot;
  if (byte === Byte.Slash || byte === Byte.Backslash) return Slash;
  const kind =
    byte === Byte.Zero
      ? kindOf(hexByte(bytes, at, Byte.LowerX))
      : byte === Byte.Percent
        ? readEscape(bytes, at)
        : Other;
  if (kind !== Other) hasEscape = true;
  return kind;
}

/** An escape: %2e, %252e, %%32%65, %u002e, and overlong sequences, whose last byte need not be one. */
function readEscape(bytes: Uint8Array, at: number): typeof Dot | typeof Slash | typeof Other {
  let from = at;
  while (bytes[from + 1] === TWO && bytes[from + 2] === FIVE && from < at + MAX_SLASHES) from += 2;
  if (bytes[from + 1] === LOWER_U) {
    readTo = from + 6;
    return WIDE[hexPair(bytes, from + 2) * 256 + hexPair(bytes, from + 4)] ?? Other;
  }
  if (bytes[from + 1] === Byte.Percent) {
    const high = hexPair(bytes, from + 2) ^ Byte.Zero;
    const low = hexPair(bytes, from + 5);
    const isPair = bytes[from + 4] === Byte.Percent && high < 16;
    readTo = from + 7;
    return isPair ? kindOf(high * 16 + (HEX_VALUE[low & 0xff]! & 15)) : Other;
  }
  readTo = from + 3;
  const lead = hexPair(bytes, from + 1);
  if (lead < 0xc0) return kindOf(lead);
  let last = from + 3;
  // Continuation bytes without a bit.
  while (bytes[last] === Byte.Percent && hexPair(bytes, last + 1) === 0x80 && last < from + 15) last += 3;
  if (bytes[last] !== Byte.Percent) return Other;
  readTo = last + 3;
  const tail = hexPair(bytes, last + 1);
  // %c0%9v: some readers add up letters that are no digits.
  if (tail < 0) return lead <= 0xc1 ? Slash : Other;
  return kindOf(((lead & 1) << 6) | (tail & 0x3f));
}

/** 0x2e */
function hexByte(bytes: Uint8Array, at: number, mark: number): number {
  if (bytes[at + 1] !== mark) return -1;
  readTo = at + 4;
  return hexPair(bytes, at + 2);
}

function kindOf(character: number): typeof Dot | typeof Slash | typeof Other {
  if (character === Byte.Dot) return Dot;
  return character === Byte.Slash || character === Byte.Backslash ? Slash : Other;
}

const Other = 0;
const Dot = 1;
const Slash = 2;
let readTo = 0;
let hasEscape = false;
/** Full-width forms, and the marks that code pages of Windows make slashes of. */
const WIDE: Readonly<Record<number, typeof Dot | typeof Slash>> = {
  46: Dot,
  65294: Dot,
  47: Slash,
  92: Slash,
  65295: Slash,
  65340: Slash,
  8725: Slash,
  8726: Slash,
  61477: Slash,
  61384: Slash,
};
const MIN_STEPS = 2;
const MAX_SLASHES = 4;
/** Longer values are no paths. */
const MAX_VALUE = 1024;
const TWO = 0x32;
const FIVE = 0x35;
const LOWER_U = 0x75;
