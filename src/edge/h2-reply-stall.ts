import { H2_MIN_PROGRESS_BYTES } from "../core/limits.ts";
import type { TimerNode } from "../core/timer-wheel.ts";
import type { UnsentHolder } from "../net/socket-buffers.ts";
import type { H2Connection } from "./h2-connection.ts";
import type { H2Stream } from "./h2-stream.ts";

/**
 * The wait of a reply whose client does not let it through: the memory that it keeps is reported, and the client has
 * `write_timeout` for each H2_MIN_PROGRESS_BYTES, so that neither a window of 0 nor one of a byte a second holds it open.
 */
export class H2ReplyStall implements UnsentHolder {
  isWaiting = false;
  private readonly stream: H2Stream;
  private readonly timer: TimerNode;
  private progress = 0;
  private kept = 0;

  /** @param timer the stream's one timer */
  constructor(stream: H2Stream, timer: TimerNode) {
    this.stream = stream;
    this.timer = timer;
  }

  /** Something waits, still or again. @param sent bytes that went out since it was said last */
  wait(connection: H2Connection, sent: number): void {
    const { ctx, unsent, streams } = connection;
    const { out } = this.stream;
    this.progress += sent;
    if (!this.isWaiting || this.progress >= H2_MIN_PROGRESS_BYTES) {
      if (this.isWaiting) unsent.progressed(this);
      this.isWaiting = true;
      this.progress = 0;
      ctx.wheel.arm(this.timer, ctx.turn.nowMs + ctx.settings.writeTimeoutMs);
    }
    const bytes = out.keptBytes;
    if (bytes !== this.kept) unsent.add(this, bytes - this.kept);
    this.kept = bytes;
    if (out.window > 0) streams.enqueue(this.stream);
  }

  /** Nothing waits any more. */
  stop(connection: H2Connection): void {
    if (!this.isWaiting) return;
    this.isWaiting = false;
    connection.unsent.remove(this, this.kept);
    this.kept = 0;
    connection.ctx.wheel.disarm(this.timer);
  }

  /** Too much waits for too many clients, and this one has taken nothing for longest. */
  abandon(): void {
    this.stream.abandon();
  }
}
