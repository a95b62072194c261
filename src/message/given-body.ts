import type { Exchange } from "./exchange.ts";
import { NO_TAKER } from "./idle-ports.ts";
import type { BodyFlow } from "./ports.ts";
import { Framing } from "./request-head.ts";

/** What is to be handed on next. */
const enum Step {
  Bytes = 0,
  End,
  Done,
}

/** A body that is there, in the place of the one that came: the request goes on as if it had come so. */
export class GivenBody implements BodyFlow {
  private readonly bytes: Uint8Array;
  private step: Step = Step.Bytes;
  private isPaused = false;
  private isDelivering = false;

  constructor(bytes: Uint8Array) {
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

  pauseBody(): void {
    this.isPaused = true;
  }

  resumeBody(ex: Exchange): void {
    this.isPaused = false;
    this.deliver(ex);
  }

  /** Hands on what the taker takes. */
  deliver(ex: Exchange): void {
    if (this.isDelivering) return;
    this.isDelivering = true;
    while (!this.isPaused && this.step !== Step.Done && ex.flow === this && ex.body !== NO_TAKER) this.handOn(ex);
    this.isDelivering = false;
  }

  private handOn(ex: Exchange): void {
    if (this.step === Step.Bytes) {
      this.step = Step.End;
      if (this.bytes.length > 0) ex.body.onBody(ex, this.bytes, 0, this.bytes.length);
    } else {
      this.step = Step.Done;
      ex.body.onBodyEnd(ex);
    }
  }
}
