import { Byte, byteTable } from "../../../core/bytes.ts";
import { inflate, Packing } from "./content-codings.ts";

/** The messages in the beginning of a body of gRPC or of a stream of Connect. */
interface Messages {
  /** Of each its content, inflated where it is compressed; the last may be cut off. */
  readonly contents: readonly Uint8Array[];
  /** Whether the body consists of messages. */
  readonly isFramed: boolean;
  /** Whether the last message ends with the body, or before it. */
  readonly isLastWhole: boolean;
}

/**
 * Takes the messages out of `bytes[from, to)`. gRPC over HTTP/2, "Length-Prefixed-Message".
 * @param mayUnpack is asked before each message is inflated, and told whether its first bytes say how
 */
export function messagesOf(
  bytes: Uint8Array,
  from: number,
  to: number,
  mayUnpack: (isMarked: boolean) => boolean,
): Messages {
  const contents: Uint8Array[] = [];
  let left = to - from;
  let isLastWhole = true;
  for (let at = from; at < to; ) {
    const flags = bytes[at]!;
    if ((flags & ~KNOWN_FLAGS) !== 0) return { contents, isFramed: false, isLastWhole: false };
    if (at + HEAD_BYTES >= to) return { contents, isFramed: true, isLastWhole: at + HEAD_BYTES === to };
    const whole = messageEnd(bytes, at);
    isLastWhole = whole <= to;
    const end = Math.min(to, whole);
    const content = bytes.subarray(at + HEAD_BYTES, end);
    const isPacked = (flags & COMPRESSED) !== 0 && content.length > 0 && mayUnpack(markOf(content) !== null);
    const inflated = isPacked ? unpacked(content, left) : NOTHING;
    left -= inflated.length;
    if (content.length > 0) contents.push(content);
    if (inflated.length > 0) contents.push(inflated);
    at = end;
  }
  return { contents, isFramed: true, isLastWhole };
}

/**
 * Where the last whole message ends in `bytes[from, to)`.
 * @returns `from` if none is whole; -1 where these are no messages
 */
export function wholeMessagesEnd(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && (bytes[at]! & ~KNOWN_FLAGS) === 0 && at + HEAD_BYTES <= to) {
    const end = messageEnd(bytes, at);
    if (end > to) return at;
    at = end;
  }
  return at < to && (bytes[at]! & ~KNOWN_FLAGS) !== 0 ? -1 : at;
}

function messageEnd(bytes: Uint8Array, at: number): number {
  const high = bytes[at + 1]! * 0x1000000;
  return at + HEAD_BYTES + high + (bytes[at + 2]! << 16) + (bytes[at + 3]! << 8) + bytes[at + 4]!;
}

/** The coding is what the bytes say, whatever grpc-encoding does. */
function unpacked(content: Uint8Array, maxBytes: number): Uint8Array {
  if (maxBytes <= 0) return NOTHING;
  const mark = markOf(content);
  if (mark !== null) return inflate(mark, content, maxBytes).bytes;
  const { bytes } = inflate(Packing.Deflate, content, maxBytes);
  return bytes.length > 0 ? bytes : inflate(Packing.Brotli, content, maxBytes).bytes;
}

function markOf(content: Uint8Array): Packing | null {
  if (content[0] === 0x1f && content[1] === 0x8b) return Packing.Gzip;
  return content[0] === 0x28 && content[1] === 0xb5 ? Packing.Zstd : null;
}

/** The bytes that a body of application/grpc-web-text stands for: texts of base64, each of which may end with its padding. */
export function base64Content(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const out = Buffer.allocUnsafe(to - from);
  let length = 0;
  let bits = 0;
  let count = 0;
  for (let at = from; at < to; at++) {
    const digit = DIGIT[bytes[at]!]!;
    if (bytes[at] === Byte.Equals) count = 0;
    if (digit === NO_DIGIT) continue;
    bits = ((bits << 6) | digit) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out[length++] = (bits >> count) & 0xff;
  }
  return out.subarray(0, length);
}

const NO_DIGIT = 255;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** The values of base64's characters, and of those that stand for the last two in URLs. RFC 4648 §4, §5. */
const DIGIT: Uint8Array = byteTable((byte) => {
  const char = byte === Byte.Dash ? "+" : byte === Byte.Underscore ? "/" : String.fromCharCode(byte);
  return DIGITS.includes(char) ? DIGITS.indexOf(char) : NO_DIGIT;
});
const NOTHING: Uint8Array = new Uint8Array(0);
const HEAD_BYTES = 5;
const COMPRESSED = 1;
/** Compressed; the end of a stream of Connect; trailers of gRPC-Web. */
const KNOWN_FLAGS = 0x83;
