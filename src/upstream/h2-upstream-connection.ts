import { Fault } from "../core/fault.ts";
import {
  H2_CONNECTION_WINDOW_BYTES,
  H2_STREAM_WINDOW_BYTES,
  MAX_RESPONSE_HEAD_BYTES,
  MAX_UPSTREAM_CONNECTION_MS,
} from "../core/limits.ts";
import type { TimerHolder } from "../core/timer-wheel.ts";
import type { Exchange } from "../message/exchange.ts";
import type { UpstreamCaller } from "../message/upstream.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { SocketWriter } from "../net/socket-writer.ts";
import { DEFAULT_WINDOW_BYTES, ErrorCode, PREFACE, SettingId } from "../proto/h2/frame.ts";
import { writeSettings, writeWindowUpdate } from "../proto/h2/frame-writer.ts";
import type { FrameBlock, OutWay } from "../proto/h2/outflow.ts";
import { Session } from "../proto/h2/session.ts";
import { connectSocket, type UpstreamSocketOwner } from "./connect.ts";
import type { H2OriginPool } from "./h2-origin-pool.ts";
import { H2UpstreamStreams } from "./h2-upstream-streams.ts";
import { UpstreamLink } from "./upstream-link.ts";

/**
 *   Connecting ──open──▶ Open ──GOAWAY, too old──▶ Retired ──last stream over──▶ Closed
 */
const enum Stage {
  Connecting = 0,
  Open,
  Retired,
  Closed,
}

/** The client side of one HTTP/2 connection to an origin. RFC 9113. */
export class H2UpstreamConnection implements UpstreamSocketOwner, TimerHolder, OutWay {
  readonly pool: H2OriginPool;
  readonly streams: H2UpstreamStreams;
  session!: Session;
  writer!: SocketWriter;
  /** When the origin was last heard of, in milliseconds of the turn. */
  heardMs = 0;
  private readonly link: UpstreamLink;
  private readonly openedMs: number;
  private stage: Stage = Stage.Connecting;
  /** Whether it takes no further streams. */
  private isRetired = false;

  constructor(pool: H2OriginPool) {
    this.pool = pool;
    this.link = new UpstreamLink(pool.context, this);
    this.streams = new H2UpstreamStreams(this);
    this.openedMs = pool.context.turn.nowMs;
  }

  get block(): FrameBlock {
    return this.pool.block;
  }

  /** Whether another exchange may be started here. One that is too old takes none; see OriginPool. */
  hasRoom(): boolean {
    if (this.stage > Stage.Open || this.streams.size >= this.streams.limit) return false;
    if (this.pool.context.turn.nowMs - this.openedMs < MAX_UPSTREAM_CONNECTION_MS) return true;
    this.retire();
    return false;
  }

  /** Takes an exchange: sends its head at once, or once the connection is open. */
  start(ex: Exchange, caller: UpstreamCaller): void {
    const isFirst = this.stage === Stage.Connecting && this.streams.size === 0;
    this.streams.add(ex, caller, this.stage !== Stage.Connecting);
    if (!isFirst) {
      if (this.stage !== Stage.Connecting) this.link.arm(0);
      return;
    }
    this.link.arm(caller.times.connectMs);
    connectSocket(this.pool.settings, this);
  }

  /** Takes no further streams, and closes when those that are there are over. */
  retire(): void {
    this.pool.forget(this);
    this.isRetired = true;
    if (this.stage === Stage.Open) this.stage = Stage.Retired;
    this.settle();
  }

  /** A stream is over. */
  settle(): void {
    if (this.streams.size > 0 || this.stage === Stage.Connecting || this.stage === Stage.Closed) return;
    if (this.stage === Stage.Retired) this.shut(false);
    else this.link.arm(this.pool.settings.idleTimeoutMs);
  }

  onOpen(socket: ByteSocket): void {
    if (this.stage !== Stage.Connecting) {
      socket.terminate();
      return;
    }
    const { context } = this.pool;
    this.writer = this.link.open(socket);
    this.writer.isShared = true;
    const windowBytes = H2_CONNECTION_WINDOW_BYTES;
    const init = { isServer: false, maxBlockBytes: MAX_RESPONSE_HEAD_BYTES, windowBytes, turn: context.turn };
    this.session = new Session(init, this.streams, this.writer);
    this.writer.copy(PREFACE, 0, PREFACE.length);
    writeSettings(this.writer, [
      [SettingId.EnablePush, 0],
      [SettingId.InitialWindowSize, H2_STREAM_WINDOW_BYTES],
      [SettingId.MaxHeaderListSize, MAX_RESPONSE_HEAD_BYTES],
    ]);
    writeWindowUpdate(this.writer, 0, windowBytes - DEFAULT_WINDOW_BYTES);
    this.stage = this.isRetired ? Stage.Retired : Stage.Open;
    this.heardMs = context.turn.nowMs;
    this.link.arm(0);
    this.streams.openAll();
    this.settle();
  }

  onConnectFailed(): void {
    if (this.stage === Stage.Connecting) this.fail(Fault.UpstreamUnavailable);
  }

  onData(chunk: Uint8Array): void {
    if (this.stage === Stage.Closed || this.stage === Stage.Connecting) return;
    this.heardMs = this.pool.context.turn.nowMs;
    this.session.receive(chunk);
    this.streams.announceAll();
  }

  onEnd(): void {
    this.onClose();
  }

  onClose(): void {
    if (this.stage !== Stage.Closed) this.fail(Fault.UpstreamUnavailable);
  }

  onDrain(): void {
    if (this.link.onDrain()) this.streams.serveQueue();
  }

  /** An exception escaped while this connection was handled: its exchanges are lost, nothing else. */
  onException(error: unknown): void {
    this.pool.context.onException(error);
    this.fail(Fault.InternalError);
  }

  /** Nobody answered in time, or nobody has asked for long enough. */
  onTimer(): void {
    if (this.stage === Stage.Connecting) {
      this.pool.context.onConnectFailed(this.pool.settings.originKey, "timeout");
      this.fail(Fault.UpstreamTimeout);
    } else if (this.streams.size === 0) this.shut(false);
  }

  /** The session is over by the origin's fault. */
  onSessionFault(code: ErrorCode): void {
    this.session.goAway(0, code);
    this.fail(Fault.UpstreamMalformed);
  }

  /** Ends the connection, and with it all that is under way on it. */
  fail(fault: Fault): void {
    const wasOpen = this.stage !== Stage.Connecting;
    this.shut(fault !== Fault.UpstreamMalformed);
    this.streams.failAll(fault, wasOpen);
  }

  private shut(abruptly: boolean): void {
    if (this.stage === Stage.Closed) return;
    if (this.stage !== Stage.Connecting) {
      if (!this.session.isOver) this.session.goAway(0, ErrorCode.NoError);
      this.session.isOver = true;
    }
    this.stage = Stage.Closed;
    this.pool.forget(this);
    this.link.close(abruptly);
  }
}
