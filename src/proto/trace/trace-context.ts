import { latin1 } from "../../core/bytes.ts";
import { trimmed } from "../../core/trimming.ts";

/** Characters of a `traceparent` of version 00. */
const LENGTH = 55;
const TRACE_FROM = 3;
const PARENT_FROM = 36;
const FLAGS_FROM = 53;
const DASH = 0x2d;
const ZERO = 0x30;
const DIGIT_BYTES: Uint8Array = latin1("0123456789abcdef");
/** The flag that the spans of the trace are recorded. W3C Trace Context 2, "Sampled Flag" */
const SAMPLED = 0x01;
/** The flag that at least the last seven bytes of the trace's id are random. Likewise, "Random Trace ID Flag" */
export const RANDOM = 0x02;

/**
 * Reads the value of a `traceparent` (W3C Trace Context 2, "traceparent Header"): versions above 00 by what they share with it.
 * @param bytes the value is `bytes[from, to)`
 * @param traceId gets 16 bytes
 * @param parentId gets 8 bytes
 * @returns its flags, of which only the two that are known are kept; -1 if it is not valid, and the ids are then of no use
 */
export function readTraceparent(
  bytes: Uint8Array,
  from: number,
  to: number,
  traceId: Uint8Array,
  parentId: Uint8Array,
): number {
  const length = to - from;
  if (length < LENGTH) return -1;
  const version = hexByte(bytes, from);
  if (version < 0 || version === 0xff) return -1;
  if (version === 0 ? length !== LENGTH : length > LENGTH && bytes[from + LENGTH] !== DASH) return -1;
  for (const at of [TRACE_FROM, PARENT_FROM, FLAGS_FROM]) if (bytes[from + at - 1] !== DASH) return -1;
  if (!readId(bytes, from + TRACE_FROM, traceId) || !readId(bytes, from + PARENT_FROM, parentId)) return -1;
  const flags = hexByte(bytes, from + FLAGS_FROM);
  return flags < 0 ? -1 : flags & (SAMPLED | RANDOM);
}

/** Whether these flags ask for the spans to be recorded. */
export function isSampled(flags: number): boolean {
  return (flags & SAMPLED) !== 0;
}

/** These flags with the recording switched on or off. */
export function withSampled(flags: number, sampled: boolean): number {
  return sampled ? flags | SAMPLED : flags & ~SAMPLED;
}

/**
 * Writes the value of a `traceparent` of version 00, 55 bytes.
 * @returns the offset after it
 */
export function writeTraceparent(
  out: Uint8Array,
  start: number,
  traceId: Uint8Array,
  spanId: Uint8Array,
  flags: number,
): number {
  out[start] = ZERO;
  out[start + 1] = ZERO;
  out[start + 2] = DASH;
  let at = writeHex(out, start + TRACE_FROM, traceId);
  out[at] = DASH;
  at = writeHex(out, at + 1, spanId);
  out[at] = DASH;
  out[at + 1] = ZERO;
  out[at + 2] = ZERO + flags;
  return at + 3;
}

function writeHex(out: Uint8Array, start: number, bytes: Uint8Array): number {
  let at = start;
  for (let i = 0; i < bytes.length; i++) {
    out[at++] = DIGIT_BYTES[bytes[i]! >>> 4]!;
    out[at++] = DIGIT_BYTES[bytes[i]! & 15]!;
  }
  return at;
}

/** Bytes as lower-case hexadecimal digits. */
export function hexOf(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += HEX[bytes[i]!]!;
  return text;
}

/**
 * Whether the value of a `tracestate`, or several joined with commas, can be passed on (W3C Trace Context 2, "tracestate Header"):
 * at most 32 members `key=value`. A key that is repeated goes on as it came: to join the members of several vendors is theirs.
 */
export function isTracestate(value: string): boolean {
  if (value.length > MAX_STATE_CHARS) return false;
  let members = 0;
  for (const part of value.split(",")) {
    const member = trimmed(part, " \t");
    if (member === "") continue;
    if (!MEMBER.test(member)) return false;
    members++;
  }
  return members <= MAX_STATE_MEMBERS;
}

/** False if it is not of hexadecimal digits in lower case, or all zeros. */
function readId(bytes: Uint8Array, from: number, out: Uint8Array): boolean {
  let any = 0;
  for (let i = 0; i < out.length; i++) {
    const byte = hexByte(bytes, from + i * 2);
    if (byte < 0) return false;
    out[i] = byte;
    any |= byte;
  }
  return any !== 0;
}

/** The byte of two hexadecimal digits in lower case; -1 if they are none. */
function hexByte(bytes: Uint8Array, at: number): number {
  const high = DIGITS[bytes[at]!]!;
  const low = DIGITS[bytes[at + 1]!]!;
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const DIGITS: Int8Array = Int8Array.from({ length: 256 }, (_, byte) =>
  "0123456789abcdef".indexOf(String.fromCharCode(byte)),
);

/** A key of one vendor, or of a tenant of one; a value of printable characters without comma and equals sign. */
const MEMBER = /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const MAX_STATE_MEMBERS = 32;
/** Members of the longest keys and values, three of them; those who keep state are asked to make do with 512 characters in all. */
const MAX_STATE_CHARS = 2048;
