import { copyBytes } from "../../core/bytes.ts";
import { DEFAULT_MAX_FRAME_BYTES, FRAME_HEADER_BYTES, FrameType, readUint31 } from "./frame.ts";

/** What `FrameReader.next` came upon. */
export const enum FrameEvent {
  /** All input is consumed. */
  NeedMore = 0,
  /** A whole frame: its payload is `bytes[from, to)`. */
  Frame,
  /** A piece of a DATA frame's payload: `bytes[from, to)`, with `isLast` for its last one. */
  DataPiece,
  /** A frame larger than we take: FRAME_SIZE_ERROR. */
  TooLarge,
}

/**
 * Cuts the input into frames. RFC 9113 §4.1. DATA goes on in pieces as it comes, without a copy; all other frames are
 * handed on whole, from the input where they stand in it whole, and gathered where they are cut.
 */
export class FrameReader {
  type: FrameType = FrameType.Data;
  flags = 0;
  streamId = 0;
  /** Payload length as the header says. */
  length = 0;
  bytes: Uint8Array = NO_BYTES;
  from = 0;
  to = 0;
  isLast = false;
  /** Whether a piece is the first of its frame. */
  isFirst = false;
  private chunk: Uint8Array = NO_BYTES;
  private at = 0;
  private end = 0;
  private stage: Stage = Stage.Header;
  private readonly header: Buffer = Buffer.alloc(FRAME_HEADER_BYTES);
  private gathered: Buffer | null = null;
  private have = 0;

  /** Payload bytes of the current DATA frame that are still to come after the piece. */
  get remaining(): number {
    return this.stage === Stage.Header ? 0 : this.length - this.have;
  }

  /** Takes a chunk; `next` gives its content. The one before must have been used up. */
  feed(chunk: Uint8Array, from: number): void {
    this.chunk = chunk;
    this.at = from;
    this.end = chunk.length;
  }

  /** Whether a frame has begun and is not complete. */
  isWithinFrame(): boolean {
    return this.stage !== Stage.Header || this.have > 0;
  }

  /** Goes on to the next event. */
  next(): FrameEvent {
    if (this.stage === Stage.Header) {
      if (!this.readHeader()) return this.exhausted();
      if (this.length > DEFAULT_MAX_FRAME_BYTES) return FrameEvent.TooLarge;
      this.stage = Stage.Payload;
      this.have = 0;
    }
    return this.type === FrameType.Data ? this.readPiece() : this.readPayload();
  }

  private readHeader(): boolean {
    const available = this.end - this.at;
    if (this.have === 0 && available >= FRAME_HEADER_BYTES) {
      this.parseHeader(this.chunk, this.at);
      this.at += FRAME_HEADER_BYTES;
      return true;
    }
    const taken = Math.min(available, FRAME_HEADER_BYTES - this.have);
    this.have = copyBytes(this.header, this.have, this.chunk, this.at, this.at + taken);
    this.at += taken;
    if (this.have < FRAME_HEADER_BYTES) return false;
    this.parseHeader(this.header, 0);
    return true;
  }

  private parseHeader(bytes: Uint8Array, at: number): void {
    this.length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
    this.type = bytes[at + 3]!;
    this.flags = bytes[at + 4]!;
    this.streamId = readUint31(bytes, at + 5);
  }

  private readPiece(): FrameEvent {
    const left = this.length - this.have;
    const available = Math.min(left, this.end - this.at);
    if (available === 0 && left > 0) return this.exhausted();
    this.isFirst = this.have === 0;
    this.bytes = this.chunk;
    this.from = this.at;
    this.at += available;
    this.to = this.at;
    this.have += available;
    this.isLast = this.have === this.length;
    if (this.isLast) this.endFrame();
    return FrameEvent.DataPiece;
  }

  private readPayload(): FrameEvent {
    const available = this.end - this.at;
    if (this.have === 0 && available >= this.length) {
      this.bytes = this.chunk;
      this.from = this.at;
      this.at += this.length;
      this.to = this.at;
      this.endFrame();
      return FrameEvent.Frame;
    }
    // Without a byte there is nothing to gather in, since the rest may come whole.
    if (available === 0) return this.exhausted();
    this.gathered ??= Buffer.allocUnsafeSlow(this.length);
    const taken = Math.min(available, this.length - this.have);
    this.have = copyBytes(this.gathered, this.have, this.chunk, this.at, this.at + taken);
    this.at += taken;
    if (this.have < this.length) return this.exhausted();
    this.bytes = this.gathered;
    this.from = 0;
    this.to = this.length;
    this.gathered = null;
    this.endFrame();
    return FrameEvent.Frame;
  }

  private endFrame(): void {
    this.stage = Stage.Header;
    this.have = 0;
  }

  private exhausted(): FrameEvent {
    this.chunk = NO_BYTES;
    this.bytes = NO_BYTES;
    return FrameEvent.NeedMore;
  }
}

const enum Stage {
  Header = 0,
  Payload,
}

const NO_BYTES: Uint8Array = new Uint8Array(0);
