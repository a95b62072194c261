import { type TimerHolder, TimerNode } from "../core/timer-wheel.ts";
import { H3Error } from "../net/h3-error.ts";
import { type QuicStream, resetStream } from "../net/quic.ts";
import type { EdgeContext } from "./client-socket.ts";

/**
 * A stream whose head has not come yet: it has `header_timeout`, like a head over any other protocol. RFC 9114 §4.1.1: it
 * is then rejected, so that the client knows that nothing of it was looked at.
 */
export class H3HeadWait implements TimerHolder {
  private readonly ctx: EdgeContext;
  private readonly stream: QuicStream;
  private readonly timer: TimerNode = new TimerNode(this);

  constructor(ctx: EdgeContext, stream: QuicStream) {
    this.ctx = ctx;
    this.stream = stream;
    ctx.wheel.arm(this.timer, ctx.turn.nowMs + ctx.settings.headerTimeoutMs);
  }

  /** The head is there, or the stream is gone. */
  end(): void {
    this.ctx.wheel.remove(this.timer);
  }

  onTimer(): void {
    resetStream(this.stream, H3Error.RequestRejected);
  }
}
