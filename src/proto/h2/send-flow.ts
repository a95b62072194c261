import { copyBytes } from "../../core/bytes.ts";
import { COPY_BODY_BYTES } from "../../core/limits.ts";
import {
  DEFAULT_MAX_FRAME_BYTES,
  Flag,
  FRAME_HEADER_BYTES,
  type FrameOutput,
  FrameType,
  MAX_WINDOW_BYTES,
  writeFrameHeader,
} from "./frame.ts";
import type { Session } from "./session.ts";

/** Bytes of DATA frames that are put together for one write. */
const H2_BLOCK_BYTES = 65_536;

/** The way out of a socket: small frames are gathered, large ones go as they are. */
interface FrameWriter extends FrameOutput {
  /** Whether nothing more is taken now. */
  readonly blocked: boolean;
  readonly closed: boolean;
  /** Sends bytes that stay unchanged until all of them have left. */
  write(bytes: Uint8Array, from: number, to: number): boolean;
  /** Whether nothing waits to be sent. */
  isEmpty(): boolean;
}

/** Frames that are put together for one write, one buffer a worker: the kernel has usually copied it by the next time. */
export class FrameBlock {
  private bytes: Buffer | null = null;

  /** A buffer for H2_BLOCK_BYTES of payload in frames. */
  take(): Buffer {
    this.bytes ??= Buffer.allocUnsafeSlow(
      H2_BLOCK_BYTES + FRAME_HEADER_BYTES * Math.ceil(H2_BLOCK_BYTES / DEFAULT_MAX_FRAME_BYTES),
    );
    return this.bytes;
  }

  /** A consumer keeps the buffer: the next one is another. */
  lose(): void {
    this.bytes = null;
  }
}

/**
 * The DATA of one stream on its way out: what the windows and the kernel let through goes, the rest waits by reference,
 * at most one piece of its source's. RFC 9113 §5.2, §6.9.
 */
export class SendFlow {
  /** Bytes that the stream's window lets us send; below 0 if the peer has made it smaller. */
  window = 0;
  /** Whether END_STREAM has been sent. */
  isEnded = false;
  private streamId = 0;
  private bytes: Uint8Array = NO_BYTES;
  private from = 0;
  private to = 0;
  private endsBehind = false;

  begin(streamId: number, window: number): void {
    this.streamId = streamId;
    this.window = window;
    this.isEnded = false;
    this.clear();
  }

  /** Bytes that wait. */
  get waiting(): number {
    return this.to - this.from;
  }

  /** They themselves. */
  get waitingBytes(): Uint8Array {
    return this.bytes.subarray(this.from, this.to);
  }

  /** The memory that they keep; what is in shared memory is there anyway. */
  get keptBytes(): number {
    const { buffer } = this.bytes;
    return buffer instanceof SharedArrayBuffer ? 0 : buffer.byteLength;
  }

  /** Opens the window. @returns false if it becomes too large (FLOW_CONTROL_ERROR) */
  open(increment: number): boolean {
    this.window += increment;
    return this.window <= MAX_WINDOW_BYTES;
  }

  /** Sends `bytes[from, to)`, which stay unchanged. @param isEnd whether the stream ends with them */
  send(bytes: Uint8Array, from: number, to: number, isEnd: boolean, way: OutWay): void {
    if (this.from < this.to) {
      this.append(bytes, from, to);
      this.endsBehind = isEnd;
      return;
    }
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.endsBehind = isEnd;
    this.flush(way);
  }

  /** Sends what waits, as far as it may go. @returns bytes sent */
  flush(way: OutWay): number {
    const { session, writer } = way;
    const start = this.from;
    while (this.from < this.to && !writer.blocked && !writer.closed) {
      const length = Math.min(this.to - this.from, this.window, session.sendWindow, H2_BLOCK_BYTES);
      if (length <= 0) break;
      this.window -= length;
      session.sendWindow -= length;
      if (length <= COPY_BODY_BYTES) this.writeSmall(length, way);
      else this.writeBlock(length, way);
    }
    const sent = this.from - start;
    if (this.from === this.to) this.bytes = NO_BYTES;
    return sent;
  }

  /** Ends the stream with an empty frame. */
  end({ writer }: OutWay): void {
    const out = writer.reserve(FRAME_HEADER_BYTES);
    writer.commit(writeFrameHeader(out, writer.offset, 0, FrameType.Data, Flag.EndStream, this.streamId));
    this.isEnded = true;
  }

  /** Forgets what waits. */
  clear(): void {
    this.bytes = NO_BYTES;
    this.from = 0;
    this.to = 0;
    this.endsBehind = false;
  }

  private writeSmall(length: number, { session, writer }: OutWay): void {
    const out = writer.reserve(FRAME_HEADER_BYTES + length);
    writer.commit(this.writeFrame(out, writer.offset, length));
    session.noteSent(1);
  }

  private writeBlock(length: number, { session, writer, block }: OutWay): void {
    const out = block.take();
    const end = this.from + length;
    let at = 0;
    let frames = 0;
    for (; this.from < end; frames++) {
      at = this.writeFrame(out, at, Math.min(end - this.from, DEFAULT_MAX_FRAME_BYTES));
    }
    writer.write(out, 0, at);
    if (!writer.isEmpty()) block.lose();
    session.noteSent(frames);
  }

  private writeFrame(out: Buffer, start: number, length: number): number {
    const isEnd = this.endsBehind && this.from + length === this.to;
    const at = writeFrameHeader(out, start, length, FrameType.Data, isEnd ? Flag.EndStream : Flag.None, this.streamId);
    if (isEnd) this.isEnded = true;
    const from = this.from;
    this.from += length;
    return copyBytes(out, at, this.bytes, from, from + length);
  }

  /** A source that goes on although it has been asked to hold. */
  private append(bytes: Uint8Array, from: number, to: number): void {
    const joined = Buffer.allocUnsafeSlow(this.waiting + to - from);
    const at = copyBytes(joined, 0, this.bytes, this.from, this.to);
    copyBytes(joined, at, bytes, from, to);
    this.bytes = joined;
    this.from = 0;
    this.to = joined.length;
  }
}

/** The way out of a connection, which its streams share. */
export interface OutWay {
  readonly session: Session;
  readonly writer: FrameWriter;
  readonly block: FrameBlock;
}

/** A stream as the peer's initial window concerns it. */
interface WindowedStream {
  readonly out: SendFlow;
  /** Its window has grown. */
  onWindow(): void;
}

/**
 * The peer has changed its initial window: every open stream's changes by as much. RFC 9113 §6.9.2.
 * @returns false if a window would leave its range, a fault of the connection
 */
export function openAll(streams: ReadonlyMap<number, WindowedStream>, delta: number): boolean {
  for (const stream of streams.values()) if (!stream.out.open(delta)) return false;
  // Those that may send now may end, and leave the map.
  if (delta > 0) for (const stream of [...streams.values()]) stream.onWindow();
  return true;
}

const NO_BYTES: Uint8Array = new Uint8Array(0);
