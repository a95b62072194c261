import { Fault } from "../../core/fault.ts";
import { shorterInTests } from "../../core/shorter-in-tests.ts";
import { TimerNode, type TimerOwner, type TimerWheel } from "../../core/timer-wheel.ts";
import type { CallOutcome } from "../../memory/span-ring.ts";
import type { BodySink, Exchange, ResponseSource } from "../../message/exchange.ts";
import { mayRespond } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import type { CallSpanPorts, CallSpans } from "./call-spans.ts";
import type { FunctionLink, LinkCall, ThreadDeath } from "./function-link.ts";
import type { FunctionPool, PoolWaiter } from "./function-pool.ts";
import { FunctionTunnel, readUpgrade, socketFault, type UpgradeRecord } from "./function-tunnel.ts";
import { FunctionUpstream, type UpstreamPorts } from "./function-upstream.ts";
import { writeCall } from "./request-record.ts";
import { type ResponseRecord, readResponseRecord } from "./response-record.ts";
import { faultOfStatus, ThreadResponse, type ThreadResponseOwner } from "./thread-response.ts";
import { CallKind, type FunctionLine, RecordFault, type Records, SendWindow, WireWord } from "./wire.ts";

/** Longest pause within the response of a function, in milliseconds: as that of an origin by default. */
export const FUNCTION_IDLE_MS: number = shorterInTests("FUNCTION_IDLE_MS", 300_000);

/** What calls ask of their worker. */
export interface FunctionPorts {
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  readonly requestIds: { assign(ex: Exchange): void };
  readonly listener: FunctionListener;
  readonly spans: CallSpans;
}

/** Who learns what becomes of calls. */
export interface FunctionListener {
  onLine(module: string, line: FunctionLine): void;
  /** @param ms from the request to the response's head, or to the refusal */
  onCall(module: string, outcome: CallOutcome, ms: number): void;
}

/** What a call is made with. */
export interface CallPorts {
  /** The absolute path of the module. */
  readonly module: string;
  /** From the request to the head of its response. */
  readonly timeoutMs: number;
  readonly pool: FunctionPool;
  readonly services: FunctionPorts;
  /** Where `ctx.upstream()` goes; null without a target. */
  readonly upstream: UpstreamPorts | null;
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
export class FunctionCall implements BodySink, ResponseSource, LinkCall, PoolWaiter, TimerOwner, ThreadResponseOwner {
  /** Pieces of the request's body are copied. */
  readonly keepsNothing = true;
  private readonly site: CallPorts;
  private ex: Exchange | null;
  private link: FunctionLink | null = null;
  private id = 0;
  private response: ThreadResponse | null = null;
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly startedMs: number;
  private readonly window: SendWindow = new SendWindow();
  private isBodyPaused = false;
  /** Whether something of the request's body has gone to a thread. */
  private hasSentBody = false;
  private attempts = 0;
  private readonly upstreams: Set<FunctionUpstream> = new Set();
  /** Null if the request's trace is not recorded. */
  private readonly span: CallSpanPorts | null;
  private outcome: CallOutcome = "ok";
  /** Of the response; 0 before there is one. */
  private status = 0;

  constructor(site: CallPorts, ex: Exchange) {
    this.site = site;
    this.ex = ex;
    this.span = site.services.spans.call(ex, "fetch", site.module);
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
    this.span?.onThread();
    this.link = link;
    this.attempts++;
    this.id = link.open(this);
    this.response = new ThreadResponse(ex, link, this.id, this);
    const hasBody = ex.request.hasBody();
    writeCall(link.record(WireWord.Request, this.id), CallKind.Fetch, ex, hasBody);
    if (!hasBody) return;
    ex.sink.wantBody(ex);
    this.resume(ex);
  }

  onRefused(fault: Fault): void {
    this.end(fault, fault === Fault.FunctionBusy ? "busy" : "error");
  }

  onDeath({ hasBegun, isCulprit }: ThreadDeath): void {
    this.link = null;
    if (this.ex === null) return;
    const isFresh = !hasBegun && !this.hasSentBody && !this.isResponding;
    if (isFresh && this.attempts < MAX_ATTEMPTS) return this.site.pool.take(this);
    this.note(isCulprit ? "it did not come back in time: its thread was ended" : "its thread has ended");
    if (isCulprit) this.end(Fault.FunctionTimeout, "timeout");
    else this.end(Fault.FunctionGone, "gone");
  }

  onRecord(word: WireWord, records: Records): void {
    if (word === WireWord.Response) this.onResponse(readResponseRecord(records));
    else if (word === WireWord.Body) this.onPiece(records.bytes());
    else if (word === WireWord.End) this.response!.end();
    else if (word === WireWord.Fault) this.end(Fault.FunctionFailed, "error");
    else if (word === WireWord.Taken) this.onTaken(records.number());
    else if (word === WireWord.Upgrade) this.onUpgrade(readUpgrade(records));
    else if (word === WireWord.Failed) this.end(faultOfStatus(records.number()), "error");
    else throw new RecordFault(`a thread said ${word}`);
  }

  private onResponse(record: ResponseRecord): void {
    this.status = record.status;
    this.response!.begin(record);
  }

  private onUpgrade(record: UpgradeRecord): void {
    const { ex, link, id, site } = this;
    const fault = socketFault(ex!, record.fields);
    if (fault !== "") return this.onBroken(fault);
    this.status = 101;
    this.onHead();
    // The place in the thread is the tunnel's from here on.
    this.link = null;
    this.leave();
    const tunnel = new FunctionTunnel(link!, id, () => site.pool.serve());
    link!.attach(id, tunnel);
    tunnel.start(ex!, record);
  }

  onPiece(bytes: Uint8Array): void {
    this.response!.piece(bytes);
  }

  onUpstream(id: number, records: Records): void {
    const upstream = new FunctionUpstream(this.link!, id, (over) => this.upstreams.delete(over));
    this.upstreams.add(upstream);
    upstream.start(this.site.upstream, this.ex!, records, this.span);
  }

  // ── the response ──────────────────────────────────────────────────────────────────────────────────────────────

  private get isResponding(): boolean {
    return this.response?.isBegun === true;
  }

  onHead(): void {
    this.count("ok");
    this.site.services.wheel.disarm(this.timer);
    this.ex!.attempt.upstreamMs = this.site.services.turn.nowMs - this.startedMs;
  }

  onProgress(): void {
    const { wheel, turn } = this.site.services;
    wheel.arm(this.timer, turn.nowMs + FUNCTION_IDLE_MS);
  }

  onComplete(): void {
    const ex = this.leave();
    if (ex !== null && mayRespond(ex)) ex.sink.end(ex);
  }

  onBroken(why: string): void {
    if (why !== "") this.note(why);
    this.end(Fault.FunctionFailed, "error");
  }

  onEnded(): void {
    this.leave();
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
    if (this.ex !== null) this.ex.attempt.bodyEndedMs = this.site.services.turn.nowMs;
    this.link?.record(WireWord.End, this.id);
  }

  onBodyFault(): void {
    this.link?.record(WireWord.Fault, this.id);
  }

  onWritable(): void {
    this.response?.onWritable();
  }

  onCancelled(): void {
    if (!this.isResponding) this.count("cancelled");
    this.outcome = "cancelled";
    this.link?.record(WireWord.Cancel, this.id);
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
    // The time that a client takes to read is bounded by the client's own sink.
    if (this.response?.isFull === true) return this.onProgress();
    this.note(this.isResponding ? "its response has made no progress" : "no response in time");
    if (!this.isResponding) this.link?.overdue(this.id, this.site.timeoutMs);
    this.end(Fault.FunctionTimeout, "timeout");
  }

  private end(fault: Fault, outcome: CallOutcome): void {
    this.outcome = outcome;
    if (!this.isResponding) this.count(outcome);
    else this.link?.record(WireWord.Cancel, this.id);
    const ex = this.leave();
    if (ex !== null && mayRespond(ex)) ex.sink.abort(ex, fault);
  }

  private note(what: string): void {
    const { services, module, pool } = this.site;
    services.listener.onLine(module, failureLine(what, pool.exports?.places.fetch ?? module, this.ex!));
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
    this.response?.stop();
    this.span?.end(this.outcome, this.status);
    site.services.wheel.remove(this.timer);
    site.pool.leave(this);
    for (const upstream of [...this.upstreams]) upstream.cancel();
    if (link !== null) {
      link.close(this.id);
      site.pool.serve();
    }
    return ex;
  }
}

/** The line of the log for what the data worker has found. @param at `file:line` of the function */
export function failureLine(what: string, at: string, ex: Exchange): FunctionLine {
  const route = ex.route!.label;
  const request_id = ex.response.requestId();
  return {
    event: "function_failed",
    level: "error",
    fields: { what, error: what, at, stack: "", route, request_id },
  };
}
