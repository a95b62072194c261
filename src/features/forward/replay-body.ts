import { copyBytes } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { BODY_BLOCK_BYTES, type BodyBudget } from "../../memory/body-budget.ts";
import type { BodyHold, HoldOwner } from "../../memory/body-hold.ts";
import type { BodyFlow, BodySink, Exchange } from "../../message/exchange.ts";
import { NO_TAKER } from "../../message/idle-ports.ts";
import type { RepeatableBody } from "../../message/ports.ts";

/** Largest body that is kept for a second attempt: one block of the budget for buffered bodies. */
export const MAX_REPLAY_BYTES = BODY_BLOCK_BYTES;

/** What goes on when the body is complete. */
export interface ReplayOwner {
  onBodyKept(ex: Exchange): void;
}

/**
 * The small body of a request that may be repeated, kept until the response comes: it is gathered whole, then sent, and sent
 * again if an attempt fails.
 */
export class ReplayBody implements BodySink, BodyFlow, RepeatableBody, HoldOwner {
  readonly isKept = true;
  private readonly owner: ReplayOwner;
  private readonly hold: BodyHold;
  private ex: Exchange | null;
  private bytes: Buffer;
  private length = 0;
  private step = Step.Bytes;
  private paused = false;
  private delivering = false;

  constructor(ex: Exchange, owner: ReplayOwner, budget: BodyBudget) {
    this.ex = ex;
    this.owner = owner;
    this.hold = budget.open(this, ex);
    this.bytes = Buffer.allocUnsafeSlow(ex.request.contentLength);
  }

  onBody(_ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex === null) return;
    this.length = copyBytes(this.bytes, this.length, bytes, from, to);
    this.hold.progress(to - from);
  }

  onBodyEnd(ex: Exchange): void {
    if (this.ex === null) return;
    ex.flow = this;
    ex.body = NO_TAKER;
    this.hold.settle();
    this.owner.onBodyKept(ex);
    // It is kept until the response comes.
    this.hold.count();
  }

  /** The client did not send it whole; the exchange ends, and with it this. */
  onBodyFault(): void {}

  onCounted(): void {
    const { ex, hold } = this;
    const fault = hold.growTo(this.bytes.length);
    if (fault === Fault.None || this.ex === null) return;
    // One that is complete can be sent: it is only not kept for a second attempt.
    if (hold.isSettled) hold.release();
    else this.refuse(ex!, fault, hold.refusedBy);
  }

  onEvicted(key: string): void {
    if (this.ex !== null) this.refuse(this.ex, Fault.BodyEvicted, key);
  }

  pauseBody(): void {
    this.paused = true;
  }

  resumeBody(): void {
    this.paused = false;
    this.deliver();
  }

  /** To be called before another attempt is made. */
  restart(): void {
    this.step = Step.Bytes;
    this.paused = false;
  }

  /** Hands on what may be handed on: the attempt is under way. */
  deliver(): void {
    const { ex } = this;
    if (this.delivering || ex === null) return;
    this.delivering = true;
    while (!this.paused && this.step !== Step.Done && this.ex !== null) this.handOn(ex);
    this.delivering = false;
  }

  release(): void {
    if (this.ex === null) return;
    this.ex = null;
    this.bytes = NO_BYTES;
    this.hold.release();
  }

  private refuse(ex: Exchange, fault: Fault, key: string): void {
    this.release();
    ex.detail = key;
    ex.sink.abort(ex, fault);
  }

  private handOn(ex: Exchange): void {
    if (this.step === Step.Bytes) {
      this.step = Step.End;
      ex.body.onBody(ex, this.bytes, 0, this.length);
    } else {
      this.step = Step.Done;
      ex.body.onBodyEnd(ex);
    }
  }
}

/** What is to be handed on next. */
const enum Step {
  Bytes = 0,
  End,
  Done,
}

const NO_BYTES: Buffer = Buffer.alloc(0);
