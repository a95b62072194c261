import { copyBytes } from "../../../core/bytes.ts";
import { Fault } from "../../../core/fault.ts";
import type { Exchange } from "../../../message/exchange.ts";
import { NO_TAKER } from "../../../message/idle-ports.ts";
import type { BodyFlow, BodySink, Held } from "../../../message/ports.ts";
import type { BodyBudget } from "../../../shared/body-budget.ts";
import type { BodyHold, HoldOwner, LateHolder } from "../../../shared/body-hold.ts";
import type { BodyProgress } from "./body-inspector.ts";

/** Scores the beginning of a body. */
export interface BodyScorer {
  /**
   * @param progress of a body that is scored piece by piece; null where this is all that is scored
   * @returns Fault.None where the exchange may go on, else why it is to be refused
   */
  scoreBody(ex: Exchange, bytes: Uint8Array, from: number, to: number, progress: BodyProgress | null): Fault;
}

/**
 * The beginning of a request body, held until it is scored, then handed on with what comes after it.
 *
 *   Gathering ──the limit or the end is reached──▶ Scored ──passes──▶ HandingOn ──all is handed on──▶ (gone)
 *                                                     └─refused─▶ (gone)
 *
 * Most bodies come in one piece, which is looked at and handed on where it is. Where the limit is reached before
 * the end, the client is stopped until the taker of the body has taken what was held.
 */
export class InspectedBody implements BodySink, BodyFlow, Held, HoldOwner, LateHolder {
  private ex: Exchange | null;
  private readonly maxBytes: number;
  private readonly budget: BodyBudget;
  private readonly scorer: BodyScorer;
  private readonly clientFlow: BodyFlow;
  /** The held bytes: `bytes[from, to)`, borrowed until a second piece comes. */
  private bytes: Uint8Array = NOTHING;
  private from = 0;
  private to = 0;
  private own: Buffer | null = null;
  /** What the last piece brought beyond the limit. */
  private rest: Uint8Array = NOTHING;
  private restFrom = 0;
  private restTo = 0;
  private hold: BodyHold | null = null;
  private isComplete = false;
  private isPaused = false;
  private isDelivering = false;

  /** @param maxBytes bytes that are held and scored */
  constructor(ex: Exchange, maxBytes: number, budget: BodyBudget, scorer: BodyScorer) {
    this.ex = ex;
    this.clientFlow = ex.flow;
    this.maxBytes = maxBytes;
    this.budget = budget;
    this.scorer = scorer;
  }

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

  onEvicted(key: string): void {
    if (this.ex !== null) this.refuse(this.ex, Fault.BodyEvicted, key);
  }

  /** Puts a piece after what is held; what is beyond the limit stays where it is. @returns false where it was refused */
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

  /** @returns false where it was refused */
  private moveToOwn(ex: Exchange, length: number): boolean {
    this.openHold();
    const room = Math.max(length, Math.min(this.maxBytes, length * 2));
    const fault = this.hold!.growTo(room);
    if (this.ex === null) return false;
    if (fault !== Fault.None) {
      this.refuse(ex, fault, this.hold!.refusedBy);
      return false;
    }
    const own = Buffer.allocUnsafeSlow(room);
    this.to = copyBytes(own, 0, this.bytes, this.from, this.to);
    this.from = 0;
    this.own = own;
    this.bytes = own;
    return true;
  }

  /** @param key the setting that is to blame; "" for a score, which has a detail of its own */
  private refuse(ex: Exchange, fault: Fault, key: string): void {
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

  private deliver(): void {
    if (this.isDelivering) return;
    this.isDelivering = true;
    while (!this.isPaused && this.ex !== null && this.ex.body !== NO_TAKER) this.deliverPiece(this.ex);
    this.isDelivering = false;
  }

  private deliverPiece(ex: Exchange): void {
    const { bytes, from, to } = this;
    // A later owner of the body may have ended the exchange without telling this one.
    if (ex.flow !== this) return this.release();
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

const NOTHING: Uint8Array = new Uint8Array(0);
