import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { H2_CONNECTION_WINDOW_BYTES, H2_STREAM_WINDOW_BYTES, MAX_RESPONSE_HEAD_BYTES } from "../core/limits.ts";
import type { TimerOwner } from "../core/timer-wheel.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { SocketWriter } from "../net/socket-buffers.ts";
import { DEFAULT_WINDOW_BYTES, ErrorCode, PREFACE, SettingId } from "../proto/h2/frame.ts";
import { writeSettings, writeWindowUpdate } from "../proto/h2/frame-writer.ts";
import type { FrameBlock } from "../proto/h2/send-flow.ts";
import { Session } from "../proto/h2/session.ts";
import { H2_ORIGIN_EARLY_CANCEL_BURST } from "./cancel-ration.ts";
import { dialLateness, h2OpeningDetail, hasFailed } from "./failure-detail.ts";
import type { H2UpstreamStream } from "./h2-upstream-stream.ts";
import { H2_RUN_OUT_MS, H2UpstreamStreams, type StreamsConnection, type StreamsPool } from "./h2-upstream-streams.ts";
import { MAX_UPSTREAM_CONNECTION_MS } from "./limits.ts";
import {
  type ConnectFailure,
  connectSocket,
  lostHandshake,
  UpstreamLink,
  type UpstreamSocketOwner,
  type UpstreamSocketPorts,
} from "./origin-socket.ts";
import { serverIdOf } from "./origin-trust.ts";
import { SendRoom } from "./send-room.ts";

/** Milliseconds that a connection to an origin waits for its SETTINGS before it does without their limit of streams. */
const H2_SETTINGS_WAIT_MS = 1000;
/** Bytes by which it is seen what an origin speaks that speaks no HTTP/2. */
const OPENING_BYTES = 16;
/** Milliseconds for which a connection counts as new, so that further exchanges that need a new one go over it too. */
const H2_FRESH_MS = 1000;

/**
 *   Connecting ──open──▶ Open ──GOAWAY, too old──▶ Retired ──last stream over──▶ Closed
 */
const enum Stage {
  Connecting = 0,
  Open,
  Retired,
  Closed,
}

/** The connections of an origin, as one of them sees them. */
export interface ConnectionPool extends StreamsPool {
  readonly context: UpstreamSocketPorts;
  readonly block: FrameBlock;
  /** Whether connections close as soon as they have no streams. */
  readonly isClosed: boolean;
  /** The connection takes no further streams. */
  forget(connection: H2UpstreamConnection): void;
  /** Whether a connection that does no good may be left. */
  mayLeave(): boolean;
  /** Whether a connection may be left on which we have reset much. */
  mayMoveOn(): boolean;
  /** The origin did not want a connection. */
  noteTurnedAway(): void;
  /** The origin has said how many streams a connection may have. */
  onLimit(streams: number): void;
  /** The origin's name has addresses now. */
  onNamed(): void;
  /** No connection could be made. */
  onConnectFailed(failure: ConnectFailure): void;
  /** The id of the request that has waited longest for a connection; "" if none waits. */
  readonly requestId: string;
}

/** The client side of one HTTP/2 connection to an origin. RFC 9113. */
export class H2UpstreamConnection implements StreamsConnection, UpstreamSocketOwner, TimerOwner {
  readonly pool: ConnectionPool;
  readonly streams: H2UpstreamStreams;
  readonly sendRoom: SendRoom = new SendRoom();
  session!: Session;
  writer!: SocketWriter;
  /** When the origin was last heard of, in milliseconds of the turn. */
  heardMs = 0;
  /** Counts the connections of a pool. */
  readonly serial: number;
  /** Whether the origin has said how many streams it takes, or is not waited for any more. */
  isSettled = false;
  /** The id in the origin's certificate, for a sidecar. */
  serverId = "";
  private hasSettings = false;
  /** The first bytes of the origin, until its SETTINGS have come; null before and after. */
  private opening: Uint8Array | null = null;
  /** Whether the origin has said that it closes the connection for an error. */
  private hasErrorGoAway = false;
  private readonly link: UpstreamLink;
  /** For how long making it may take. */
  private connectMs = 0;
  private readonly openedMs: number;
  private stage: Stage = Stage.Connecting;
  /** Whether it takes no further streams. */
  private isRetired = false;
  /** Whether an exchange has come to its end here. */
  isProven = false;

  constructor(pool: ConnectionPool, serial: number) {
    this.pool = pool;
    this.serial = serial;
    this.link = new UpstreamLink(pool.context, this);
    this.streams = new H2UpstreamStreams(this);
    this.openedMs = pool.context.turn.nowMs;
  }

  get block(): FrameBlock {
    return this.pool.block;
  }

  get nowMs(): number {
    return this.pool.context.turn.nowMs;
  }

  /** Whether it is not known yet how many streams it will take. */
  get isComing(): boolean {
    return this.stage === Stage.Connecting || !this.isSettled;
  }

  /** Whether the connection has been made just now. */
  get isFresh(): boolean {
    return this.nowMs - this.openedMs < H2_FRESH_MS;
  }

  /** Whether it holds nothing but streams that were given up, and not just a few of those that it may have. */
  get isDeserted(): boolean {
    const { isBusy, running, limit } = this.streams;
    if (this.stage !== Stage.Open || isBusy || running === 0) return false;
    return running >= Math.min(H2_ORIGIN_EARLY_CANCEL_BURST, limit);
  }

  /** Whether it has no room, and half of its places or more are held by streams that were given up. */
  get isClogged(): boolean {
    const { size, running, limit } = this.streams;
    return this.stage === Stage.Open && running > 0 && size >= limit && running * 2 >= size;
  }

  /** Whether another exchange may be started here. One that is too old takes none; see OriginPool. */
  hasRoom(): boolean {
    if (this.stage !== Stage.Open || this.streams.size >= this.streams.limit) return false;
    if (this.nowMs - this.openedMs < MAX_UPSTREAM_CONNECTION_MS) return true;
    this.retire();
    return false;
  }

  /** Whether a body of so many bytes finds a window here that no other body may take from it. */
  fitsBody(bytes: number): boolean {
    const { peer, sendWindow } = this.session;
    // What an origin has left of a window that no stream uses is as much as it ever opens.
    if (this.streams.size === 0 && sendWindow > 0) return true;
    return this.sendRoom.fits(Math.min(bytes, peer.initialWindowBytes), sendWindow);
  }

  /** Bytes of the window that a further body finds here where all others take what they may; below 0 if they share it. */
  get roomForBody(): number {
    return this.sendRoom.left(this.session.sendWindow);
  }

  /** Makes the connection. @param connectMs for how long that may take */
  connect(connectMs: number): void {
    this.connectMs = connectMs;
    this.link.arm(connectMs);
    this.link.dial = connectSocket(this.pool.settings, this);
  }

  /** Begins an exchange, for which there is room. */
  start(stream: H2UpstreamStream): void {
    if (this.streams.size === 0 && this.isSettled) this.link.arm(0);
    this.streams.begin(stream);
  }

  /** Takes no further streams, and closes when those that are there are over. */
  retire(): void {
    this.pool.forget(this);
    this.isRetired = true;
    if (this.stage === Stage.Open) this.stage = Stage.Retired;
    this.settle();
  }

  /** Streams end badly here: new exchanges go over another connection, unless too many have been left already. */
  wearOut(): void {
    if (this.stage === Stage.Open && this.pool.mayLeave()) this.retire();
  }

  /** Many streams were given up here, by clients: new exchanges go over another connection, at a bounded rate. */
  moveOn(): void {
    if (this.stage === Stage.Open && this.pool.mayMoveOn()) this.retire();
  }

  /** The origin closes the connection. @param code NoError if nothing is wrong with it */
  onGoAway(code: ErrorCode): void {
    if (code !== ErrorCode.NoError) this.hasErrorGoAway = true;
    if (code !== ErrorCode.NoError || !this.streams.isUsed) this.pool.noteTurnedAway();
    this.retire();
  }

  /** A stream is over. */
  settle(): void {
    const { stage, streams } = this;
    if (streams.isBusy || stage === Stage.Connecting || stage === Stage.Closed) return;
    // What was given up ends with the connection, and the origin may send for it for long.
    if (stage === Stage.Retired || this.pool.isClosed) this.shut(streams.size > 0);
    else if (streams.size === 0 && this.isSettled) this.link.arm(this.pool.settings.idleTimeoutMs);
  }

  /** Streams that were given up are watched, now that one is left alone. */
  armRunOut(): void {
    if (this.isSettled) this.link.arm(H2_RUN_OUT_MS);
  }

  /** The origin has said what it takes. */
  onSettings(): void {
    this.hasSettings = true;
    this.opening = null;
    if (this.isSettled) this.pool.onLimit(this.session.peer.maxConcurrentStreams);
  }

  /** The origin has said for the first time what it takes, or will not: bodies and further exchanges may come. */
  private endWaiting(): void {
    this.isSettled = true;
    this.link.arm(this.streams.running > 0 ? H2_RUN_OUT_MS : 0);
    this.streams.onSettled();
    this.settle();
    this.pool.onLimit(this.session.peer.maxConcurrentStreams);
  }

  onOpen(socket: ByteSocket): void {
    if (this.stage !== Stage.Connecting) {
      socket.terminate();
      return;
    }
    const { context } = this.pool;
    this.serverId = serverIdOf(this.pool.settings, socket);
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
    this.link.arm(H2_SETTINGS_WAIT_MS);
    this.pool.serve();
    if (this.isRetired || this.pool.isClosed) this.settle();
  }

  /** The time for connecting is the origin's alone. */
  onNaming(isWaiting: boolean): void {
    if (this.stage !== Stage.Connecting) return;
    this.link.arm(isWaiting ? 0 : this.connectMs);
    if (!isWaiting) this.pool.onNamed();
  }

  get requestId(): string {
    return this.pool.requestId;
  }

  get isReached(): boolean {
    return this.link.isReached;
  }

  onReached(socket: ByteSocket | null): void {
    this.link.reach(socket);
  }

  onTlsFault(): void {
    this.link.hasTlsFault = true;
  }

  onConnectFailed(failure: ConnectFailure): void {
    if (this.stage === Stage.Connecting) this.failConnecting(failure);
  }

  onData(chunk: Uint8Array): void {
    if (this.stage === Stage.Closed || this.stage === Stage.Connecting) return;
    this.heardMs = this.pool.context.turn.nowMs;
    if (!this.hasSettings) this.opening ??= chunk.slice(0, OPENING_BYTES);
    this.session.receive(chunk);
    // What comes with the first SETTINGS may turn the first stream away: its body is not released before that is read.
    if (this.hasSettings && !this.isSettled && !this.session.isOver) this.endWaiting();
    this.streams.announceAll();
  }

  onEnd(): void {
    this.onClose();
  }

  onClose(reason?: unknown): void {
    if (this.stage === Stage.Connecting) this.failConnecting(lostHandshake(this, reason));
    else if (this.stage !== Stage.Closed)
      this.fail(Fault.UpstreamUnavailable, (hasHead) => this.lossOf(hasHead, hasFailed(reason)));
  }

  /** How a stream has lost its connection. */
  private lossOf(hasHead: boolean, isReset: boolean): FaultDetail {
    if (this.link.hasTlsFault && !hasHead) return FaultDetail.TlsAlert;
    if (this.opening !== null) return h2OpeningDetail(this.opening);
    if (this.hasErrorGoAway) return FaultDetail.H2GoAway;
    if (hasHead) return isReset ? FaultDetail.ResetInBody : FaultDetail.ClosedInBody;
    return isReset ? FaultDetail.ResetBeforeHead : FaultDetail.ClosedBeforeHead;
  }

  onDrain(): void {
    if (this.link.onDrain()) this.streams.serveQueue();
  }

  /** An exception escaped while this connection was handled: its exchanges are lost, nothing else. */
  onException(error: unknown): void {
    this.pool.context.onException(error);
    this.fail(Fault.InternalError, () => FaultDetail.None);
  }

  /** The connection is not made in time, says nothing of itself, or has not been asked for anything for long enough. */
  onTimer(): void {
    if (this.stage === Stage.Connecting) {
      this.failConnecting({ fault: Fault.UpstreamTimeout, detail: dialLateness(this, this.isReached) });
    } else if (!this.isSettled) {
      this.endWaiting();
    } else if (this.streams.size === 0) this.shut(false);
    else {
      if (this.streams.running > 0) this.link.arm(H2_RUN_OUT_MS / 10);
      this.streams.resetLeftAlone();
      this.settle();
      this.pool.serve();
    }
  }

  /** The session is over by the origin's fault. */
  onSessionFault(code: ErrorCode): void {
    this.session.goAway(0, code);
    const detail = this.sessionDetail(code);
    this.fail(Fault.UpstreamMalformed, () => detail);
  }

  private sessionDetail(code: ErrorCode): FaultDetail {
    if (this.opening !== null) return h2OpeningDetail(this.opening);
    const isTooLarge = code === ErrorCode.EnhanceYourCalm && this.session.isWithinHead();
    return isTooLarge ? FaultDetail.HeadTooLarge : FaultDetail.H2Protocol;
  }

  /** Ends the connection, and with it all that is under way on it. @param detailOf why, for a stream with the head of its response or without */
  fail(fault: Fault, detailOf: (hasHead: boolean) => FaultDetail): void {
    if (this.stage === Stage.Connecting) return this.failConnecting({ fault, detail: detailOf(false) });
    if (this.stage === Stage.Open && !this.isProven) this.pool.noteTurnedAway();
    this.shut(fault !== Fault.UpstreamMalformed);
    this.streams.failAll(fault, detailOf);
    if (this.isSettled) this.pool.serve();
    else this.pool.onConnectFailed({ fault, detail: detailOf(false) });
  }

  /** There is no connection, and what waits for one learns of it. */
  private failConnecting(failure: ConnectFailure): void {
    this.shut(true);
    this.pool.onConnectFailed(failure);
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
