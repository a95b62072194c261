import { copyBytes } from "../../core/bytes.ts";
import { CloseCode, MAX_CONTROL_BYTES, Opcode } from "./frames.ts";

/** What a reader has found. */
export const enum FrameFound {
  /** Nothing whole: more bytes are wanted. */
  Nothing = 0,
  /** A message of text is in `payload`. */
  Text,
  /** A question whether we are there, whose payload is in `payload`. */
  Ping,
  /** The client closes, with the code in `code`. */
  Close,
  /** The client breaks the protocol, or a bound: `code` says how the connection is closed. */
  Fault,
  /** A message of bytes is in `payload`, where such are taken. */
  Binary,
}

/** 2 bytes, 8 of length, 4 of mask. */
const MAX_HEAD_BYTES = 14;
const MIN_ROOM = 1024;

/** Cuts what a client sends after a WebSocket handshake into messages. RFC 6455 §5. It holds one message at most. */
export class WebSocketFrameReader {
  payload: Uint8Array = NOTHING;
  code: CloseCode | number = CloseCode.None;
  private readonly maxBytes: number;
  private bytes: Uint8Array = NOTHING;
  private at = 0;
  private to = 0;
  private readonly head: Buffer = Buffer.allocUnsafe(MAX_HEAD_BYTES);
  private headLength = 0;
  /** Payload bytes of the current frame; -1 while its head is not whole. */
  private length = -1;
  private filled = 0;
  private readonly control: Buffer = Buffer.allocUnsafe(MAX_CONTROL_BYTES);
  /** The received part of a message, in `[0, messageLength)`. */
  private message: Buffer = NOTHING;
  private messageLength = 0;
  private isInMessage = false;
  private isBinary = false;
  private readonly takesBinary: boolean;

  /**
   * @param maxBytes of one message
   * @param takesBinary whether messages may be bytes, and not text alone
   */
  constructor(maxBytes: number, takesBinary = false) {
    this.maxBytes = maxBytes;
    this.takesBinary = takesBinary;
  }

  /** Whether all that has come has been read. */
  get isEmpty(): boolean {
    return this.at === this.to;
  }

  /** Takes a piece, whose bytes stay unchanged until all of it has been read: the one before it has been. */
  push(bytes: Uint8Array, from: number, to: number): void {
    this.bytes = bytes;
    this.at = from;
    this.to = to;
  }

  /** Reads on, to the end of a message, of a frame of control, or of the received data. After Close and Fault nothing is read. */
  next(): FrameFound {
    while (this.at < this.to || this.length === this.filled) {
      if (this.length < 0 && !this.readHead()) {
        if (this.code !== CloseCode.None) return FrameFound.Fault;
        break;
      }
      if (!this.takePayload()) break;
      const found = this.endFrame();
      if (found !== FrameFound.Nothing) return found;
    }
    if (this.isEmpty) this.bytes = NOTHING;
    return FrameFound.Nothing;
  }

  /** @returns false if the head is not whole, or wrong: then `code` says how */
  private readHead(): boolean {
    while (this.headLength < this.headBytes()) {
      if (this.at === this.to) return false;
      this.head[this.headLength++] = this.bytes[this.at++]!;
    }
    this.code = this.headFault();
    if (this.code !== CloseCode.None) return false;
    this.length = this.declaredLength();
    this.filled = 0;
    return true;
  }

  /** How many bytes the head has, as far as it has come. */
  private headBytes(): number {
    if (this.headLength < 2) return 2;
    const short = this.head[1]! & 0x7f;
    return 2 + (short === 127 ? 8 : short === 126 ? 2 : 0) + ((this.head[1]! & MASKED) === 0 ? 0 : 4);
  }

  private declaredLength(): number {
    const short = this.head[1]! & 0x7f;
    if (short < 126) return short;
    if (short === 126) return this.head.readUInt16BE(2);
    // What is that long is refused whatever it is.
    return this.head.readUInt32BE(2) > 0 ? Number.POSITIVE_INFINITY : this.head.readUInt32BE(6);
  }

  private headFault(): CloseCode {
    const first = this.head[0]!;
    const opcode = first & 0x0f;
    const isMasked = (this.head[1]! & MASKED) !== 0;
    const length = this.declaredLength();
    if (!isMasked || (first & RESERVED) !== 0) return CloseCode.ProtocolError;
    if (opcode >= Opcode.Close) {
      const isKnown = opcode <= Opcode.Pong;
      return isKnown && (first & FIN) !== 0 && length <= MAX_CONTROL_BYTES ? CloseCode.None : CloseCode.ProtocolError;
    }
    if (opcode > Opcode.Binary || (opcode === Opcode.Continuation) !== this.isInMessage) return CloseCode.ProtocolError;
    if (opcode === Opcode.Binary && !this.takesBinary) return CloseCode.Unsupported;
    return this.messageLength + length > this.maxBytes ? CloseCode.TooBig : CloseCode.None;
  }

  /** Takes what has come of the frame, unmasked. @returns whether that is all of it */
  private takePayload(): boolean {
    const length = Math.min(this.length - this.filled, this.to - this.at);
    const isControl = this.isControl;
    // Room grows with the received data: a length that is only claimed costs nothing.
    if (!isControl) this.growTo(this.messageLength + length);
    const target = isControl ? this.control : this.message;
    const targetAt = isControl ? this.filled : this.messageLength;
    const { head, headLength, filled, bytes, at } = this;
    const mask = headLength - 4;
    for (let i = 0; i < length; i++) target[targetAt + i] = bytes[at + i]! ^ head[mask + ((filled + i) & 3)]!;
    this.at += length;
    this.filled += length;
    if (!isControl) this.messageLength += length;
    return this.filled === this.length;
  }

  private get isControl(): boolean {
    return (this.head[0]! & 0x08) !== 0;
  }

  private growTo(need: number): void {
    if (need <= this.message.length) return;
    const room = Math.max(need, MIN_ROOM, Math.min(this.maxBytes, this.messageLength * 2));
    const larger = Buffer.allocUnsafe(room);
    copyBytes(larger, 0, this.message, 0, this.messageLength);
    this.message = larger;
  }

  private endFrame(): FrameFound {
    const opcode = this.head[0]! & 0x0f;
    const isLast = (this.head[0]! & FIN) !== 0;
    this.headLength = 0;
    const { length } = this;
    this.length = -1;
    if (opcode === Opcode.Close) return this.endClose(length);
    if (opcode === Opcode.Ping) {
      this.payload = Buffer.from(this.control.subarray(0, length));
      return FrameFound.Ping;
    }
    if (opcode === Opcode.Pong) return FrameFound.Nothing;
    this.isInMessage = !isLast;
    if (opcode !== Opcode.Continuation) this.isBinary = opcode === Opcode.Binary;
    if (!isLast) return FrameFound.Nothing;
    this.payload = this.message.subarray(0, this.messageLength);
    this.message = NOTHING;
    this.messageLength = 0;
    return this.isBinary ? FrameFound.Binary : FrameFound.Text;
  }

  /** RFC 6455 §5.5.1: a code of two bytes, or nothing. */
  private endClose(length: number): FrameFound {
    const code = length >= 2 ? this.control.readUInt16BE(0) : 0;
    const isKnown =
      (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code < 5000);
    if (length > 0 && !isKnown) {
      this.code = CloseCode.ProtocolError;
      return FrameFound.Fault;
    }
    this.code = length === 0 ? CloseCode.None : code;
    return FrameFound.Close;
  }
}

const FIN = 0x80;
const RESERVED = 0x70;
const MASKED = 0x80;
const NOTHING: Buffer = Buffer.alloc(0);
