import type { BodyFlow, Exchange } from "./exchange.ts";
import { NO_TAKER } from "./idle-ports.ts";
import { Framing } from "./request-head.ts";

/** A body that is there, and is handed on as its taker takes it. */
export abstract class PacedBody implements BodyFlow {
  private isPaused = false;
  private isDelivering = false;

  pauseBody(): void {
    this.isPaused = true;
  }

  resumeBody(ex: Exchange): void {
    this.isPaused = false;
    this.deliver(ex);
  }

  /** Hands on what the taker takes now. */
  deliver(ex: Exchange): void {
    // A taker may resume while it takes: the loop goes on then.
    if (this.isDelivering) return;
    this.isDelivering = true;
    while (!this.isPaused && this.isLeft(ex) && ex.body !== NO_TAKER) this.handOn(ex);
    this.isDelivering = false;
  }

  /** Whether something is to be handed on, the end included. */
  protected abstract isLeft(ex: Exchange): boolean;
  /** Hands on the next piece, or the end. */
  protected abstract handOn(ex: Exchange): void;
}

/** What is to be handed on next. */
const enum Step {
  Bytes = 0,
  End,
  Done,
}

/** A body in the place of the one that came: the request goes on as if it had come so. */
export class GivenBody extends PacedBody {
  private readonly bytes: Uint8Array;
  private step: Step = Step.Bytes;

  constructor(bytes: Uint8Array) {
    super();
    this.bytes = bytes;
  }

  /** Takes the place of the exchange's body, which has been read. `deliver` is called once there may be a taker. */
  replace(ex: Exchange): void {
    ex.request.framing = Framing.Length;
    ex.request.contentLength = this.bytes.length;
    ex.bodyBytes = this.bytes.length;
    ex.wholeBodyBytes = this.bytes.length;
    ex.flow = this;
    ex.body = NO_TAKER;
  }

  protected override isLeft(ex: Exchange): boolean {
    // A later owner of the body may have taken over.
    return this.step !== Step.Done && ex.flow === this;
  }

  protected override handOn(ex: Exchange): void {
    if (this.step === Step.Bytes) {
      this.step = Step.End;
      if (this.bytes.length > 0) ex.body.onBody(ex, this.bytes, 0, this.bytes.length);
    } else {
      this.step = Step.Done;
      ex.body.onBodyEnd(ex);
    }
  }
}
