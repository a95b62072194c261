import { type ClientHello, readClientHello } from "./client-hello.ts";

/** Bytes of the records that hold it. Some clients cut it into many, and each has a header of five bytes. */
export const MAX_CLIENT_HELLO_WIRE_BYTES = 32768;

/** Bytes of a ClientHello; real ones have 200 to 2,000. OpenSSL takes 131 KiB, BoringSSL 16 KiB. */
const MAX_CLIENT_HELLO_BYTES = 16384;

/** What the bytes so far come to. */
export const enum HelloOutcome {
  NeedMore = 0,
  /** The message is complete: see `hello`. */
  Complete,
  /** The first byte is none of a TLS handshake. */
  NotTls,
  /** Another record or message than those of a ClientHello: RFC 8446 §5 and §6.2 answer `unexpected_message`. */
  Unexpected,
  /** It begins like TLS, and is none, or breaks the format of a ClientHello. */
  Malformed,
  /** More bytes than any client needs. */
  TooLarge,
}

/**
 *   Header ──5 bytes──▶ Fragment ──record complete──▶ Header
 *                          └──message complete──▶ (read)
 */
const enum Stage {
  Header = 0,
  Fragment,
}

/**
 * Reads a client's first TLS message, which may be cut into records and pieces as one likes, so that the certificate can be
 * chosen before the TLS library sees a byte. RFC 8446 §4.1.2 and §5.1; TLS 1.2 and older begin the same way.
 * At most MAX_CLIENT_HELLO_BYTES are kept, and nothing is read twice before the message is complete.
 */
export class ClientHelloParser {
  /** What the message says; null until it is complete. */
  hello: ClientHello | null = null;
  private stage: Stage = Stage.Header;
  private readonly header: Uint8Array = new Uint8Array(RECORD_HEADER_BYTES);
  private headerLength = 0;
  private hasRecord = false;
  /** Bytes of all records so far, those of the current one that are still to come included. */
  private wireBytes = 0;
  /** Bytes of the current record that are still to come. */
  private fragmentLeft = 0;
  private message: Uint8Array = new Uint8Array(MESSAGE_HEADER_BYTES);
  private messageLength = 0;
  /** Bytes of the whole message: at first of its own header alone. */
  private wanted = MESSAGE_HEADER_BYTES;

  /** Takes the next piece, `bytes[from, to)`. Not to be called again after anything but NeedMore. */
  push(bytes: Uint8Array, from: number, to: number): HelloOutcome {
    let at = from;
    while (at < to) {
      if (this.stage === Stage.Header) {
        this.header[this.headerLength++] = bytes[at++]!;
        const outcome = this.stepHeader();
        if (outcome !== HelloOutcome.NeedMore) return outcome;
        continue;
      }
      const length = Math.min(to - at, this.fragmentLeft, this.wanted - this.messageLength);
      this.message.set(bytes.subarray(at, at + length), this.messageLength);
      this.messageLength += length;
      this.fragmentLeft -= length;
      at += length;
      if (this.messageLength === this.wanted) {
        const outcome = this.stepMessage();
        if (outcome !== HelloOutcome.NeedMore) return outcome;
      }
      if (this.fragmentLeft === 0) this.stage = Stage.Header;
    }
    return HelloOutcome.NeedMore;
  }

  /** Looks at the byte of a record's header that came last. RFC 8446 §5.1. */
  private stepHeader(): HelloOutcome {
    const { header } = this;
    if (this.headerLength === 1 && header[0] !== HANDSHAKE_RECORD) {
      return this.hasRecord ? HelloOutcome.Unexpected : HelloOutcome.NotTls;
    }
    if (this.headerLength === 2 && header[1] !== MAJOR_VERSION) return HelloOutcome.Malformed;
    if (this.headerLength < RECORD_HEADER_BYTES) return HelloOutcome.NeedMore;
    const length = (header[3]! << 8) | header[4]!;
    // RFC 8446 §5.1: no empty fragments of handshake messages, and none above 2^14 bytes.
    if (length === 0 || length > MAX_FRAGMENT_BYTES) return HelloOutcome.Malformed;
    this.hasRecord = true;
    this.wireBytes += RECORD_HEADER_BYTES + length;
    if (this.wireBytes > MAX_CLIENT_HELLO_WIRE_BYTES) return HelloOutcome.TooLarge;
    this.headerLength = 0;
    this.fragmentLeft = length;
    this.stage = Stage.Fragment;
    return HelloOutcome.NeedMore;
  }

  /** The whole message, with its header; there once it is complete. */
  get bytes(): Uint8Array {
    return this.message;
  }

  /** The message's header is complete, or the message is. RFC 8446 §4. */
  private stepMessage(): HelloOutcome {
    const { message } = this;
    if (this.wanted > MESSAGE_HEADER_BYTES) {
      this.hello = readClientHello(message, MESSAGE_HEADER_BYTES, this.wanted);
      return this.hello === null ? HelloOutcome.Malformed : HelloOutcome.Complete;
    }
    if (message[0] !== CLIENT_HELLO) return HelloOutcome.Unexpected;
    const length = (message[1]! << 16) | (message[2]! << 8) | message[3]!;
    if (length > MAX_CLIENT_HELLO_BYTES) return HelloOutcome.TooLarge;
    if (length === 0) return HelloOutcome.Malformed;
    this.wanted += length;
    this.message = new Uint8Array(this.wanted);
    this.message.set(message);
    return HelloOutcome.NeedMore;
  }
}

const RECORD_HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;
const MAX_FRAGMENT_BYTES = 16384;
/** ContentType and the first byte of the version, which has been 3 since SSL 3.0. */
const HANDSHAKE_RECORD = 22;
const MAJOR_VERSION = 3;
const CLIENT_HELLO = 1;
