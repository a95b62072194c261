import { Fault } from "../core/fault.ts";
import { H2_CONNECTION_WINDOW_BYTES, H2_STREAM_WINDOW_BYTES } from "../core/limits.ts";
import type { TimerOwner } from "../core/timer-wheel.ts";
import type { ClientPeer } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { SocketWriter } from "../net/socket-buffers.ts";
import { DEFAULT_WINDOW_BYTES, ErrorCode, MAX_WINDOW_BYTES, SettingId } from "../proto/h2/frame.ts";
import { type H2Setting, writeSettings, writeWindowUpdate } from "../proto/h2/frame-writer.ts";
import { ClientOpening } from "../proto/h2/opening.ts";
import type { FrameBlock } from "../proto/h2/send-flow.ts";
import { Session } from "../proto/h2/session.ts";
import type { ClientConnection } from "./client-connection.ts";
import { ClientLink, type ClientSocketPorts, type Http2Settings, LifeState } from "./client-socket.ts";
import { H2HeadWriter } from "./h2-head-writer.ts";
import { H2Streams, type H2StreamsConnection } from "./h2-streams.ts";
import { DRAIN_IDLE_MS } from "./limits.ts";

/** Memory that waits for a client that does not read, beyond which no more is read of what it sends. */
const H2_UNREAD_BYTES = 262_144;

/**
 *   Serving ──drain──▶ Leaving (GOAWAY, still taking) ──a moment later──▶ Gone (GOAWAY, last streams) ──▶ closing
 */
const enum Leave {
  No = 0,
  Leaving,
  Gone,
}

/** The server side of one HTTP/2 connection: its streams, its windows, its end. RFC 9113. */
export class H2Connection implements ClientConnection, H2StreamsConnection, TimerOwner {
  place = -1;
  readonly ctx: ClientSocketPorts;
  readonly peer: ClientPeer;
  readonly session: Session;
  readonly writer: SocketWriter;
  readonly heads: H2HeadWriter;
  readonly streams: H2Streams;
  private readonly life: ClientLink;
  private leave: Leave = Leave.No;
  private leaveMs = 0;
  /** Since when the client owes the rest of a head; 0 if it does not. */
  private headMs = 0;
  private isReceiving = false;
  /** Since when there has been no stream; 0 if there is one. */
  private idleSinceMs = 0;

  /** @param settings what the server says of itself; the connection keeps it through reloads */
  constructor(socket: ByteSocket, ctx: ClientSocketPorts, peer: ClientPeer, settings: Http2Settings) {
    this.ctx = ctx;
    this.peer = peer;
    this.life = new ClientLink(socket, ctx, this, peer.tls);
    this.writer = this.life.writer;
    this.writer.isShared = true;
    this.heads = new H2HeadWriter(this.writer, ctx.clock);
    this.streams = new H2Streams(this, settings);
    const windowBytes = H2_CONNECTION_WINDOW_BYTES;
    // A head somewhat beyond the limit is still read, and answered 431.
    const init = { isServer: true, maxBlockBytes: 2 * settings.maxListBytes, windowBytes, turn: ctx.turn };
    this.session = new Session(init, this.streams, this.writer);
    if (ctx.settings.notesOpening) this.session.opening = peer.opening = new ClientOpening();
    writeSettings(this.writer, announced(settings));
    writeWindowUpdate(this.writer, 0, H2_CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES);
    this.settle();
  }

  get block(): FrameBlock {
    return this.ctx.frameBlock;
  }

  onData(chunk: Uint8Array): void {
    if (this.life.state !== LifeState.Open) this.life.onLateData(chunk.length);
    else {
      this.isReceiving = true;
      this.session.receive(chunk);
      this.isReceiving = false;
      this.settle();
    }
  }

  onEnd(): void {
    this.life.clientEnded = true;
    if (this.life.state !== LifeState.Open) this.life.onLateEnd();
    else {
      this.streams.endInput();
      this.life.limitAnswer();
      this.settle();
    }
  }

  onDrain(): void {
    if (!this.life.onDrain()) return;
    this.streams.serveQueue();
    this.settle();
  }

  onClose(): void {
    this.life.markClosed();
    this.streams.dropAll();
  }

  /** An exception escaped from the handling of this connection: it costs the connection, nothing else. */
  onException(error: unknown): void {
    this.isReceiving = false;
    this.ctx.observer.onException(error);
    this.life.reset();
    try {
      this.streams.dropAll();
    } catch (second) {
      this.ctx.observer.onException(second);
    }
  }

  onTimer(): void {
    if (this.life.goesOn()) return;
    const { nowMs } = this.ctx.turn;
    if (this.life.state !== LifeState.Open || this.writer.blocked || this.life.hasLeft) {
      this.life.reset();
      this.streams.dropAll();
    } else if (this.headMs > 0 && nowMs - this.headMs >= this.ctx.settings.headerTimeoutMs) {
      this.session.fail(ErrorCode.EnhanceYourCalm);
    } else if (this.leave === Leave.Leaving && nowMs >= this.leaveMs) this.goAway();
    else if (this.idleSinceMs > 0 && nowMs - this.idleSinceMs >= this.ctx.settings.idleTimeoutMs) this.goAway();
    this.settle();
  }

  /** The gateway is shutting down: the client learns of it, and what is on its way to us is still served. RFC 9113 §6.8. */
  drain(): void {
    if (this.leave !== Leave.No || this.life.state !== LifeState.Open) return;
    this.leave = Leave.Leaving;
    this.leaveMs = this.ctx.turn.nowMs + DRAIN_IDLE_MS;
    this.session.goAway(MAX_WINDOW_BYTES, ErrorCode.NoError);
    this.settle();
  }

  idleMs(nowMs: number): number {
    return this.life.state === LifeState.Open && this.idleSinceMs > 0 && this.headMs === 0
      ? nowMs - this.idleSinceMs
      : -1;
  }

  closeIdle(): void {
    this.goAway();
    this.settle();
  }

  /** Whether no further stream is accepted. */
  get isGone(): boolean {
    return this.leave === Leave.Gone;
  }

  /** The session is over by the client's fault: streams end, GOAWAY is the last frame. RFC 9113 §5.4.1. */
  onSessionFault(code: ErrorCode): void {
    const isFlood = code === ErrorCode.EnhanceYourCalm;
    this.ctx.observer.onRefused(isFlood ? Fault.Http2Flood : Fault.BadHttp2, this.peer.address);
    this.streams.dropAll();
    this.leave = Leave.Gone;
    this.session.goAway(this.streams.lastServedId, code);
    this.life.startClosing(true);
  }

  /** No further stream is accepted; the connection closes when its open ones are over. */
  goAway(): void {
    if (this.leave === Leave.Gone || this.session.isOver) return;
    this.leave = Leave.Gone;
    this.session.goAway(this.streams.lastServedId, ErrorCode.NoError);
  }

  /** The last stream is over: by an event of the client's, after which all is settled, or by another. */
  streamsOver(): void {
    if (!this.isReceiving) this.settle();
  }

  /** After every event: sets the one timer, stops or goes on reading, and closes what is over. */
  settle(): void {
    const { life, ctx, session } = this;
    if (life.state !== LifeState.Open) return;
    const { nowMs } = ctx.turn;
    const isIdle = this.streams.size === 0;
    if (isIdle && (this.leave === Leave.Gone || life.clientEnded)) return life.startClosing(true);
    this.headMs = session.isWithinHead() ? this.headMs || nowMs : 0;
    this.idleSinceMs = isIdle ? this.idleSinceMs || nowMs : 0;
    if (this.writer.blocked) {
      // What answers a client that does not read must not pile up.
      if (this.writer.keptBytes > H2_UNREAD_BYTES) life.pause();
      return;
    }
    life.resume();
    let deadlineMs = Number.POSITIVE_INFINITY;
    if (this.headMs > 0) deadlineMs = this.headMs + ctx.settings.headerTimeoutMs;
    if (this.idleSinceMs > 0) deadlineMs = Math.min(deadlineMs, this.idleSinceMs + ctx.settings.idleTimeoutMs);
    if (this.leave === Leave.Leaving) deadlineMs = Math.min(deadlineMs, this.leaveMs);
    if (deadlineMs === Number.POSITIVE_INFINITY) life.disarm();
    else life.arm(deadlineMs - nowMs);
  }
}

function announced(settings: Http2Settings): H2Setting[] {
  const list: H2Setting[] = [
    [SettingId.MaxConcurrentStreams, settings.maxConcurrentStreams],
    [SettingId.InitialWindowSize, H2_STREAM_WINDOW_BYTES],
    [SettingId.MaxHeaderListSize, settings.maxListBytes],
  ];
  if (settings.allowsConnectProtocol) list.push([SettingId.EnableConnectProtocol, 1]);
  return list;
}
