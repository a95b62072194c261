import { EMPTY_BYTES } from "../../core/ascii.ts";
import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { BodyFlow, BodySink, Held } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import { type BodyBudget, BUDGET_BLOCK_BYTES } from "../../shared/body-budget.ts";
import { BodyStore } from "./body-store.ts";

/** Hears of bodies for which there was no place on the disk. */
export interface SpoolListener {
  /** @param reason the system's code, such as ENOSPC */
  onSpoolFailed(reason: string): void;
}

/**
 * A request body that is gathered whole, then handed on. Spec, "Inbound chunked request handling": `normalize`.
 * A small body in one chunk, as most are, is handed on where it was received: that saves a buffer and a copy.
 */
export class BufferedBody implements BodySink, BodyFlow, Held {
  private readonly budget: BodyBudget;
  private readonly spool: SpoolListener;
  private store: BodyStore | null = null;
  private ex: Exchange | null;
  /** The only piece so far; empty where there is none, or the store has it. */
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

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex === null || from === to || this.keep(bytes, from, to)) return;
    const failure = this.store?.spoolFailure ?? "";
    this.release();
    if (failure !== "") this.spool.onSpoolFailed(failure);
    ex.sink.abort(ex, failure === "" ? Fault.BuffersFull : Fault.SpoolFailed);
  }

  /** The body is complete: the request is one with a Content-Length from here on. */
  onBodyEnd(ex: Exchange): void {
    ex.request.framing = Framing.Length;
    ex.request.contentLength = this.store === null ? this.onlyTo - this.onlyFrom : this.store.length;
    ex.flow = this;
    ex.body = NOBODY;
    ex.pipeline.resume(ex);
    this.deliver();
  }

  onBodyFault(): void {
    this.release();
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
  }

  /** @returns false when there is no room */
  private keep(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.store === null && this.onlyTo === 0 && bytes.length <= BUDGET_BLOCK_BYTES) {
      // What is kept is the whole of what was received, never more than the block that is paid.
      if (!this.budget.take()) return false;
      this.only = bytes;
      this.onlyFrom = from;
      this.onlyTo = to;
      return true;
    }
    this.store ??= new BodyStore(this.budget);
    return this.moveOnly(this.store) && this.store.append(bytes, from, to);
  }

  /** @returns false when there is no room */
  private moveOnly(store: BodyStore): boolean {
    const { only, onlyFrom, onlyTo } = this;
    if (onlyTo === 0) return true;
    this.dropOnly();
    return store.append(only, onlyFrom, onlyTo);
  }

  private dropOnly(): void {
    if (this.onlyTo === 0) return;
    this.only = EMPTY_BYTES;
    this.onlyTo = 0;
    this.budget.give(1);
  }

  private deliver(): void {
    if (this.delivering) return;
    this.delivering = true;
    while (!this.paused && this.ex !== null && this.ex.body !== NOBODY) this.handOn(this.ex);
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

/** Stands in until somebody takes the body. */
const NOBODY: BodySink = {
  onBody(): void {},
  onBodyEnd(): void {},
  onBodyFault(): void {},
};
