import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { BodyFlow, BodySink, Held } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import type { BodyBudget } from "../../shared/body-budget.ts";
import { BodyStore } from "./body-store.ts";

/** A request body that is gathered whole, then handed on. Spec, "Inbound chunked request handling": `normalize`. */
export class BufferedBody implements BodySink, BodyFlow, Held {
  private readonly store: BodyStore;
  private ex: Exchange | null;
  private paused = false;
  private delivering = false;

  constructor(ex: Exchange, budget: BodyBudget) {
    this.ex = ex;
    this.store = new BodyStore(budget);
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex === null || this.store.append(bytes, from, to)) return;
    this.release();
    ex.sink.abort(ex, Fault.BuffersFull);
  }

  /** The body is complete: the request is one with a Content-Length from here on. */
  onBodyEnd(ex: Exchange): void {
    ex.request.framing = Framing.Length;
    ex.request.contentLength = this.store.length;
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
    this.store.release();
  }

  private deliver(): void {
    if (this.delivering) return;
    this.delivering = true;
    while (!this.paused && this.ex !== null && this.ex.body !== NOBODY) this.handOn(this.ex);
    this.delivering = false;
  }

  private handOn(ex: Exchange): void {
    const piece = this.store.nextPiece();
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
