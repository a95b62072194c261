import { copyBytes } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { BodyFlow, BodySink, Held } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import type { BodyBudget } from "./body-budget.ts";

const BLOCK_BYTES = 16384;

/**
 * A request body that is gathered whole, then handed on. Decoded bytes are copied into blocks, so that a body of
 * one-byte chunks costs what its bytes cost.
 */
export class BufferedBody implements BodySink, BodyFlow, Held {
  private readonly budget: BodyBudget;
  private ex: Exchange | null;
  private readonly blocks: Buffer[] = [];
  private lastEnd = 0;
  private total = 0;
  private nextBlock = 0;
  private paused = false;
  private delivering = false;

  constructor(ex: Exchange, budget: BodyBudget) {
    this.ex = ex;
    this.budget = budget;
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    for (let at = from; at < to; ) {
      if (this.blocks.length === 0 || this.lastEnd === BLOCK_BYTES) {
        if (!this.budget.take(BLOCK_BYTES)) {
          this.release();
          ex.sink.abort(ex, Fault.BuffersFull);
          return;
        }
        this.blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
        this.lastEnd = 0;
      }
      const end = Math.min(to, at + BLOCK_BYTES - this.lastEnd);
      this.lastEnd = copyBytes(this.blocks[this.blocks.length - 1]!, this.lastEnd, bytes, at, end);
      this.total += end - at;
      at = end;
    }
  }

  /** The body is complete: the request is one with a Content-Length from here on. */
  onBodyEnd(ex: Exchange): void {
    ex.request.framing = this.total > 0 ? Framing.Length : Framing.None;
    ex.request.contentLength = this.total;
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
    this.budget.give(this.blocks.length * BLOCK_BYTES);
    this.blocks.length = 0;
  }

  private deliver(): void {
    if (this.delivering) return;
    this.delivering = true;
    while (!this.paused && this.ex !== null && this.ex.body !== NOBODY) {
      const ex = this.ex;
      const block = this.blocks[this.nextBlock];
      if (block === undefined) {
        this.release();
        if (this.total > 0) ex.body.onBodyEnd(ex);
        break;
      }
      const isLast = ++this.nextBlock === this.blocks.length;
      ex.body.onBody(ex, block, 0, isLast ? this.lastEnd : BLOCK_BYTES);
    }
    this.delivering = false;
  }
}

/** Stands in until somebody takes the body. */
const NOBODY: BodySink = {
  onBody(): void {},
  onBodyEnd(): void {},
  onBodyFault(): void {},
};
