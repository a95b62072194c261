import { copyBytes } from "../../core/bytes.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { BodyFlow, BodySink, RepeatableBody } from "../../message/ports.ts";
import { type BodyBudget, BUDGET_BLOCK_BYTES } from "../../shared/body-budget.ts";

/** Largest body that is kept for a second attempt: one block of the budget for buffered bodies. */
export const MAX_REPLAY_BYTES = BUDGET_BLOCK_BYTES;

/** What goes on when the body is complete. */
export interface ReplayOwner {
  onBodyKept(ex: Exchange): void;
}

/**
 * The small body of a request that may be repeated, kept until the answer comes: it is gathered whole, then sent, and sent
 * again where an attempt fails.
 */
export class ReplayBody implements BodySink, BodyFlow, RepeatableBody {
  private readonly owner: ReplayOwner;
  private readonly budget: BodyBudget;
  private ex: Exchange | null;
  private bytes: Buffer;
  private length = 0;
  private step = Step.Bytes;
  private paused = false;
  private delivering = false;

  /** The caller has taken one block of the budget, which goes back when the exchange is over. */
  constructor(ex: Exchange, owner: ReplayOwner, budget: BodyBudget) {
    this.ex = ex;
    this.owner = owner;
    this.budget = budget;
    this.bytes = Buffer.allocUnsafeSlow(ex.request.contentLength);
  }

  onBody(_ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex !== null) this.length = copyBytes(this.bytes, this.length, bytes, from, to);
  }

  onBodyEnd(ex: Exchange): void {
    if (this.ex === null) return;
    ex.flow = this;
    ex.body = NOBODY;
    this.owner.onBodyKept(ex);
  }

  /** The client did not send it whole; the exchange ends, and with it this. */
  onBodyFault(): void {}

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
    this.budget.give(1);
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

/** Stands in until an attempt takes the body. */
const NOBODY: BodySink = {
  onBody(): void {},
  onBodyEnd(): void {},
  onBodyFault(): void {},
};
