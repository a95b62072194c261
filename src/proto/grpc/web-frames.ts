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
 * @returns null where it is none
 */
export function decodeText(text: Uint8Array): Buffer | null {
  const characters = Buffer.from(text.buffer, text.byteOffset, text.length).latin1Slice();
  if (!TEXTS.test(characters)) return null;
  const parts = characters.match(/[^=]+={0,2}/g) ?? [];
  if (parts.some((part) => part.length % 4 !== 0)) return null;
  return Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
}

const TEXTS = /^(?:[A-Za-z0-9+/]+={0,2})*$/;

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
        // The length is what comes after the flag.
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
