import { Fault } from "../../core/fault.ts";
import { FUNCTION_IDLE_MS } from "../../core/limits.ts";
import { TimerNode, type TimerOwner, type TimerWheel } from "../../core/timer-wheel.ts";
import { type Exchange, ExchangeState, type Handler } from "../../message/exchange.ts";
import type { BodySink, NowMs, ReplySource } from "../../message/ports.ts";
import type { FunctionLink, LinkCall, ThreadDeath } from "./function-link.ts";
import type { FunctionPool, PoolWaiter } from "./function-pool.ts";
import { fieldsFault, type ReplyRecord, readReply, setReply } from "./reply-record.ts";
import { writeCall } from "./request-record.ts";
import { CallKind, CREDIT_BYTES, type FunctionLine, type Records, SendWindow, Word } from "./wire.ts";

/** What calls ask of their worker. */
export interface FunctionServices {
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  readonly requestIds: { assign(ex: Exchange): void };
  readonly listener: FunctionListener;
}

/** Who is told what becomes of calls. */
export interface FunctionListener {
  onLine(module: string, line: FunctionLine): void;
  /** @param ms from the request to the response's head, or to the refusal */
  onCall(module: string, outcome: CallOutcome, ms: number): void;
}

/** How a call has ended, as metrics count it. */
export type CallOutcome = "ok" | "error" | "timeout" | "gone" | "busy" | "cancelled";

/** What a call is made with. */
export interface CallSite {
  /** The absolute path of the module. */
  readonly module: string;
  /** From the request to the head of its response. */
  readonly timeoutMs: number;
  readonly pool: FunctionPool;
  readonly services: FunctionServices;
  /** Where `ctx.upstream()` goes; null without a target. */
  readonly upstream: Handler | null;
}

/** Requests that a thread had not begun when it ended go to another, so often. */
const MAX_ATTEMPTS = 3;

/**
 * One request at a function.
 *
 *   Waiting (for a place in a thread) ──▶ Asking ──head──▶ Replying ──end──▶ (over)
 *        └── refused, time ──▶ (over)       └── failed, time, death ──▶ (over)
 *
 * It lets go of the exchange, which is pooled, as soon as one of the two is done with the other.
 */
export class FunctionCall implements BodySink, ReplySource, LinkCall, PoolWaiter, TimerOwner {
  /** Pieces of the request's body are copied. */
  readonly keepsNothing = true;
  private readonly site: CallSite;
  private ex: Exchange | null;
  private link: FunctionLink | null = null;
  private id = 0;
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly startedMs: number;
  private readonly window: SendWindow = new SendWindow();
  private isBodyPaused = false;
  /** Whether something of the request's body has gone to a thread. */
  private hasSentBody = false;
  private attempts = 0;
  private isReplying = false;
  /** Bytes of the response that are still to come, where that is known; else -1. */
  private left = -1;
  /** Pieces of the response that the client has not taken. */
  private readonly held: Uint8Array[] = [];
  private isFull = false;
  private hasEnded = false;
  private taken = 0;

  constructor(site: CallSite, ex: Exchange) {
    this.site = site;
    this.ex = ex;
    this.startedMs = site.services.turn.nowMs;
  }

  start(): void {
    const ex = this.ex!;
    const { services, pool, timeoutMs } = this.site;
    services.requestIds.assign(ex);
    ex.source = this;
    if (ex.request.hasBody()) {
      ex.body = this;
      this.pause(ex);
    }
    services.wheel.arm(this.timer, services.turn.nowMs + timeoutMs);
    pool.take(this);
  }

  // ── the thread ────────────────────────────────────────────────────────────────────────────────────────────────

  onLink(link: FunctionLink): void {
    const ex = this.ex!;
    this.link = link;
    this.attempts++;
    this.id = link.open(this);
    const hasBody = ex.request.hasBody();
    writeCall(link.record(Word.Request, this.id), CallKind.Fetch, ex, hasBody);
    if (!hasBody) return;
    ex.sink.wantBody(ex);
    this.resume(ex);
  }

  onRefused(fault: Fault): void {
    this.end(fault, fault === Fault.FunctionBusy ? "busy" : "error");
  }

  onDeath({ hasBegun, isCulprit }: ThreadDeath): void {
    this.link = null;
    const isFresh = !hasBegun && !this.hasSentBody && !this.isReplying && this.ex !== null;
    if (isFresh && this.attempts < MAX_ATTEMPTS) return this.site.pool.take(this);
    if (this.ex === null) return;
    this.note(isCulprit ? "it did not come back in time: its thread was ended" : "its thread has ended");
    if (isCulprit) this.end(Fault.FunctionTimeout, "timeout");
    else this.end(Fault.FunctionGone, "gone");
  }

  onRecord(word: Word, records: Records): void {
    if (word === Word.Response) this.onReply(readReply(records));
    else if (word === Word.Body) this.onPiece(records.bytes());
    else if (word === Word.End) this.onReplyEnd();
    else if (word === Word.Fault) this.end(Fault.FunctionFailed, "error");
    else if (word === Word.Taken) this.onTaken(records.number());
    else if (word === Word.Failed) this.onFailed(records.number());
    else if (word === Word.Log) this.site.services.listener.onLine(this.site.module, JSON.parse(records.raw()));
    else throw new Error(`a thread said ${word}`);
  }

  private onFailed(status: number): void {
    const fault = status === 400 ? Fault.BadTarget : status === 501 ? Fault.FunctionMethod : Fault.FunctionFailed;
    this.end(fault, "error");
  }

  private onReply(record: ReplyRecord): void {
    const { ex } = this;
    if (ex === null || this.isReplying) return;
    const fault = fieldsFault(record.fields);
    if (fault !== "" || record.status < 200 || record.status > 599) {
      this.note(`the response cannot be sent: ${fault || `status ${record.status}`}`);
      return this.end(Fault.FunctionFailed, "error");
    }
    this.isReplying = true;
    this.count("ok");
    this.site.services.wheel.disarm(this.timer);
    ex.upstreamMs = this.site.services.turn.nowMs - this.startedMs;
    const withBody = setReply(ex, record);
    this.left = withBody && record.mode === "2" ? record.length : -1;
    ex.sink.head(ex);
    if (record.mode === "1" && withBody && isOpen(ex)) ex.sink.body(ex, record.body!, 0, record.body!.length);
    if (!isOpen(ex)) return void this.leave();
    if (record.mode !== "2") return this.finish();
    this.awaitPiece();
  }

  onPiece(bytes: Uint8Array): void {
    const { ex } = this;
    if (ex === null || !this.isReplying) return;
    this.awaitPiece();
    if (this.left >= 0) {
      this.left -= bytes.length;
      if (this.left < 0) return this.end(Fault.FunctionFailed, "error");
    }
    if (this.isFull) this.held.push(bytes);
    else this.give(ex, bytes);
  }

  private onReplyEnd(): void {
    if (this.ex === null || !this.isReplying) return;
    if (this.left > 0) return this.end(Fault.FunctionFailed, "error");
    this.hasEnded = true;
    if (this.held.length === 0) this.finish();
  }

  private give(ex: Exchange, bytes: Uint8Array): void {
    if (ex.sink.body(ex, bytes, 0, bytes.length)) this.credit(bytes.length);
    else {
      this.isFull = true;
      this.taken += bytes.length;
    }
  }

  /** Tells the thread what has been taken of its body, in steps. */
  private credit(bytes: number): void {
    this.taken += bytes;
    if (this.taken < CREDIT_BYTES || this.link === null) return;
    this.link.record(Word.Taken, this.id).line(this.taken);
    this.taken = 0;
  }

  // ── the client ────────────────────────────────────────────────────────────────────────────────────────────────

  onBody(_ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    const { ex, link } = this;
    if (ex === null || link === null) return;
    this.hasSentBody = true;
    link.body(this.id, bytes, from, to);
    if (!this.window.sent(to - from)) this.pause(ex);
  }

  onBodyEnd(): void {
    this.hasSentBody = true;
    this.link?.record(Word.End, this.id);
  }

  onBodyFault(): void {
    this.link?.record(Word.Fault, this.id);
  }

  onWritable(ex: Exchange): void {
    this.isFull = false;
    this.credit(0);
    while (!this.isFull && this.held.length > 0 && this.ex !== null) this.give(ex, this.held.shift()!);
    if (this.hasEnded && this.held.length === 0 && this.ex !== null) this.finish();
  }

  onCancelled(): void {
    if (!this.isReplying) this.count("cancelled");
    this.link?.record(Word.Cancel, this.id);
    this.leave();
  }

  private onTaken(bytes: number): void {
    if (this.window.taken(bytes) && this.ex !== null) this.resume(this.ex);
  }

  private pause(ex: Exchange): void {
    if (this.isBodyPaused) return;
    this.isBodyPaused = true;
    ex.flow.pauseBody(ex);
  }

  private resume(ex: Exchange): void {
    if (!this.isBodyPaused) return;
    this.isBodyPaused = false;
    ex.flow.resumeBody(ex);
  }

  // ── time and ends ─────────────────────────────────────────────────────────────────────────────────────────────

  onTimer(): void {
    if (this.ex === null) return;
    const what = this.isReplying ? "its response has made no progress" : "no response in time";
    if (!this.isFull) {
      this.note(what);
      this.link?.record(Word.Cancel, this.id);
      return this.end(Fault.FunctionTimeout, "timeout");
    }
    this.awaitPiece();
  }

  private awaitPiece(): void {
    const { wheel, turn } = this.site.services;
    wheel.arm(this.timer, turn.nowMs + FUNCTION_IDLE_MS);
  }

  /** The whole response has been given. */
  private finish(): void {
    const ex = this.leave();
    if (ex !== null && isOpen(ex)) ex.sink.end(ex);
  }

  private end(fault: Fault, outcome: CallOutcome): void {
    if (!this.isReplying) this.count(outcome);
    const { link, id } = this;
    if (this.isReplying) link?.record(Word.Cancel, id);
    const ex = this.leave();
    if (ex !== null && isOpen(ex)) ex.sink.abort(ex, fault);
  }

  private note(what: string): void {
    const { services, module } = this.site;
    const request_id = this.ex!.reply.requestId();
    const route = this.ex!.route!.label;
    services.listener.onLine(module, {
      event: "function_failed",
      level: "error",
      fields: { what, error: what, at: module, stack: "", route, request_id },
    });
  }

  private count(outcome: CallOutcome): void {
    const { listener, turn } = this.site.services;
    listener.onCall(this.site.module, outcome, turn.nowMs - this.startedMs);
  }

  /** Lets go of the exchange and of the place in the thread. */
  private leave(): Exchange | null {
    const { ex, link, site } = this;
    this.ex = null;
    this.link = null;
    this.held.length = 0;
    site.services.wheel.remove(this.timer);
    site.pool.leave(this);
    if (link !== null) {
      link.close(this.id);
      site.pool.serve();
    }
    return ex;
  }
}

function isOpen(ex: Exchange): boolean {
  return ex.state === ExchangeState.Open || ex.state === ExchangeState.Replying;
}
