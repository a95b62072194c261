import { copyBytes } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { BodySink } from "../../message/ports.ts";
import { type BodyBudget, BUDGET_BLOCK_BYTES } from "../../shared/body-budget.ts";

/** Who takes the whole body. */
export interface WholeBodyTaker {
  /** @param text null where the body is no UTF-8 */
  onWholeBody(ex: Exchange, text: string | null): void;
}

/** Gathers a request body, which is no longer than its route allows, and hands it on as text. */
export class JsonBody implements BodySink {
  private readonly taker: WholeBodyTaker;
  private readonly budget: BodyBudget;
  private takenBlocks = 0;
  private bytes: Buffer = NO_BYTES;
  private length = 0;
  private isOver = false;

  constructor(taker: WholeBodyTaker, budget: BodyBudget) {
    this.taker = taker;
    this.budget = budget;
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.isOver) return;
    const need = this.length + to - from;
    for (; this.takenBlocks * BUDGET_BLOCK_BYTES < need; this.takenBlocks++) {
      if (this.budget.take()) continue;
      this.release();
      ex.sink.abort(ex, Fault.BuffersFull);
      return;
    }
    if (need > this.bytes.length) this.grow(need);
    this.length = copyBytes(this.bytes, this.length, bytes, from, to);
  }

  onBodyEnd(ex: Exchange): void {
    if (this.isOver) return;
    const text = textOf(this.bytes.subarray(0, this.length));
    this.release();
    this.taker.onWholeBody(ex, text);
  }

  onBodyFault(): void {
    this.release();
  }

  /** Room grows with what has come: a declared length costs nothing. */
  private grow(need: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(need, Math.min(this.takenBlocks * BUDGET_BLOCK_BYTES, need * 2)));
    copyBytes(larger, 0, this.bytes, 0, this.length);
    this.bytes = larger;
  }

  private release(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.budget.give(this.takenBlocks);
    this.bytes = NO_BYTES;
  }
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const NO_BYTES: Buffer = Buffer.alloc(0);
