import { Allowance } from "./allowance.ts";
import {
  ACK,
  DEFAULT_WINDOW_BYTES,
  ErrorCode,
  Flag,
  type FrameOutput,
  FrameType,
  MAX_WINDOW_BYTES,
  PREFACE,
  readUint31,
} from "./frame.ts";
import { FrameEvent, FrameReader } from "./frame-reader.ts";
import { writeGoAway, writePingAck, writeReset, writeSettingsAck, writeWindowUpdate } from "./frame-writer.ts";
import { HeaderFragments } from "./header-fragments.ts";
import type { ClientOpening } from "./opening.ts";
import { PeerSettings } from "./peer-settings.ts";

/** Streams given up by the client, or for its fault (MadeYouReset). nghttp2 1000, then 33/s; Envoy 500 in all. */
const H2_RESET_BURST = 500;
const H2_RESETS_PER_SECOND = 50;
/** PING, SETTINGS, PRIORITY, GOAWAY, unknown frames. nghttp2: 1000 unsent responses; Envoy likewise, 100 PRIORITY a stream. */
const H2_CONTROL_BURST = 1000;
const H2_CONTROL_PER_SECOND = 100;
/** WINDOW_UPDATE. nghttp2: none; Envoy: 5, 10 a DATA frame sent, and more a stream. */
const H2_WINDOW_UPDATE_BURST = 4000;
const H2_WINDOW_UPDATES_PER_SECOND = 1000;
/** DATA without a byte that does not end its stream. nghttp2: none; Envoy: 1 in a row. */
const H2_EMPTY_DATA_BURST = 100;
const H2_EMPTY_DATA_PER_SECOND = 10;
/** CONTINUATION frames of one header block. nghttp2 8; Envoy (by way of nghttp2) 8. */
const H2_MAX_CONTINUATIONS = 8;

/** Who keeps the streams of a session. What it is told has been checked as far as a frame can be without its stream. */
export interface SessionOwner {
  /** The block of a HEADERS frame is complete. It must be decoded whatever becomes of its stream (RFC 9113 §4.3). */
  onHeaderBlock(streamId: number, isEnd: boolean, bytes: Uint8Array, from: number, to: number): void;
  /**
   * A piece of a DATA frame.
   * @param flowBytes what it takes from both windows, padding included; the session's own has been charged
   * @param isEnd whether the stream ends with it
   */
  onData(streamId: number, bytes: Uint8Array, from: number, to: number, flowBytes: number, isEnd: boolean): void;
  onStreamReset(streamId: number, code: ErrorCode): void;
  onStreamWindow(streamId: number, increment: number): void;
  /** The connection's window lets more be sent. */
  onConnectionWindow(): void;
  /** Every stream's window changes by so much. @returns false if one would be too large */
  onInitialWindow(delta: number): boolean;
  /** The peer's settings have come, for the first time or again. */
  onPeerSettings(): void;
  onGoAway(lastStreamId: number, code: ErrorCode): void;
  /** The session is over by the peer's fault: a GOAWAY with this code is to be its last frame. */
  onSessionFault(code: ErrorCode): void;
  /** Whether no stream with this number has begun yet. */
  isIdle(streamId: number): boolean;
}

/** What one end of a connection says of itself, and what it lets the other do. */
interface SessionInit {
  readonly isServer: boolean;
  /** Compressed bytes of one header block. */
  readonly maxBlockBytes: number;
  /** The connection's window as announced with WINDOW_UPDATE: what may be on its way. */
  readonly windowBytes: number;
  readonly turn: { readonly nowMs: number };
}

/**
 * One HTTP/2 connection as far as it is no stream's business: frames, their order and sizes, settings, pings, the
 * connection's windows, and what may come how often. RFC 9113 §3.4, §4 to §6. Sans-IO: bytes come by `receive`, frames
 * go out by a FrameOutput. Where RFC 9113 §5.4 lets an error of a stream be one of the connection, it is one: no
 * client can make the gateway reset streams for a few bytes each (MadeYouReset).
 */
export class Session {
  readonly out: FrameOutput;
  readonly peer: PeerSettings = new PeerSettings();
  /** Bytes that the connection's window lets us send. */
  sendWindow = DEFAULT_WINDOW_BYTES;
  isOver = false;
  /** Notes how the client begins; null if nothing asks. */
  opening: ClientOpening | null = null;
  private readonly init: SessionInit;
  private readonly owner: SessionOwner;
  private readonly reader: FrameReader = new FrameReader();
  private readonly fragments: HeaderFragments;
  private prefaceAt = 0;
  private hasSettings = false;
  private padding = 0;
  private receiveWindow: number;
  private uncredited = 0;
  private readonly control = new Allowance(H2_CONTROL_BURST, H2_CONTROL_PER_SECOND);
  private readonly emptyData = new Allowance(H2_EMPTY_DATA_BURST, H2_EMPTY_DATA_PER_SECOND);
  private readonly windowUpdates = new Allowance(H2_WINDOW_UPDATE_BURST, H2_WINDOW_UPDATES_PER_SECOND);
  private readonly resets = new Allowance(H2_RESET_BURST, H2_RESETS_PER_SECOND);

  constructor(init: SessionInit, owner: SessionOwner, out: FrameOutput) {
    this.init = init;
    this.owner = owner;
    this.out = out;
    this.receiveWindow = init.windowBytes;
    this.fragments = new HeaderFragments(init.maxBlockBytes);
    if (!init.isServer) this.prefaceAt = PREFACE.length;
  }

  /** Takes what came from the peer. */
  receive(chunk: Uint8Array): void {
    let from = 0;
    for (; this.prefaceAt < PREFACE.length; from++, this.prefaceAt++) {
      if (from === chunk.length) return;
      if (chunk[from] !== PREFACE[this.prefaceAt]) return this.fail(ErrorCode.ProtocolError);
    }
    const { reader } = this;
    reader.feed(chunk, from);
    while (!this.isOver) {
      const event = reader.next();
      if (event === FrameEvent.NeedMore) return;
      if (event === FrameEvent.TooLarge) this.fail(ErrorCode.FrameSizeError);
      else if (!this.isFrameAllowed()) this.fail(ErrorCode.ProtocolError);
      else if (event === FrameEvent.DataPiece) this.takeData();
      else this.takeFrame();
    }
  }

  /** Whether the peer owes the rest of a frame, of a header block or of its preface. */
  isWithinHead(): boolean {
    return (
      !this.hasSettings || this.fragments.isOpen || (this.reader.isWithinFrame() && this.reader.type !== FrameType.Data)
    );
  }

  /** Whether the peer owes the rest of a header block of this stream. */
  isWithinBlockOf(streamId: number): boolean {
    return this.fragments.isOpen && this.fragments.streamId === streamId;
  }

  /** Frames that carry responses have been sent: the peer may react to them. */
  noteSent(frames: number): void {
    this.windowUpdates.earn(frames * 4);
    this.control.earn(frames);
  }

  /** A stream was given up before its response was complete, by the peer or for its fault. Too many end the session. */
  noteReset(): void {
    if (!this.resets.spend(this.init.turn.nowMs)) this.fail(ErrorCode.EnhanceYourCalm);
  }

  /** Resets a stream. */
  reset(streamId: number, code: ErrorCode): void {
    if (!this.isOver) writeReset(this.out, streamId, code);
  }

  goAway(lastStreamId: number, code: ErrorCode): void {
    writeGoAway(this.out, lastStreamId, code);
  }

  /** Ends the session by the peer's fault. */
  fail(code: ErrorCode): void {
    if (this.isOver) return;
    this.isOver = true;
    this.owner.onSessionFault(code);
  }

  /** RFC 9113 §3.4: SETTINGS come first; §6.10: nothing comes between the parts of a header block. */
  private isFrameAllowed(): boolean {
    const { type, flags } = this.reader;
    if (!this.hasSettings) {
      if (type !== FrameType.Settings || (flags & ACK) !== 0) return false;
      this.hasSettings = true;
      return true;
    }
    return this.fragments.isOpen === (type === FrameType.Continuation);
  }

  private takeFrame(): void {
    switch (this.reader.type) {
      case FrameType.Headers:
        return this.takeHeaders();
      case FrameType.Continuation:
        return this.takeContinuation();
      case FrameType.WindowUpdate:
        return this.takeWindowUpdate();
      case FrameType.RstStream:
        return this.takeReset();
      case FrameType.Settings:
        return this.takeSettings();
      case FrameType.Ping:
        return this.takePing();
      case FrameType.GoAway:
        return this.takeGoAway();
      case FrameType.Priority:
        return this.takePriority();
      // RFC 9113 §8.4: clients cannot push, and servers must not where that is switched off.
      case FrameType.PushPromise:
        return this.fail(ErrorCode.ProtocolError);
      default:
        this.mayControl();
    }
  }

  /** RFC 9113 §6.1. */
  private takeData(): void {
    const { reader } = this;
    const { bytes, from, to, isFirst, isLast, streamId } = reader;
    if (streamId === 0 || this.owner.isIdle(streamId)) return this.fail(ErrorCode.ProtocolError);
    let dataFrom = from;
    if (isFirst) {
      this.padding = 0;
      if ((reader.flags & Flag.Padded) !== 0) {
        if (reader.length === 0 || bytes[from]! >= reader.length) return this.fail(ErrorCode.ProtocolError);
        this.padding = bytes[from]!;
        dataFrom++;
      }
    }
    const flowBytes = to - from;
    this.receiveWindow -= flowBytes;
    if (this.receiveWindow < 0) return this.fail(ErrorCode.FlowControlError);
    const isEnd = isLast && (reader.flags & Flag.EndStream) !== 0;
    const overhead = (reader.flags & Flag.Padded) === 0 ? 0 : this.padding + 1;
    const isEmpty = isLast && !isEnd && reader.length === overhead;
    if (isEmpty && !this.emptyData.spend(this.init.turn.nowMs)) return this.fail(ErrorCode.EnhanceYourCalm);
    const dataTo = Math.max(dataFrom, to - this.paddingIn(to - from));
    this.credit(flowBytes);
    this.owner.onData(streamId, bytes, dataFrom, dataTo, flowBytes, isEnd);
  }

  /**
   * The connection's window opens as DATA comes, in steps, whatever becomes of it: each stream's own window bounds what is kept of
   * that stream, so that none whose taker has stopped holds up the others. docs/security.md#shared-resources-and-their-bounds
   */
  private credit(flowBytes: number): void {
    this.uncredited += flowBytes;
    if (this.uncredited * 2 < this.init.windowBytes) return;
    writeWindowUpdate(this.out, 0, this.uncredited);
    this.receiveWindow += this.uncredited;
    this.uncredited = 0;
  }

  /** How many of the last `length` bytes that came are padding: it is at the end of the frame, which may be cut. */
  private paddingIn(length: number): number {
    if (this.padding === 0) return 0;
    return Math.max(0, Math.min(length, this.padding - this.reader.remaining));
  }

  /** RFC 9113 §6.2. */
  private takeHeaders(): void {
    const { reader } = this;
    const { bytes, flags, streamId } = reader;
    let { from, to } = reader;
    if (streamId === 0) return this.fail(ErrorCode.ProtocolError);
    if ((flags & Flag.Padded) !== 0) {
      if (from === to) return this.fail(ErrorCode.FrameSizeError);
      to -= bytes[from]!;
      from++;
    }
    if ((flags & Flag.Priority) !== 0) {
      // RFC 9113 §5.3.1 has done away with priorities; a stream that depends on itself is still a fault.
      if (to - from < 5 || readUint31(bytes, from) === streamId) return this.fail(ErrorCode.ProtocolError);
      from += 5;
    }
    if (from > to) return this.fail(ErrorCode.ProtocolError);
    const isEnd = (flags & Flag.EndStream) !== 0;
    if ((flags & Flag.EndHeaders) !== 0) this.owner.onHeaderBlock(streamId, isEnd, bytes, from, to);
    else if (!this.fragments.begin(streamId, isEnd, bytes, from, to)) this.fail(ErrorCode.EnhanceYourCalm);
  }

  /** RFC 9113 §6.10. */
  private takeContinuation(): void {
    const { reader, fragments } = this;
    if (reader.streamId !== fragments.streamId) return this.fail(ErrorCode.ProtocolError);
    const hasRoom = fragments.append(reader.bytes, reader.from, reader.to);
    if (!hasRoom || fragments.continuations > H2_MAX_CONTINUATIONS) return this.fail(ErrorCode.EnhanceYourCalm);
    if ((reader.flags & Flag.EndHeaders) === 0) return;
    const { streamId, isEnd, length } = fragments;
    const block = fragments.close();
    this.owner.onHeaderBlock(streamId, isEnd, block, 0, length);
  }

  /** RFC 9113 §6.9. */
  private takeWindowUpdate(): void {
    const { reader, owner } = this;
    const { streamId, length } = reader;
    if (length !== 4) return this.fail(ErrorCode.FrameSizeError);
    const increment = readUint31(reader.bytes, reader.from);
    if (increment === 0 || (streamId !== 0 && owner.isIdle(streamId))) return this.fail(ErrorCode.ProtocolError);
    if (!this.windowUpdates.spend(this.init.turn.nowMs)) return this.fail(ErrorCode.EnhanceYourCalm);
    if (streamId !== 0) return owner.onStreamWindow(streamId, increment);
    this.opening?.onWindow(increment);
    this.sendWindow += increment;
    if (this.sendWindow > MAX_WINDOW_BYTES) this.fail(ErrorCode.FlowControlError);
    else owner.onConnectionWindow();
  }

  /** RFC 9113 §6.4. */
  private takeReset(): void {
    const { reader, owner } = this;
    if (reader.length !== 4) return this.fail(ErrorCode.FrameSizeError);
    if (reader.streamId === 0 || owner.isIdle(reader.streamId)) return this.fail(ErrorCode.ProtocolError);
    owner.onStreamReset(reader.streamId, readUint31(reader.bytes, reader.from));
  }

  /** RFC 9113 §6.5. */
  private takeSettings(): void {
    const { reader, peer } = this;
    if (reader.streamId !== 0) return this.fail(ErrorCode.ProtocolError);
    if ((reader.flags & ACK) !== 0) {
      if (reader.length !== 0) this.fail(ErrorCode.FrameSizeError);
      else this.mayControl();
      return;
    }
    const before = peer.initialWindowBytes;
    const fault = peer.take(reader.bytes, reader.from, reader.to, this.init.isServer);
    if (fault !== ErrorCode.NoError) return this.fail(fault);
    this.opening?.onSettings(reader.bytes, reader.from, reader.to);
    if (!this.mayControl()) return;
    writeSettingsAck(this.out);
    this.owner.onPeerSettings();
    const delta = peer.initialWindowBytes - before;
    // RFC 9113 §6.9.2: no window may grow too large by it.
    if (delta !== 0 && !this.owner.onInitialWindow(delta)) this.fail(ErrorCode.FlowControlError);
  }

  /** RFC 9113 §6.7. */
  private takePing(): void {
    const { reader } = this;
    if (reader.streamId !== 0) return this.fail(ErrorCode.ProtocolError);
    if (reader.length !== 8) return this.fail(ErrorCode.FrameSizeError);
    if (!this.mayControl()) return;
    if ((reader.flags & ACK) === 0) writePingAck(this.out, reader.bytes, reader.from);
  }

  /** RFC 9113 §6.8. */
  private takeGoAway(): void {
    const { reader } = this;
    if (reader.streamId !== 0) return this.fail(ErrorCode.ProtocolError);
    if (reader.length < 8) return this.fail(ErrorCode.FrameSizeError);
    if (!this.mayControl()) return;
    this.owner.onGoAway(readUint31(reader.bytes, reader.from), readUint31(reader.bytes, reader.from + 4));
  }

  /** RFC 9113 §6.3: read, and without effect. */
  private takePriority(): void {
    const { reader } = this;
    if (reader.streamId === 0) return this.fail(ErrorCode.ProtocolError);
    if (reader.length !== 5) return this.fail(ErrorCode.FrameSizeError);
    if (readUint31(reader.bytes, reader.from) === reader.streamId) return this.fail(ErrorCode.ProtocolError);
    this.opening?.onPriority(reader.streamId, reader.bytes, reader.from);
    this.mayControl();
  }

  private mayControl(): boolean {
    if (this.control.spend(this.init.turn.nowMs)) return true;
    this.fail(ErrorCode.EnhanceYourCalm);
    return false;
  }
}
