import { MIN_PROGRESS_BYTES } from "../core/limits.ts";
import type { TimerNode } from "../core/timer-wheel.ts";
import type { UnsentOwner } from "../net/socket-buffers.ts";
import type { ClientSocketPorts } from "./client-socket.ts";

/**
 * The wait of a response on a stream of HTTP/2 or HTTP/3 whose client does not let it through: the memory that it keeps is
 * reported, and the client has `write_timeout` for each MIN_PROGRESS_BYTES, so that neither a window of 0 nor one of a
 * byte a second holds it open. What the kernel does not take of a connection is the connection's own wait (`ClientLink`).
 * docs/wire.md#time-limits
 */
export class ResponseStall {
  isWaiting = false;
  private readonly owner: UnsentOwner;
  private readonly timer: TimerNode;
  private progress = 0;
  private kept = 0;

  /**
   * @param owner the stream, which `abandon` ends
   * @param timer the stream's one timer
   */
  constructor(owner: UnsentOwner, timer: TimerNode) {
    this.owner = owner;
    this.timer = timer;
  }

  /**
   * Something waits, still or again.
   * @param kept bytes of memory that it keeps
   * @param sent bytes that went out since it was said last
   */
  wait(ctx: ClientSocketPorts, kept: number, sent: number): void {
    this.progress += sent;
    if (!this.isWaiting || this.progress >= MIN_PROGRESS_BYTES) {
      if (this.isWaiting) ctx.writers.unsent.progressed(this.owner);
      this.isWaiting = true;
      this.progress = 0;
      ctx.wheel.arm(this.timer, ctx.turn.nowMs + ctx.settings.writeTimeoutMs);
    }
    this.keep(ctx, kept);
  }

  /**
   * The time is over.
   * @param sent bytes that went out since it was said last
   * @returns whether they are enough for the client to have more time; if not, it is to be given up
   */
  goesOn(ctx: ClientSocketPorts, kept: number, sent: number): boolean {
    if (this.progress + sent < MIN_PROGRESS_BYTES) return false;
    this.wait(ctx, kept, sent);
    return true;
  }

  /** What waits keeps so many bytes of memory now. */
  keep({ writers }: ClientSocketPorts, kept: number): void {
    if (kept !== this.kept) writers.unsent.add(this.owner, kept - this.kept);
    this.kept = kept;
  }

  /** Nothing waits any more. */
  stop(ctx: ClientSocketPorts): void {
    if (!this.isWaiting) return;
    this.isWaiting = false;
    ctx.writers.unsent.remove(this.owner, this.kept);
    this.kept = 0;
    ctx.wheel.disarm(this.timer);
  }
}
