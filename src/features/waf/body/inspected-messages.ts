import { copyBytes } from "../../../core/bytes.ts";
import { Fault } from "../../../core/fault.ts";
import type { Exchange } from "../../../message/exchange.ts";
import { NO_TAKER } from "../../../message/idle-ports.ts";
import type { BodyFlow, BodySink, Held } from "../../../message/ports.ts";
import type { BodyBudget } from "../../../shared/body-budget.ts";
import type { BodyHold, HoldOwner } from "../../../shared/body-hold.ts";
import type { BodyProgress } from "./body-inspector.ts";
import { wholeMessagesEnd } from "./grpc-messages.ts";
import type { BodyScorer } from "./inspected-body.ts";

/**
 * The beginning of a stream of messages, handed on message by message as each is scored: both sides of a gRPC call may wait for
 * the other's next message, so that nothing may be held until the body ends.
 *
 *   Gathering ──a message is whole──▶ scored ──passes──▶ HandingOn ──all is taken──▶ Gathering … until the limit or the end
 */
export class InspectedMessages implements BodySink, BodyFlow, Held, HoldOwner {
  private ex: Exchange | null;
  private readonly maxBytes: number;
  private readonly budget: BodyBudget;
  private readonly scorer: BodyScorer;
  private readonly clientFlow: BodyFlow;
  /** What came and has not been handed on, in `[0, length)`. */
  private bytes: Buffer = NOTHING;
  private length = 0;
  /** How much of it is scored. */
  private scored = 0;
  private inspectedBytes = 0;
  private readonly progress: BodyProgress = { bytes: 0, steps: 0 };
  /** The taker of the body; null before the first message is scored. */
  private taker: BodySink | null = null;
  /** Null while nothing is held: a stream that says nothing for a while is no slow body. */
  private hold: BodyHold | null = null;
  private isComplete = false;
  private isGathering = true;
  private isPaused = false;
  private isDelivering = false;

  /** @param maxBytes bytes that are scored */
  constructor(ex: Exchange, maxBytes: number, budget: BodyBudget, scorer: BodyScorer) {
    this.ex = ex;
    this.clientFlow = ex.flow;
    this.maxBytes = maxBytes;
    this.budget = budget;
    this.scorer = scorer;
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex === null || from === to) return;
    if (!this.keep(ex, bytes, from, to)) return;
    // The end is told on its own, at once.
    if (ex.bodyDone) return;
    const isFull = this.inspectedBytes + this.length >= this.maxBytes;
    const whole = isFull ? this.length : wholeMessagesEnd(this.bytes, 0, this.length);
    if (whole > 0) this.decide(ex, whole);
  }

  onBodyEnd(ex: Exchange): void {
    if (this.ex === null) return;
    this.isComplete = true;
    this.decide(ex, this.length);
  }

  onBodyFault(ex: Exchange, fault: Fault): void {
    const { taker } = this;
    this.release();
    if (taker === null) return;
    ex.body = taker;
    taker.onBodyFault(ex, fault);
  }

  pauseBody(ex: Exchange): void {
    this.isPaused = true;
    if (this.isGathering && this.ex !== null) this.clientFlow.pauseBody(ex);
  }

  resumeBody(ex: Exchange): void {
    this.isPaused = false;
    if (this.isGathering && this.ex !== null) this.clientFlow.resumeBody(ex);
    else this.deliver();
  }

  /** The exchange is over, or what comes now is not scored any more. */
  release(): void {
    if (this.ex === null) return;
    this.ex = null;
    this.bytes = NOTHING;
    this.hold?.release();
  }

  /** What is held is counted from its first byte on. */
  onCounted(): void {}

  onEvicted(key: string): void {
    if (this.ex !== null) this.refuse(this.ex, Fault.BodyEvicted, key);
  }

  /** @returns false where it was refused */
  private keep(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const length = this.length + to - from;
    this.hold ??= this.budget.open(this, ex);
    this.hold.progress(to - from);
    if (length > this.bytes.length) {
      const room = Math.max(length, Math.min(this.maxBytes, length * 2));
      const fault = this.hold.growTo(room);
      if (this.ex === null) return false;
      if (fault !== Fault.None) {
        this.refuse(ex, fault, this.hold.refusedBy);
        return false;
      }
      const larger = Buffer.allocUnsafeSlow(room);
      copyBytes(larger, 0, this.bytes, 0, this.length);
      this.bytes = larger;
    }
    this.length = copyBytes(this.bytes, this.length, bytes, from, to);
    return true;
  }

  /** @param key the setting that is to blame; "" for a score, which has a detail of its own */
  private refuse(ex: Exchange, fault: Fault, key: string): void {
    const { taker } = this;
    this.release();
    if (key !== "") ex.detail = key;
    if (taker !== null) {
      ex.body = taker;
      taker.onBodyFault(ex, fault);
      ex.source.onCancelled(ex);
    }
    ex.sink.abort(ex, fault);
  }

  private decide(ex: Exchange, whole: number): void {
    const fault = whole === 0 ? Fault.None : this.scorer.scoreBody(ex, this.bytes, 0, whole, this.progress);
    if (fault !== Fault.None) return this.refuse(ex, fault, "");
    this.scored = whole;
    this.inspectedBytes += whole;
    this.isGathering = false;
    if (!this.isComplete) this.clientFlow.pauseBody(ex);
    if (this.taker === null) {
      ex.flow = this;
      ex.body = NO_TAKER;
      ex.pipeline.resume(ex);
    } else ex.body = this.taker;
    this.deliver();
  }

  private deliver(): void {
    if (this.isDelivering) return;
    this.isDelivering = true;
    while (!this.isPaused && !this.isGathering && this.ex !== null && this.ex.body !== NO_TAKER) this.step(this.ex);
    this.isDelivering = false;
  }

  private step(ex: Exchange): void {
    // A later owner of the body may have ended the exchange without telling this one.
    if (ex.flow !== this) return this.release();
    if (this.scored > 0) return this.handOn(ex);
    if (this.isComplete) {
      this.release();
      ex.body.onBodyEnd(ex);
    } else if (this.inspectedBytes >= this.maxBytes) {
      this.release();
      ex.flow = this.clientFlow;
      ex.flow.resumeBody(ex);
    } else {
      this.taker = ex.body;
      ex.body = this;
      this.isGathering = true;
      this.clientFlow.resumeBody(ex);
    }
  }

  /** Hands on what is scored; the taker may keep it, so that the rest moves. */
  private handOn(ex: Exchange): void {
    const { bytes, scored } = this;
    const rest = this.length - scored;
    this.bytes = rest === 0 ? NOTHING : Buffer.from(bytes.subarray(scored, this.length));
    this.length = rest;
    this.scored = 0;
    if (rest === 0) {
      this.hold?.release();
      this.hold = null;
    }
    ex.body.onBody(ex, bytes, 0, scored);
  }
}

const NOTHING: Buffer = Buffer.alloc(0);
