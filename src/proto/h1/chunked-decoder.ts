import { Byte, HEX_VALUE, isOws, offsetBehind } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { isFramingTrailer, type TrailerRule } from "./trailer-names.ts";
import { TrailerSection } from "./trailer-section.ts";

/** What no body can have: a chunk that is said to be so long is malformed (`ffffffffffffffff`), and could only be cut. */
export const MAX_CHUNKED_BYTES = Number.MAX_SAFE_INTEGER;
/** Significant hexadecimal digits of a chunk size; more is above the unsigned 64-bit range. */
const MAX_CHUNK_SIZE_DIGITS = 16;
/** Bytes of a chunk-size line up to its extension, leading zeros counted. */
const MAX_CHUNK_SIZE_CHARS = 64;
/** Bytes of the extensions on one chunk line. docs/bodies.md#chunk-syntax */
const MAX_CHUNK_EXTENSION_BYTES = 256;
/** Chunks of up to so many bytes are joined: copying one costs less than a piece of its own does. */
const MAX_JOINED_BYTES = 1024;

/**
 * docs/bodies.md#the-reader
 *
 *   ChunkSize ──size > 0, CRLF──▶ ChunkData ──all read──▶ ChunkCrlf ──CRLF──▶ ChunkSize
 *       └──────size 0, CRLF──▶ TrailerSection ──empty line──▶ Done
 */
export const enum ChunkState {
  ChunkSize = 0,
  ChunkData,
  ChunkCrlf,
  TrailerSection,
  Done,
}

/** What a call of the decoder came to. */
export const enum ChunkEvent {
  /** All input is consumed. */
  NeedMore = 0,
  /** `dataFrom` to `dataTo` are body bytes. */
  Data,
  /** The body and its trailers are complete; input after `consumed` belongs to the next message. */
  Done,
  /** `fault` says why; nothing more can be read. */
  Failed,
}

/** Where the reader is within a chunk-size line. */
const enum SizeStage {
  Digits = 0,
  Extension,
  LineFeed,
}

/** Decodes a chunked body piece by piece, without copying. RFC 9112 §7.1, docs/bodies.md#chunk-syntax */
export class ChunkedDecoder {
  state: ChunkState = ChunkState.ChunkSize;
  fault: Fault = Fault.None;
  /** After Data: the body bytes within the input. */
  dataFrom = 0;
  dataTo = 0;
  /** Offset after the last byte that the last call took. */
  consumed = 0;
  /** Decoded bytes announced so far. */
  total = 0;
  readonly trailers: TrailerSection;
  private maxBodyBytes = 0;
  private remaining = 0;
  private sizeStage: SizeStage = SizeStage.Digits;
  private sizeChars = 0;
  private sizeDigits = 0;
  private extensionBytes = 0;
  private sawCr = false;
  private sawSpace = false;
  private readonly allowsSpace: boolean;
  private readonly onBareLf: (() => void) | null;

  /**
   * @param isForbidden which names are refused in trailers: in a response those that frame it, in a request more
   * @param allowsSpace whether white space may follow a size, as some origins pad it (RFC 9112 §7.1.1, BWS)
   * @param onBareLf is notified of each line without an extension, and of chunk data, that ends with LF alone; null refuses them
   */
  constructor(isForbidden: TrailerRule = isFramingTrailer, allowsSpace = false, onBareLf: (() => void) | null = null) {
    this.trailers = new TrailerSection(isForbidden, onBareLf);
    this.allowsSpace = allowsSpace;
    this.onBareLf = onBareLf;
  }

  /** @param maxBodyBytes largest decoded body; 0 means no limit */
  begin(maxBodyBytes: number): void {
    this.state = ChunkState.ChunkSize;
    this.fault = Fault.None;
    this.total = 0;
    this.maxBodyBytes = maxBodyBytes;
    this.trailers.reset();
    this.beginSize();
  }

  /** Reads `bytes[from, to)` up to the next event. Call again from `consumed` until it says NeedMore, Done or Failed. */
  next(bytes: Uint8Array, from: number, to: number): ChunkEvent {
    this.consumed = from;
    this.readSizes(bytes, to);
    if (this.state === ChunkState.TrailerSection && this.fault === Fault.None) this.readTrailers(bytes, to);
    if (this.fault !== Fault.None) return ChunkEvent.Failed;
    if (this.state === ChunkState.Done) return ChunkEvent.Done;
    if (this.consumed === to) return ChunkEvent.NeedMore;
    this.dataFrom = this.consumed;
    this.takeData(to);
    this.dataTo = this.consumed;
    return ChunkEvent.Data;
  }

  /**
   * The same where the input may be written over: small chunks that follow each other become one piece, so that a body in chunks of one
   * byte makes no more pieces than any other. A fault behind such a piece is the next event.
   */
  nextJoined(bytes: Uint8Array, from: number, to: number): ChunkEvent {
    const event = this.next(bytes, from, to);
    if (event !== ChunkEvent.Data || this.dataTo - this.dataFrom > MAX_JOINED_BYTES) return event;
    while (this.consumed < to) {
      const framingFrom = this.consumed;
      this.readSizes(bytes, to);
      // Something is left to be read, so that the next call comes.
      if (this.fault !== Fault.None) this.consumed = framingFrom;
      if (this.fault !== Fault.None || this.state !== ChunkState.ChunkData || this.remaining > MAX_JOINED_BYTES) break;
      const at = this.consumed;
      this.takeData(to);
      bytes.copyWithin(this.dataTo, at, this.consumed);
      this.dataTo += this.consumed - at;
    }
    return event;
  }

  /** Whether the beginning of a body is well formed; the body begins anew after that. */
  isGoodAhead(bytes: Uint8Array, from: number, to: number): boolean {
    let event = ChunkEvent.Data;
    for (let at = from; event === ChunkEvent.Data; at = this.consumed) event = this.next(bytes, at, to);
    this.begin(this.maxBodyBytes);
    return event !== ChunkEvent.Failed;
  }

  /** What it means that the input ends here: BodyTruncated, or None if the body is complete. */
  finish(): Fault {
    return this.state === ChunkState.Done ? Fault.None : Fault.BodyTruncated;
  }

  /** Reads on to the next data, the trailers, the end of the input or a fault. */
  private readSizes(bytes: Uint8Array, to: number): void {
    let at = this.consumed;
    while (at < to && this.fault === Fault.None) {
      if (this.state === ChunkState.ChunkSize) at = this.readSize(bytes, at, to);
      else if (this.state === ChunkState.ChunkCrlf) this.readDelimiter(bytes[at++]!);
      else break;
    }
    this.consumed = at;
  }

  /** Takes what has come of a chunk's data. */
  private takeData(to: number): void {
    const from = this.consumed;
    this.consumed = offsetBehind(from, this.remaining, to);
    // A size that no number holds exactly is larger than any body that can arrive: it is never counted down.
    if (this.remaining <= Number.MAX_SAFE_INTEGER) this.remaining -= this.consumed - from;
    if (this.remaining === 0) this.state = ChunkState.ChunkCrlf;
  }

  private readSize(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    while (at < to && this.state === ChunkState.ChunkSize && this.fault === Fault.None) {
      const byte = bytes[at++]!;
      if (this.sizeStage === SizeStage.Digits) this.readSizeByte(byte);
      else if (this.sizeStage === SizeStage.Extension) this.readExtensionByte(byte);
      else if (byte === Byte.Lf) this.endSizeLine();
      else this.fault = Fault.BadChunkDelimiter;
    }
    return at;
  }

  private readSizeByte(byte: number): void {
    const value = HEX_VALUE[byte]!;
    if (value !== 255 && !this.sawSpace) {
      if (++this.sizeChars > MAX_CHUNK_SIZE_CHARS) this.fault = Fault.BadChunkSize;
      if (this.sizeDigits > 0 || value > 0) this.sizeDigits++;
      if (this.sizeDigits > MAX_CHUNK_SIZE_DIGITS) this.fault = Fault.ChunkSizeTooLarge;
      this.remaining = this.remaining * 16 + value;
      return;
    }
    if (this.sizeChars === 0) this.fault = Fault.BadChunkSize;
    else if (byte === Byte.Cr) this.sizeStage = SizeStage.LineFeed;
    else if (byte === Byte.Semicolon) this.sizeStage = SizeStage.Extension;
    else if (this.allowsSpace && isOws(byte) && ++this.sizeChars <= MAX_CHUNK_SIZE_CHARS) this.sawSpace = true;
    else if (byte === Byte.Lf && this.takesBareLf()) this.endSizeLine();
    else this.fault = byte === Byte.Lf ? Fault.BadChunkDelimiter : Fault.BadChunkSize;
  }

  private readExtensionByte(byte: number): void {
    if (byte === Byte.Cr) this.sizeStage = SizeStage.LineFeed;
    else if (byte === Byte.Lf) this.fault = Fault.BadChunkDelimiter;
    else if ((byte < Byte.Space && byte !== Byte.Tab) || byte === Byte.Del) this.fault = Fault.BadChunkExtension;
    else if (++this.extensionBytes > MAX_CHUNK_EXTENSION_BYTES) this.fault = Fault.ChunkExtensionTooLong;
  }

  private endSizeLine(): void {
    if (this.remaining === 0) {
      this.state = ChunkState.TrailerSection;
      return;
    }
    this.total += this.remaining;
    if (this.maxBodyBytes > 0 && this.total > this.maxBodyBytes) this.fault = Fault.BodyTooLarge;
    this.state = ChunkState.ChunkData;
  }

  private readDelimiter(byte: number): void {
    if (!this.sawCr) {
      if (byte === Byte.Cr) this.sawCr = true;
      else if (byte === Byte.Lf && this.takesBareLf()) this.endChunk();
      else this.fault = Fault.BadChunkDelimiter;
      return;
    }
    if (byte !== Byte.Lf) {
      this.fault = Fault.BadChunkDelimiter;
      return;
    }
    this.endChunk();
  }

  private endChunk(): void {
    this.beginSize();
    this.state = ChunkState.ChunkSize;
  }

  /** Not within an extension: some readers take a line feed there for a part of it. */
  private takesBareLf(): boolean {
    if (this.onBareLf === null) return false;
    this.onBareLf();
    return true;
  }

  private readTrailers(bytes: Uint8Array, to: number): void {
    if (this.consumed === to) return;
    this.consumed = this.trailers.read(bytes, this.consumed, to);
    this.fault = this.trailers.fault;
    if (this.trailers.done) this.state = ChunkState.Done;
  }

  private beginSize(): void {
    this.remaining = 0;
    this.sizeStage = SizeStage.Digits;
    this.sizeChars = 0;
    this.sizeDigits = 0;
    this.extensionBytes = 0;
    this.sawCr = false;
    this.sawSpace = false;
  }
}
