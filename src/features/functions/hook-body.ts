import { copyBytes } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import type { BodyBudget } from "../../memory/body-budget.ts";
import type { BodyHold, HoldOwner } from "../../memory/body-hold.ts";
import type { BodySink, Exchange } from "../../message/exchange.ts";
import { PacedBody } from "../../message/given-body.ts";
import { NO_TAKER } from "../../message/idle-ports.ts";
import type { Held } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import { MAX_PIECE_BYTES } from "./wire.ts";

/** The first buffer of a body; it doubles. */
const FIRST_BYTES = 1024;
const NO_BYTES: Buffer = Buffer.alloc(0);

/**
 * The body of a request that a hook is asked about: it is held whole, in memory that the budget of bodies counts, until the request goes on,
 * and handed on then, or another that the hook has given. docs/functions.md#hooks
 *
 *   Gathering ──end──▶ Held (onWhole) ──onward──▶ handed on
 */
export class HookBody extends PacedBody implements BodySink, Held, HoldOwner {
  /** Pieces are copied. */
  readonly keepsNothing = true;
  private ex: Exchange | null;
  private readonly budget: BodyBudget;
  private readonly maxBytes: number;
  private readonly onWhole: () => void;
  /** What the exchange held before, which this one ends with it. */
  private readonly before: Held | null;
  private hold: BodyHold | null = null;
  private bytes: Buffer = NO_BYTES;
  private length = 0;
  private at = 0;

  /**
   * @param maxBytes of the body: one that is longer is refused with 413
   * @param onWhole is called when all of it has come
   */
  constructor(ex: Exchange, budget: BodyBudget, maxBytes: number, onWhole: () => void) {
    super();
    this.ex = ex;
    this.budget = budget;
    this.maxBytes = maxBytes;
    this.onWhole = onWhole;
    this.before = ex.held;
    ex.held = this;
  }

  /** Begins to take the client's body. */
  gather(): void {
    const ex = this.ex!;
    ex.body = this;
    ex.sink.wantBody(ex);
  }

  /** All that is held; it stays unchanged. */
  get whole(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  // ── the client's body ─────────────────────────────────────────────────────────────────────────────────────────

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    if (this.ex === null || from === to) return;
    this.openHold(ex);
    this.hold?.progress(to - from);
    const fault = this.push(bytes, from, to);
    if (fault !== Fault.None) this.refuse(fault, this.hold?.refusedBy ?? "");
  }

  onBodyEnd(): void {
    const { ex, hold } = this;
    if (ex === null) return;
    ex.flow = this;
    ex.body = NO_TAKER;
    hold?.settle();
    hold?.count();
    if (this.ex !== null) this.onWhole();
  }

  onBodyFault(): void {
    this.release();
  }

  onCounted(): void {
    const fault = this.hold!.growTo(this.bytes.length);
    if (fault !== Fault.None) this.refuse(fault, this.hold?.refusedBy ?? "");
  }

  onEvicted(key: string): void {
    this.refuse(Fault.BodyEvicted, key);
  }

  // ── the hook's ────────────────────────────────────────────────────────────────────────────────────────────────

  /** The hook gives another body: what is pushed from here on. */
  empty(): void {
    this.length = 0;
  }

  /** Adds bytes. @returns Fault.None, or why there is no room for them */
  push(bytes: Uint8Array, from: number, to: number): Fault {
    const length = this.length + to - from;
    if (length > this.maxBytes) return Fault.BodyTooLarge;
    if (length > this.bytes.length) {
      const fault = this.grow(Math.max(length, Math.min(this.maxBytes, Math.max(FIRST_BYTES, this.bytes.length * 2))));
      if (fault !== Fault.None) return fault;
    }
    this.length = copyBytes(this.bytes, this.length, bytes, from, to);
    return Fault.None;
  }

  // ── onward ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The request goes on with the held data: its framing says so, and nothing of the exchange tells of another body. */
  frame(): void {
    const ex = this.ex!;
    const { request } = ex;
    ex.bodyBytes = this.length;
    ex.wholeBodyBytes = this.length;
    request.framing = this.length > 0 ? Framing.Length : Framing.None;
    request.contentLength = this.length;
    if (this.length === 0) this.release();
  }

  protected override isLeft(): boolean {
    return this.ex !== null;
  }

  protected override handOn(ex: Exchange): void {
    const { at, length } = this;
    if (at < length) {
      this.at = Math.min(length, at + MAX_PIECE_BYTES);
      ex.body.onBody(ex, this.bytes, at, this.at);
      return;
    }
    this.release();
    ex.body.onBodyEnd(ex);
  }

  /** The exchange is over, or the body has been handed on. */
  release(): void {
    if (this.ex === null) return;
    this.ex = null;
    this.bytes = NO_BYTES;
    this.hold?.release();
    this.before?.release();
  }

  private grow(room: number): Fault {
    this.openHold(this.ex!);
    const { hold } = this;
    if (hold?.isCounted === true) {
      const fault = hold.growTo(room);
      if (fault !== Fault.None) return fault;
    }
    const larger = Buffer.allocUnsafeSlow(room);
    copyBytes(larger, 0, this.bytes, 0, this.length);
    this.bytes = larger;
    return Fault.None;
  }

  private openHold(ex: Exchange): void {
    this.hold ??= this.budget.open(this, ex);
  }

  private refuse(fault: Fault, key: string): void {
    const { ex } = this;
    if (ex === null) return;
    this.release();
    ex.detail = key;
    ex.sink.abort(ex, fault);
  }
}
