import { copyBytes } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import type { BodyBudget } from "../../memory/body-budget.ts";
import type { BodyHold, HoldOwner } from "../../memory/body-hold.ts";
import type { BodySink, Exchange } from "../../message/exchange.ts";

/** Who takes the whole body. */
export interface WholeBodyTaker {
  onWholeBody(ex: Exchange, bytes: Buffer): void;
}

/** Gathers a request body, which is no longer than its route allows, and hands it on. */
export class WholeBody implements BodySink, HoldOwner {
  private readonly taker: WholeBodyTaker;
  private readonly budget: BodyBudget;
  private ex: Exchange | null = null;
  private hold: BodyHold | null = null;
  private bytes: Buffer = NO_BYTES;
  private length = 0;
  private isOver = false;

  constructor(taker: WholeBodyTaker, budget: BodyBudget) {
    this.taker = taker;
    this.budget = budget;
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.isOver) return;
    this.ex = ex;
    this.hold ??= this.budget.open(this, ex);
    this.hold.progress(to - from);
    const need = this.length + to - from;
    if (need > this.bytes.length && !this.grow(ex, need)) return;
    this.length = copyBytes(this.bytes, this.length, bytes, from, to);
  }

  onBodyEnd(ex: Exchange): void {
    if (this.isOver) return;
    const whole = this.bytes.subarray(0, this.length);
    this.release();
    this.taker.onWholeBody(ex, whole);
  }

  onBodyFault(): void {
    this.release();
  }

  onCounted(): void {
    const { ex, hold } = this;
    const fault = hold!.growTo(this.bytes.length);
    if (fault !== Fault.None && ex !== null && !this.isOver) this.refuse(ex, fault, hold!.refusedBy);
  }

  onEvicted(key: string): void {
    if (this.ex !== null && !this.isOver) this.refuse(this.ex, Fault.BodyEvicted, key);
  }

  /** Room grows with the received data: a declared length costs nothing. @returns false if it was refused */
  private grow(ex: Exchange, need: number): boolean {
    // The first piece may be all, and is not counted then.
    const room = this.length === 0 ? need : need * 2;
    const fault = this.length === 0 ? Fault.None : this.hold!.growTo(room);
    if (this.isOver) return false;
    if (fault !== Fault.None) {
      this.refuse(ex, fault, this.hold!.refusedBy);
      return false;
    }
    const larger = Buffer.allocUnsafeSlow(room);
    copyBytes(larger, 0, this.bytes, 0, this.length);
    this.bytes = larger;
    return true;
  }

  private refuse(ex: Exchange, fault: Fault, key: string): void {
    this.release();
    ex.detail = key;
    ex.sink.abort(ex, fault);
  }

  private release(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.hold?.release();
    this.bytes = NO_BYTES;
  }
}

const NO_BYTES: Buffer = Buffer.alloc(0);
