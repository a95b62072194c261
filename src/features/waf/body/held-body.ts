import { copyBytes } from "../../../core/bytes.ts";
import { Fault } from "../../../core/fault.ts";
import type { Exchange } from "../../../message/exchange.ts";
import type { BodyFlow, BodySink, Held } from "../../../message/ports.ts";
import { type BodyBudget, BUDGET_BLOCK_BYTES } from "../../../shared/body-budget.ts";

/** Decides on the beginning of a body. */
export interface BodyJudge {
  /** @returns whether the exchange may go on; otherwise it has been refused */
  passes(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean;
}

/**
 * The beginning of a request body, held until it is judged, then handed on with what comes behind it.
 *
 *   Gathering ──the limit or the end is reached──▶ Judged ──passes──▶ HandingOn ──all is handed on──▶ (gone)
 *                                                     └─refused─▶ (gone)
 *
 * Most bodies come in one piece, which is looked at and handed on where it stands. Where the limit is reached before
 * the end, the client is stopped until whoever takes the body has taken what was held.
 */
export class HeldBody implements BodySink, BodyFlow, Held {
  private ex: Exchange | null;
  private readonly maxBytes: number;
  private readonly budget: BodyBudget;
  private readonly judge: BodyJudge;
  private readonly clientFlow: BodyFlow;
  /** The held bytes: `bytes[from, to)`, somebody else's until a second piece comes. */
  private bytes: Uint8Array = NOTHING;
  private from = 0;
  private to = 0;
  private own: Buffer | null = null;
  /** What the last piece brought beyond the limit. */
  private rest: Uint8Array = NOTHING;
  private restFrom = 0;
  private restTo = 0;
  private takenBlocks = 0;
  private isComplete = false;
  private isPaused = false;
  private isDelivering = false;

  /** @param maxBytes bytes that are held and judged */
  constructor(ex: Exchange, maxBytes: number, budget: BodyBudget, judge: BodyJudge) {
    this.ex = ex;
    this.clientFlow = ex.flow;
    this.maxBytes = maxBytes;
    this.budget = budget;
    this.judge = judge;
  }

  // ── gathering ─────────────────────────────────────────────────────────────────────────────────────────────────

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex === null || from === to) return;
    if (this.bytes === NOTHING) {
      this.bytes = bytes;
      this.from = from;
      this.to = to;
    } else if (!this.append(bytes, from, to)) return this.refuse(ex);
    // The end is told on its own, at once.
    if (ex.bodyDone) return;
    if (this.to - this.from >= this.maxBytes) this.decide(ex);
    else if (!this.reserve(this.to - this.from)) this.refuse(ex);
  }

  onBodyEnd(ex: Exchange): void {
    if (this.ex === null) return;
    this.isComplete = true;
    this.decide(ex);
  }

  onBodyFault(): void {
    this.release();
  }

  /** Puts a piece behind what is held; what is beyond the limit stays where it is. @returns false without room */
  private append(bytes: Uint8Array, from: number, to: number): boolean {
    const length = this.to - this.from;
    const end = Math.min(to, from + this.maxBytes - length);
    if (!this.reserve(length + end - from)) return false;
    if (this.own === null || this.to + end - from > this.own.length) this.moveToOwn(length + end - from);
    this.to = copyBytes(this.own!, this.to, bytes, from, end);
    if (end < to) {
      this.rest = bytes;
      this.restFrom = end;
      this.restTo = to;
    }
    return true;
  }

  private moveToOwn(length: number): void {
    const own = Buffer.allocUnsafeSlow(Math.min(this.maxBytes, Math.max(MIN_BYTES, length * 2)));
    this.to = copyBytes(own, 0, this.bytes, this.from, this.to);
    this.from = 0;
    this.own = own;
    this.bytes = own;
  }

  private reserve(length: number): boolean {
    for (; this.takenBlocks * BUDGET_BLOCK_BYTES < length; this.takenBlocks++) {
      if (!this.budget.take()) return false;
    }
    return true;
  }

  private refuse(ex: Exchange): void {
    this.release();
    ex.sink.abort(ex, Fault.BuffersFull);
  }

  private decide(ex: Exchange): void {
    const to = Math.min(this.to, this.from + this.maxBytes);
    if (this.judge.passes(ex, this.bytes, this.from, to)) this.handOn(ex);
    else this.release();
  }

  // ── handing on ────────────────────────────────────────────────────────────────────────────────────────────────

  private handOn(ex: Exchange): void {
    if (!this.isComplete) this.clientFlow.pauseBody(ex);
    ex.flow = this;
    ex.body = NOBODY;
    ex.pipeline.resume(ex);
    this.deliver();
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
    this.budget.give(this.takenBlocks);
    this.takenBlocks = 0;
  }

  private deliver(): void {
    if (this.isDelivering) return;
    this.isDelivering = true;
    while (!this.isPaused && this.ex !== null && this.ex.body !== NOBODY) this.deliverPiece(this.ex);
    this.isDelivering = false;
  }

  private deliverPiece(ex: Exchange): void {
    const { bytes, from, to } = this;
    // Whoever keeps the body behind this may have ended the exchange without a word to this.
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
    if (this.isComplete) ex.body.onBodyEnd(ex);
    else {
      ex.flow = this.clientFlow;
      ex.flow.resumeBody(ex);
    }
  }
}

/** Less is not worth a copy when the next piece comes. */
const MIN_BYTES = 4096;
const NOTHING: Uint8Array = new Uint8Array(0);
/** Stands in until somebody takes the body. */
const NOBODY: BodySink = {
  onBody(): void {},
  onBodyEnd(): void {},
  onBodyFault(): void {},
};
