import { LINGER_BYTES, LINGER_MS } from "../core/limits.ts";
import { type TimerHolder, TimerNode } from "../core/timer-wheel.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { SocketWriter, type WriterOwner } from "../net/socket-writer.ts";
import { holdLastSegment } from "../net/tcp-options.ts";
import type { UnsentHolder } from "../net/unsent-bytes.ts";
import type { EdgeContext } from "./edge-context.ts";

/**
 *   Open ──last answer written──▶ Closing ──flushed──▶ Lingering ──client closes or time is up──▶ Closed
 */
export const enum LifeState {
  Open = 0,
  Closing,
  Lingering,
  Closed,
}

/** The socket of one client connection from accept to close: its way out, its one timer, its flow, its end. */
export class SocketLife implements WriterOwner, UnsentHolder {
  readonly socket: ByteSocket;
  readonly writer: SocketWriter;
  state: LifeState = LifeState.Open;
  /** The client has ended its direction. */
  clientEnded = false;
  private readonly ctx: EdgeContext;
  private readonly timer: TimerNode;
  private readonly hasTls: boolean;
  private paused = false;
  private lingerBytes = 0;
  /** Until when a client that has ended its direction waits for the answer under way; 0 where there is no limit. */
  private leaveMs = 0;
  /** Whether the end of what is written waits for the FIN. */
  private holdsLast = false;
  /** Memory that received bytes keep while reading is stopped. */
  private kept = 0;

  /**
   * @param holder hears of the timer while the connection is open; `onTimer` here takes over after that
   * @param hasTls whether the peer must be told in TLS, too, that nothing more comes
   */
  constructor(socket: ByteSocket, ctx: EdgeContext, holder: TimerHolder, hasTls: boolean) {
    this.socket = socket;
    this.hasTls = hasTls;
    this.ctx = ctx;
    this.writer = new SocketWriter(socket, ctx.writers, this);
    this.timer = new TimerNode(holder);
  }

  /** Sets the one timer of the connection. What `limitAnswer` has set comes first where it is earlier. */
  arm(ms: number): void {
    const deadlineMs = this.ctx.turn.nowMs + ms;
    const { leaveMs } = this;
    this.ctx.wheel.arm(this.timer, leaveMs === 0 || deadlineMs < leaveMs ? deadlineMs : leaveMs);
  }

  /** The client has ended its direction: the answer under way has `half_close_grace` from now on. */
  limitAnswer(): void {
    const { halfCloseGraceMs } = this.ctx.settings;
    if (this.leaveMs > 0 || halfCloseGraceMs < 0) return;
    this.leaveMs = this.ctx.turn.nowMs + halfCloseGraceMs;
    const { deadlineMs } = this.timer;
    if (deadlineMs === 0 || deadlineMs > this.leaveMs) this.ctx.wheel.arm(this.timer, this.leaveMs);
  }

  /** The answer is complete: the client takes it in its own time. */
  freeAnswer(): void {
    this.leaveMs = 0;
  }

  /** Whether the client has left before its answer was complete; `onTimer` asks. */
  get hasLeft(): boolean {
    return this.leaveMs > 0 && this.ctx.turn.nowMs >= this.leaveMs;
  }

  /** When the timer of the connection is due, on the clock of turns. */
  get deadlineMs(): number {
    return this.timer.deadlineMs;
  }

  disarm(): void {
    if (this.leaveMs > 0) this.ctx.wheel.arm(this.timer, this.leaveMs);
    else this.ctx.wheel.disarm(this.timer);
  }

  /** The kernel takes no bytes: the client has so long to read some. */
  armWriteStall(): void {
    this.arm(this.ctx.settings.writeTimeoutMs);
  }

  /** An earlier deadline stands: the kernel's refusal gives nobody more time than he had. */
  onBlocked(): void {
    const { deadlineMs } = this.timer;
    const stallMs = this.ctx.turn.nowMs + this.ctx.settings.writeTimeoutMs;
    if (this.state !== LifeState.Closed && (deadlineMs === 0 || deadlineMs > stallMs)) this.armWriteStall();
  }

  /**
   * Stops reading: the kernel's buffer holds what comes.
   * @param keptBytes memory that what has come already keeps
   */
  pause(keptBytes = 0): void {
    if (this.paused || this.state === LifeState.Closed) return;
    this.paused = true;
    this.socket.pause();
    this.kept = keptBytes;
    if (keptBytes > 0) this.ctx.writers.unsent.add(this, keptBytes);
  }

  resume(): void {
    if (!this.paused || this.state === LifeState.Closed) return;
    this.paused = false;
    this.keepNothing();
    this.socket.resume();
  }

  /**
   * The kernel takes bytes again.
   * @returns whether all is sent and the connection goes on
   */
  onDrain(): boolean {
    if (!this.writer.onDrain()) {
      this.armWriteStall();
      return false;
    }
    if (this.state === LifeState.Closing) this.endWriting();
    return this.state === LifeState.Open;
  }

  /**
   * Nothing will be written any more: what is gathered goes out, then the connection ends. RFC 9112 §9.6.
   * @param linger whether the client may still be sending, so that closing at once would destroy the answer
   */
  startClosing(linger: boolean): void {
    if (this.state !== LifeState.Open) return;
    this.state = LifeState.Closing;
    this.lingerBytes = linger && !this.clientEnded ? LINGER_BYTES : 0;
    const { writer } = this;
    if (this.lingerBytes === 0 && !this.hasTls && !writer.isEmpty() && !writer.blocked) {
      this.holdsLast = holdLastSegment(this.socket.fd);
    }
    writer.flushTurn();
    if (writer.blocked) this.armWriteStall();
    else this.endWriting();
  }

  /** Bytes that come after the last answer are thrown away, but not without bound. */
  onLateData(length: number): void {
    if (this.state !== LifeState.Lingering) return;
    this.lingerBytes -= length;
    if (this.lingerBytes <= 0) this.reset();
  }

  /** The client has closed: nothing is left to wait for. */
  onLateEnd(): void {
    if (this.state === LifeState.Lingering) this.close();
  }

  /** Closes in order; what has been written arrives. */
  close(): void {
    if (this.state === LifeState.Closed) return;
    this.writer.flushTurn();
    if (this.hasTls) this.socket.end();
    else this.socket.close();
    this.markClosed();
  }

  /** Cuts the connection, so that nobody takes what has arrived for complete. */
  reset(): void {
    if (this.state === LifeState.Closed) return;
    this.markClosed();
    this.socket.terminate();
  }

  /** Somebody else goes on with the socket: nothing has been written. */
  handOver(): void {
    this.state = LifeState.Closed;
    this.writer.close();
    this.ctx.wheel.remove(this.timer);
  }

  /** The socket is gone. */
  markClosed(): void {
    if (this.state === LifeState.Closed) return;
    this.state = LifeState.Closed;
    this.writer.close();
    this.keepNothing();
    this.ctx.wheel.remove(this.timer);
    this.ctx.observer.onClose();
  }

  /** Too much waits: the socket's end is told to the connection like any other. */
  abandon(): void {
    this.reset();
  }

  private keepNothing(): void {
    if (this.kept === 0) return;
    this.ctx.writers.unsent.remove(this, this.kept);
    this.kept = 0;
  }

  private endWriting(): void {
    if (this.lingerBytes === 0 || this.clientEnded) {
      // Before the close: that throws unsent bytes away where received ones are unread.
      if (this.holdsLast) this.socket.shutdown();
      this.close();
      return;
    }
    this.state = LifeState.Lingering;
    this.socket.shutdown();
    this.resume();
    this.arm(LINGER_MS);
  }
}
