import { copyBytes } from "../../../core/bytes.ts";
import { Fault } from "../../../core/fault.ts";
import type { BodyBudget } from "../../../memory/body-budget.ts";
import type { BodyHold, HoldOwner, LateOwner } from "../../../memory/body-hold.ts";
import type { BodyFlow, BodySink, Exchange } from "../../../message/exchange.ts";
import { NO_TAKER } from "../../../message/idle-ports.ts";
import type { Held } from "../../../message/ports.ts";
import type { BodyProgress } from "./body-inspector.ts";

/** Scores the beginning of a body. */
export interface BodyScorer {
  /**
   * @param progress of a body that is scored piece by piece; null if this is all that is scored
   * @returns Fault.None if the exchange may go on, else why it is to be refused
   */
  scoreBody(ex: Exchange, bytes: Uint8Array, from: number, to: number, progress: BodyProgress | null): Fault;
}

/**
 * Says where the last whole message ends in `bytes[0, length)`, of which what is before `newFrom` has been asked about.
 * @returns 0 or less if none is whole
 */
export type WholeMessages = (bytes: Uint8Array, newFrom: number, length: number) => number;

/** The held part of a request body until it is scored, and how it goes on to the taker of the body. */
abstract class ScoredBody implements BodyFlow, Held, HoldOwner {
  /** Null once the exchange is over, or no more is scored and all is handed on. */
  protected ex: Exchange | null;
  protected readonly maxBytes: number;
  protected readonly budget: BodyBudget;
  protected readonly scorer: BodyScorer;
  protected readonly clientFlow: BodyFlow;
  protected hold: BodyHold | null = null;
  protected isComplete = false;
  /** Whether what comes is held, rather than what is held handed on. */
  protected isGathering = true;
  protected isPaused = false;
  private isDelivering = false;

  /** @param maxBytes bytes that are scored */
  constructor(ex: Exchange, maxBytes: number, budget: BodyBudget, scorer: BodyScorer) {
    this.ex = ex;
    this.clientFlow = ex.flow;
    this.maxBytes = maxBytes;
    this.budget = budget;
    this.scorer = scorer;
  }

  abstract pauseBody(ex: Exchange): void;
  abstract resumeBody(ex: Exchange): void;
  abstract release(): void;
  abstract onCounted(): void;
  /** @param key the setting that is to blame; "" for a score, which has a detail of its own */
  protected abstract refuse(ex: Exchange, fault: Fault, key: string): void;
  /** Hands on one piece of the scored data, or ends. */
  protected abstract deliverPiece(ex: Exchange): void;

  onEvicted(key: string): void {
    if (this.ex !== null) this.refuse(this.ex, Fault.BodyEvicted, key);
  }

  /** A counted buffer with room for `length` bytes and more; null if the exchange was refused. */
  protected roomFor(ex: Exchange, length: number): Buffer | null {
    const hold = this.hold!;
    const room = Math.max(length, Math.min(this.maxBytes, length * 2));
    const fault = hold.growTo(room);
    if (this.ex === null) return null;
    if (fault === Fault.None) return Buffer.allocUnsafeSlow(room);
    this.refuse(ex, fault, hold.refusedBy);
    return null;
  }

  /** Hands on the scored data, as far as the taker takes it. */
  protected deliver(): void {
    if (this.isDelivering) return;
    this.isDelivering = true;
    while (!this.isPaused && !this.isGathering && this.ex !== null && this.ex.body !== NO_TAKER) {
      // A later owner of the body may have ended the exchange without telling this one.
      if (this.ex.flow === this) this.deliverPiece(this.ex);
      else this.release();
    }
    this.isDelivering = false;
  }
}

/**
 * The beginning of a request body, held until it is scored, then handed on with anything after it.
 *
 *   Gathering ──the limit or the end is reached──▶ Scored ──passes──▶ HandingOn ──all is handed on──▶ (gone)
 *                                                     └─refused─▶ (gone)
 *
 * Most bodies come in one piece, which is examined and handed on where it is. Where the limit is reached before
 * the end, the client is stopped until the taker of the body has taken the held data.
 */
export class InspectedBody extends ScoredBody implements BodySink, LateOwner {
  /** The held bytes: `bytes[from, to)`, borrowed until a second piece comes. */
  private bytes: Uint8Array = NOTHING;
  private from = 0;
  private to = 0;
  private own: Buffer | null = null;
  /** What the last piece brought beyond the limit. */
  private rest: Uint8Array = NOTHING;
  private restFrom = 0;
  private restTo = 0;

  // ── gathering ─────────────────────────────────────────────────────────────────────────────────────────────────

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex === null || from === to) return;
    this.hold?.progress(to - from);
    if (this.bytes === NOTHING) {
      this.bytes = bytes;
      this.from = from;
      this.to = to;
    } else if (!this.append(ex, bytes, from, to)) return;
    // The end is told on its own, at once.
    if (ex.bodyDone) return;
    if (this.to - this.from >= this.maxBytes) this.decide(ex);
    else if (this.hold === null) this.budget.watch(this);
  }

  openHold(): void {
    if (this.ex === null || this.hold !== null) return;
    this.budget.forgetLate(this);
    this.hold = this.budget.open(this, this.ex);
    this.hold.progress(this.to - this.from);
  }

  onBodyEnd(ex: Exchange): void {
    if (this.ex === null) return;
    if (this.hold === null) this.budget.forgetLate(this);
    this.isComplete = true;
    this.decide(ex);
  }

  onBodyFault(): void {
    this.release();
  }

  /** The first piece moves into a buffer of its own, so that it no longer keeps all that was received with it. */
  onCounted(): void {
    if (this.ex !== null && this.own === null) this.moveToOwn(this.ex, this.to - this.from);
  }

  /** Puts a piece after the held data; what is beyond the limit stays where it is. @returns false if it was refused */
  private append(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const length = this.to - this.from;
    const end = Math.min(to, from + this.maxBytes - length);
    const fits = this.own !== null && this.to + end - from <= this.own.length;
    if (!fits && !this.moveToOwn(ex, length + end - from)) return false;
    this.to = copyBytes(this.own!, this.to, bytes, from, end);
    if (end < to) {
      this.rest = bytes;
      this.restFrom = end;
      this.restTo = to;
    }
    return true;
  }

  /** @returns false if it was refused */
  private moveToOwn(ex: Exchange, length: number): boolean {
    this.openHold();
    const own = this.roomFor(ex, length);
    if (own === null) return false;
    this.to = copyBytes(own, 0, this.bytes, this.from, this.to);
    this.from = 0;
    this.own = own;
    this.bytes = own;
    return true;
  }

  protected refuse(ex: Exchange, fault: Fault, key: string): void {
    this.release();
    if (key !== "") ex.detail = key;
    ex.sink.abort(ex, fault);
  }

  private decide(ex: Exchange): void {
    const to = Math.min(this.to, this.from + this.maxBytes);
    const fault = this.scorer.scoreBody(ex, this.bytes, this.from, to, null);
    if (fault === Fault.None) this.handOn(ex);
    else this.refuse(ex, fault, "");
  }

  // ── handing on ────────────────────────────────────────────────────────────────────────────────────────────────

  private handOn(ex: Exchange): void {
    if (this.isComplete) ex.wholeBodyBytes = this.to - this.from + this.restTo - this.restFrom;
    else this.clientFlow.pauseBody(ex);
    this.hold?.settle();
    this.isGathering = false;
    ex.flow = this;
    ex.body = NO_TAKER;
    ex.pipeline.resume(ex);
    this.deliver();
    if (this.ex !== null && this.isComplete) this.countWaiting();
  }

  /** The consumer has not taken the body at once: it counts while it waits. */
  private countWaiting(): void {
    this.openHold();
    this.hold?.settle();
    this.hold?.count();
  }

  pauseBody(): void {
    this.isPaused = true;
  }

  resumeBody(): void {
    this.isPaused = false;
    this.deliver();
  }

  /** The exchange is over, or all has been handed on. */
  release(): void {
    if (this.ex === null) return;
    this.ex = null;
    this.bytes = NOTHING;
    this.rest = NOTHING;
    this.own = null;
    if (this.hold === null) this.budget.forgetLate(this);
    else this.hold.release();
  }

  protected deliverPiece(ex: Exchange): void {
    const { bytes, from, to } = this;
    if (from < to) {
      this.bytes = this.rest;
      this.from = this.restFrom;
      this.to = this.restTo;
      this.rest = NOTHING;
      this.restTo = this.restFrom;
      ex.body.onBody(ex, bytes, from, to);
      return;
    }
    this.release();
    if (this.isComplete) {
      if (ex.request.hasBody()) ex.body.onBodyEnd(ex);
    } else {
      ex.flow = this.clientFlow;
      ex.flow.resumeBody(ex);
    }
  }
}

/**
 * The beginning of a stream of messages, handed on message by message as each is scored: both sides of a gRPC call may wait for
 * the other's next message, so that nothing may be held until the body ends.
 *
 *   Gathering ──a message is whole──▶ scored ──passes──▶ HandingOn ──all is taken──▶ Gathering … until the limit or the end
 */
export class InspectedMessages extends ScoredBody implements BodySink {
  /** What came and has not been handed on, in `[0, length)`. */
  private bytes: Buffer = NOTHING;
  private length = 0;
  /** How much of it is scored. */
  private scored = 0;
  private inspectedBytes = 0;
  private readonly progress: BodyProgress = { bytes: 0, steps: 0 };
  private readonly wholeEnd: WholeMessages;
  /** The taker of the body; null before the first message is scored. */
  private taker: BodySink | null = null;

  /** @param whole where the last whole message ends. For the others see ScoredBody */
  constructor(ex: Exchange, maxBytes: number, budget: BodyBudget, scorer: BodyScorer, whole: WholeMessages) {
    super(ex, maxBytes, budget, scorer);
    this.wholeEnd = whole;
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex === null || from === to) return;
    const before = this.length;
    if (!this.keep(ex, bytes, from, to)) return;
    // The end is told on its own, at once.
    if (ex.bodyDone) return;
    const isFull = this.inspectedBytes + this.length >= this.maxBytes;
    const whole = isFull ? this.length : this.wholeEnd(this.bytes, before, this.length);
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

  /** The held data is counted from its first byte on. */
  onCounted(): void {}

  /** @returns false if it was refused */
  private keep(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    const length = this.length + to - from;
    // There is none while nothing is held: a stream that is silent for a while is no slow body.
    this.hold ??= this.budget.open(this, ex);
    this.hold.progress(to - from);
    if (length > this.bytes.length) {
      const larger = this.roomFor(ex, length);
      if (larger === null) return false;
      copyBytes(larger, 0, this.bytes, 0, this.length);
      this.bytes = larger;
    }
    this.length = copyBytes(this.bytes, this.length, bytes, from, to);
    return true;
  }

  protected refuse(ex: Exchange, fault: Fault, key: string): void {
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

  protected deliverPiece(ex: Exchange): void {
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

  /** Hands on the scored data; the taker may keep it, so that the rest moves. */
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
