import { byteTable } from "../../core/bytes.ts";

/** The flag of the frame that holds the trailers. gRPC-Web, "Protocol differences vs gRPC over HTTP2". */
const TRAILERS_FLAG = 0x80;
const PREFIX_BYTES = 5;

/** Trailers as the last frame of a response: lines as in HTTP/1.1, names in lower case. @param fields one character a byte */
export function trailersFrame(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const lines = fields.map(([name, value]) => `${name.toLowerCase()}: ${value}\r\n`).join("");
  const frame = Buffer.allocUnsafe(PREFIX_BYTES + lines.length);
  frame[0] = TRAILERS_FLAG;
  frame.writeUInt32BE(lines.length, 1);
  frame.latin1Write(lines, PREFIX_BYTES);
  return frame;
}

/**
 * The bytes of a body of `application/grpc-web-text`: texts in base64, each padded where its client has flushed. RFC 4648 §4.
 * @returns null if it is none
 */
export function decodeText(text: Uint8Array): Buffer | null {
  if (text.length % 4 !== 0) return null;
  const out = Buffer.allocUnsafe((text.length / 4) * 3);
  let length = 0;
  for (let at = 0; at < text.length; at += 4) {
    const padding = text[at + 3] !== EQUALS ? 0 : text[at + 2] !== EQUALS ? 1 : 2;
    let bits = 0;
    for (let i = 0; i < 4; i++) {
      const value = i < 4 - padding ? VALUES[text[at + i]!]! : 0;
      if (value === NO_VALUE) return null;
      bits = (bits << 6) | value;
    }
    out[length] = bits >>> 16;
    out[length + 1] = bits >>> 8;
    out[length + 2] = bits;
    length += 3 - padding;
  }
  return out.subarray(0, length);
}

const EQUALS = 0x3d;
const NO_VALUE = 64;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** The six bits of each character; NO_VALUE for what is none of the alphabet. */
const VALUES: Uint8Array = byteTable((byte) => {
  const value = ALPHABET.indexOf(String.fromCharCode(byte));
  return value < 0 ? NO_VALUE : value;
});

/** Tells where messages end in a stream of them, without keeping any. */
export class FrameWalk {
  private prefixLength = 0;
  /** Bytes of the current message that are still to come, as far as its prefix has said. */
  private left = 0;

  /** Whether nothing of a further message has come. */
  get isBetweenMessages(): boolean {
    return this.prefixLength === 0;
  }

  pass(bytes: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; ) {
      if (this.prefixLength < PREFIX_BYTES) {
        // The length comes after the flag.
        this.left = this.prefixLength === 0 ? 0 : this.left * 256 + bytes[at]!;
        this.prefixLength++;
        at++;
      } else {
        const length = Math.min(this.left, to - at);
        this.left -= length;
        at += length;
      }
      if (this.prefixLength === PREFIX_BYTES && this.left === 0) this.prefixLength = 0;
    }
  }
}
