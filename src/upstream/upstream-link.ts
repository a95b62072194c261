import { type TimerHolder, TimerNode } from "../core/timer-wheel.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { SocketWriter, type UnsentHolder, type WriterOwner } from "../net/socket-buffers.ts";
import type { UpstreamContext } from "./upstream-context.ts";

/** The socket of one upstream connection: its way out, its one timer, its flow, its end. */
export class UpstreamLink implements WriterOwner, UnsentHolder {
  /** Null until the connection is open. */
  writer: SocketWriter | null = null;
  /** Whether reading has been stopped, since the client does not take what comes. */
  held = false;
  private readonly context: UpstreamContext;
  private readonly timer: TimerNode;
  private socket: ByteSocket | null = null;
  private ending = false;
  /** Memory that received bytes keep while reading is stopped. */
  private kept = 0;

  constructor(context: UpstreamContext, holder: TimerHolder) {
    this.context = context;
    this.timer = new TimerNode(holder);
  }

  /** The connection is there. */
  open(socket: ByteSocket): SocketWriter {
    this.socket = socket;
    this.writer = new SocketWriter(socket, this.context.writers, this);
    return this.writer;
  }

  /** The connection's own timers run already: for the answer, or for a body that is not taken. */
  onBlocked(): void {}

  /** Sets the one timer of the connection. @param ms 0 stops it */
  arm(ms: number): void {
    const { wheel, turn } = this.context;
    if (ms > 0) wheel.arm(this.timer, turn.nowMs + ms);
    else wheel.disarm(this.timer);
  }

  /**
   * Stops reading; the timer stops too, for it is the client who keeps us waiting.
   * @param keptBytes memory that what has come already keeps
   */
  hold(keptBytes = 0): void {
    if (this.held) return;
    this.held = true;
    this.kept = keptBytes;
    if (keptBytes > 0) this.context.writers.unsent.add(this, keptBytes);
    this.arm(0);
    this.socket?.pause();
  }

  /** @returns whether reading had been stopped */
  release(): boolean {
    if (!this.held) return false;
    this.held = false;
    this.keepNothing();
    this.socket?.resume();
    return true;
  }

  /** Ends our direction once all is sent; the origin may go on. */
  endWriting(): void {
    this.writer?.flushTurn();
    this.ending = this.writer?.blocked ?? false;
    if (!this.ending) this.socket?.shutdown();
  }

  /** The socket takes bytes again. @returns whether all is sent */
  onDrain(): boolean {
    if (this.writer === null || !this.writer.onDrain()) return false;
    if (this.ending) this.endWriting();
    return true;
  }

  /** @param abruptly cuts, so that the origin does not take a broken-off request for complete */
  close(abruptly: boolean): void {
    this.context.wheel.remove(this.timer);
    this.keepNothing();
    const { socket, writer } = this;
    this.socket = null;
    if (socket === null || writer === null) return;
    if (abruptly) socket.terminate();
    else {
      writer.flushTurn();
      socket.end();
    }
    writer.close();
  }
  /** Too much waits: the socket's end is told to the connection like any other. */
  abandon(): void {
    this.keepNothing();
    this.socket?.terminate();
  }

  private keepNothing(): void {
    if (this.kept === 0) return;
    this.context.writers.unsent.remove(this, this.kept);
    this.kept = 0;
  }
}
