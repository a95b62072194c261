import { EMPTY_BYTES } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import type { BodyBudget } from "../../memory/body-budget.ts";
import type { BodyHold, HoldOwner } from "../../memory/body-hold.ts";
import { type BodyFlow, type BodySink, type Exchange, Verdict } from "../../message/exchange.ts";
import { NO_TAKER } from "../../message/idle-ports.ts";
import type { Held } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import { BodyStore } from "./body-store.ts";

/** Notified of bodies for which there was no place on the disk. */
export interface SpoolListener {
  /** @param reason the system's code, such as ENOSPC */
  onSpoolFailed(reason: string): void;
}

/**
 * A request body that is gathered whole, then handed on. docs/bodies.md#normalize
 * A small body in one chunk, as most are, is handed on where it was received: that saves a buffer and a copy.
 */
export class BufferedBody implements BodySink, BodyFlow, Held, HoldOwner {
  private readonly budget: BodyBudget;
  private readonly spool: SpoolListener;
  private hold: BodyHold | null = null;
  private store: BodyStore | null = null;
  private ex: Exchange | null;
  /** The only piece so far, where it was received; empty if there is none, or the store has it. */
  private only: Uint8Array = EMPTY_BYTES;
  private onlyFrom = 0;
  private onlyTo = 0;
  private paused = false;
  private delivering = false;

  constructor(ex: Exchange, budget: BodyBudget, spool: SpoolListener) {
    this.ex = ex;
    this.budget = budget;
    this.spool = spool;
  }

  /** Begins to gather the body of an exchange, which waits for it. */
  static gather(ex: Exchange, budget: BodyBudget, spool: SpoolListener): Verdict {
    const body = new BufferedBody(ex, budget, spool);
    ex.held = body;
    ex.body = body;
    ex.sink.wantBody(ex);
    return Verdict.Wait;
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex === null || from === to) return;
    this.hold ??= this.budget.open(this, ex);
    this.hold.progress(to - from);
    if (this.store === null && this.onlyTo === 0 && !this.hold.isCounted) {
      this.only = bytes;
      this.onlyFrom = from;
      this.onlyTo = to;
    } else this.keep(ex, bytes, from, to);
  }

  /** The body is complete: the request is one with a Content-Length from here on. */
  onBodyEnd(ex: Exchange): void {
    ex.request.framing = Framing.Length;
    ex.request.contentLength = this.store === null ? this.onlyTo - this.onlyFrom : this.store.length;
    ex.flow = this;
    ex.body = NO_TAKER;
    this.hold?.settle();
    ex.pipeline.resume(ex);
    this.deliver();
    // What is not taken at once counts, too.
    this.hold?.count();
  }

  onBodyFault(): void {
    this.release();
  }

  /** The piece moves into a buffer of its own, so that it no longer keeps all that was received with it. */
  onCounted(): void {
    const { ex, only, onlyFrom, onlyTo } = this;
    if (ex === null || onlyTo === 0) return;
    this.dropOnly();
    this.keep(ex, only, onlyFrom, onlyTo);
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

  /** The exchange is over, or the body has been handed on. */
  release(): void {
    if (this.ex === null) return;
    this.ex = null;
    this.dropOnly();
    this.store?.release();
    this.hold?.release();
  }

  /** Puts a piece into the store. */
  private keep(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    const hold = this.hold!;
    // Data that came before goes first: it is moved when the body begins to count.
    hold.count();
    if (this.ex === null) return;
    this.store ??= new BodyStore(hold, this.budget.spoolBytes);
    const fault = this.store.append(bytes, from, to);
    if (fault !== Fault.None && this.ex !== null) this.refuse(ex, fault, hold.refusedBy);
  }

  private refuse(ex: Exchange, fault: Fault, key: string): void {
    const failure = this.store?.spoolFailure ?? "";
    this.release();
    if (fault === Fault.SpoolFailed) this.spool.onSpoolFailed(failure);
    ex.detail = key;
    ex.sink.abort(ex, fault);
  }

  private dropOnly(): void {
    this.only = EMPTY_BYTES;
    this.onlyTo = 0;
  }

  private deliver(): void {
    if (this.delivering) return;
    this.delivering = true;
    while (!this.paused && this.ex !== null && this.ex.body !== NO_TAKER) this.handOn(this.ex);
    this.delivering = false;
  }

  private handOn(ex: Exchange): void {
    if (this.onlyTo > 0) {
      const { only, onlyFrom, onlyTo } = this;
      this.dropOnly();
      ex.body.onBody(ex, only, onlyFrom, onlyTo);
      return;
    }
    const piece = this.store?.nextPiece() ?? null;
    if (piece !== null) {
      ex.body.onBody(ex, piece, 0, piece.length);
      return;
    }
    this.release();
    if (ex.request.hasBody()) ex.body.onBodyEnd(ex);
  }
}
