import { Fault } from "../../core/fault.ts";
import { TimerNode, type TimerOwner } from "../../core/timer-wheel.ts";
import type { BodyBudget } from "../../memory/body-budget.ts";
import type { CallOutcome } from "../../memory/span-ring.ts";
import { type Exchange, ExchangeState, mayRespond, type ResponseSource, Verdict } from "../../message/exchange.ts";
import { PhaseWait } from "../../message/phase-wait.ts";
import type { CallSpanPorts } from "./call-spans.ts";
import { type CallPorts, FUNCTION_IDLE_MS, failureLine } from "./function-call.ts";
import type { FunctionLink, LinkCall, ThreadDeath } from "./function-link.ts";
import type { PoolWaiter } from "./function-pool.ts";
import { FunctionUpstream } from "./function-upstream.ts";
import { HookBody } from "./hook-body.ts";
import { HookSink } from "./hook-sink.ts";
import { changeRequest, readChange } from "./hooked-request.ts";
import { writeCall } from "./request-record.ts";
import { readResponseRecord } from "./response-record.ts";
import { faultOfStatus, ThreadResponse, type ThreadResponseOwner } from "./thread-response.ts";
import { CallKind, RecordFault, type Records, WireWord } from "./wire.ts";

/** What hooks are made with. */
export interface HookPorts extends CallPorts {
  /** Whether they see bodies. */
  readonly bodies: boolean;
  /** Bytes of a body that is held for them. */
  readonly maxBodyBytes: number;
  readonly budget: BodyBudget;
}

/** What a call is doing for its exchange. */
const enum Stage {
  /** It waits for a thread, or for what `onRequest` says. */
  Request = 0,
  /** The request has gone on. */
  Between,
  /** It waits for a thread, or for what `onResponse` says; the response is held. */
  Response,
  /** The response of a hook goes out. */
  Replying,
  Over,
}

/**
 * The hooks of one exchange: `onRequest` before its route's handler, `onResponse` before the response goes on.
 */
export class HookCall implements LinkCall, PoolWaiter, TimerOwner, ThreadResponseOwner, ResponseSource {
  private readonly site: HookPorts;
  private readonly ex: Exchange;
  private readonly uses: number;
  private stage: Stage = Stage.Request;
  private link: FunctionLink | null = null;
  private id = 0;
  private wait: PhaseWait | null = null;
  private sink: HookSink | null = null;
  private response: ThreadResponse | null = null;
  /** The request's, where it is held for `onRequest`. */
  private body: HookBody | null = null;
  /** Whether another body is coming from `onRequest`. */
  private takesBody = false;
  private readonly timer: TimerNode = new TimerNode(this);
  private startedMs: number;
  private upstreams: Set<FunctionUpstream> | null = null;
  /** Whether the thread is done with the call that it has. */
  private isAnswered = false;
  /** Of the hook that was asked last; null if the request's trace is not recorded. */
  private span: CallSpanPorts | null = null;
  /** Of a response of its own; 0 without one. */
  private status = 0;

  constructor(site: HookPorts, ex: Exchange) {
    this.site = site;
    this.ex = ex;
    this.uses = ex.uses;
    this.startedMs = site.services.turn.nowMs;
  }

  start(): Verdict {
    const { ex, site } = this;
    site.services.requestIds.assign(ex);
    // A module without onRequest is asked when there is a response.
    if (site.pool.exports?.onRequest === false) {
      this.watchResponse();
      return Verdict.Next;
    }
    // What the handler does not take is not inspected by the firewall either.
    const isHeld = site.bodies && ex.request.hasBody() && ex.route!.kind.takesBody;
    return isHeld ? this.gather() : this.askRequest();
  }

  /** The body is held first. */
  private gather(): Verdict {
    const { ex, site } = this;
    const { maxBodyBytes } = site;
    if (ex.request.contentLength > maxBodyBytes) {
      ex.sink.abort(ex, Fault.BodyTooLarge);
      return Verdict.Done;
    }
    ex.maxBodyBytes = ex.maxBodyBytes === 0 ? maxBodyBytes : Math.min(ex.maxBodyBytes, maxBodyBytes);
    this.body = new HookBody(ex, site.budget, maxBodyBytes, () => {
      this.startedMs = site.services.turn.nowMs;
      this.askRequest();
    });
    this.body.gather();
    return Verdict.Wait;
  }

  private askRequest(): Verdict {
    this.wait = new PhaseWait(this.ex, () => this.cancel());
    this.begin("onRequest");
    this.site.pool.take(this);
    return Verdict.Wait;
  }

  // ── the thread ────────────────────────────────────────────────────────────────────────────────────────────────

  onLink(link: FunctionLink): void {
    this.link = link;
    this.id = link.open(this);
    this.isAnswered = false;
    const { exports } = this.site.pool;
    const isAsked = this.stage === Stage.Request && exports?.onRequest !== false;
    if (isAsked || this.stage === Stage.Response) this.span?.onThread();
    else this.span = null;
    const asked = this.site.bodies ? CallKind.OnWholeRequest : CallKind.OnRequest;
    const body = isAsked ? this.body : null;
    writeCall(link.record(WireWord.Request, this.id), isAsked ? asked : CallKind.Context, this.ex, body !== null);
    if (body !== null) {
      link.body(this.id, body.whole, 0, body.whole.length);
      link.record(WireWord.End, this.id);
    }
    if (this.stage === Stage.Response) this.sink!.ask(link, this.id);
    // It is only known now that there is nothing to ask.
    else if (!isAsked) this.goOn();
  }

  onRefused(fault: Fault): void {
    this.fail(fault, fault === Fault.FunctionBusy ? "busy" : "error");
  }

  onDeath({ isCulprit, hasBegun }: ThreadDeath): void {
    this.link = null;
    if (this.stage === Stage.Over || this.stage === Stage.Between) return;
    if (!hasBegun && this.stage === Stage.Request) return this.site.pool.take(this);
    this.note(isCulprit ? "it did not come back in time: its thread was ended" : "its thread has ended");
    this.fail(isCulprit ? Fault.FunctionTimeout : Fault.FunctionGone, isCulprit ? "timeout" : "gone");
  }

  onRecord(word: WireWord, records: Records): void {
    if (word === WireWord.Pass) this.onPass();
    else if (word === WireWord.Changed) this.onChanged(records);
    else if (word === WireWord.Response) this.onResponse(records);
    else if (word === WireWord.Body) this.onPiece(records.bytes());
    else if (word === WireWord.End) this.onEnd();
    else if (word === WireWord.Fault) this.fail(Fault.FunctionFailed, "error");
    else if (word === WireWord.Failed) this.fail(faultOfStatus(records.number()), "error");
    else if (word === WireWord.Taken) records.line();
    else throw new RecordFault(`a thread said ${word} of a hook`);
  }

  onPiece(bytes: Uint8Array): void {
    if (!this.takesBody) this.response?.piece(bytes);
    else if (this.putBody(bytes)) this.link!.record(WireWord.Taken, this.id).line(bytes.length);
  }

  private onEnd(): void {
    if (!this.takesBody) return this.response?.end();
    this.takesBody = false;
    this.isAnswered = true;
    this.goOn();
  }

  onUpstream(id: number, records: Records): void {
    const upstreams = this.upstreams ?? new Set();
    this.upstreams = upstreams;
    const upstream = new FunctionUpstream(this.link!, id, (over) => upstreams.delete(over));
    upstreams.add(upstream);
    upstream.start(this.site.upstream, this.ex, records, this.span);
  }

  private onPass(): void {
    this.isAnswered = true;
    if (this.stage === Stage.Request) this.goOn();
    else if (this.stage === Stage.Response) {
      this.leave("ok");
      this.sink!.pass();
    }
  }

  private onChanged(records: Records): void {
    const change = readChange(records);
    const { mode, body } = change;
    this.isAnswered = mode !== "2";
    if (this.stage !== Stage.Request) return;
    const fault = changeRequest(this.ex, change);
    if (fault !== "") return this.onBroken(`the request of onRequest cannot be sent on: ${fault}`);
    if (mode === "k") return this.goOn();
    this.newBody();
    this.takesBody = mode === "2";
    if (!this.takesBody && (body === null || this.putBody(body))) this.goOn();
  }

  /** The body that was held is not sent on. */
  private newBody(): void {
    const { ex, site } = this;
    this.body ??= new HookBody(ex, site.budget, site.maxBodyBytes, () => {});
    this.body.empty();
  }

  /** Adds to the body that goes on. @returns false if there is no room: it has failed */
  private putBody(bytes: Uint8Array): boolean {
    const fault = this.body!.push(bytes, 0, bytes.length);
    if (fault === Fault.None) return true;
    this.takesBody = false;
    const isTooLong = fault === Fault.BodyTooLarge;
    if (isTooLong) this.note("the body of the request of onRequest is longer than max_body_bytes of hooks");
    this.fail(isTooLong ? Fault.FunctionFailed : fault, "error");
    return false;
  }

  /** A response in place of the request's way, or of its response; of the latter without a body, the head alone is another. */
  private onResponse(records: Records): void {
    const record = readResponseRecord(records);
    this.status = record.status;
    if (this.stage === Stage.Response) {
      if (record.mode !== "0") return this.replace(() => this.response!.begin(record));
      const why = this.sink!.setHead(record);
      if (why !== "") return this.onBroken(why);
      this.leave("ok");
      this.sink!.pass();
    } else if (this.stage === Stage.Request) {
      this.wait!.end();
      this.ex.source = this;
      this.replace(() => this.response!.begin(record));
    }
  }

  private replace(begin: () => void): void {
    this.sink?.drop();
    this.body?.release();
    if (this.sink !== null) this.ex.source = this;
    this.stage = Stage.Replying;
    this.response = new ThreadResponse(this.ex, this.link!, this.id, this);
    begin();
  }

  // ── the exchange ──────────────────────────────────────────────────────────────────────────────────────────────

  private goOn(): void {
    const { wait, body, ex } = this;
    this.count("ok");
    this.site.services.wheel.disarm(this.timer);
    wait!.end();
    // Where the request came without one, no one has it wait.
    const isNew = body !== null && !ex.request.hasBody();
    body?.frame();
    if (isNew && body !== null) ex.flow = body;
    if (this.site.pool.exports?.onResponse === false) this.leave(null);
    else {
      this.closeLink();
      this.watchResponse();
    }
    wait!.goOn();
    if (isNew) body?.deliver(ex);
  }

  private watchResponse(): void {
    this.stage = Stage.Between;
    this.sink = new HookSink(this.ex.sink, this);
    this.ex.sink = this.sink;
  }

  /** There is a response, which is held: `onResponse` is asked. */
  askResponse(): void {
    const { exports } = this.site.pool;
    if (this.stage !== Stage.Between || exports?.onResponse === false) return this.sink!.pass();
    this.stage = Stage.Response;
    this.startedMs = this.site.services.turn.nowMs;
    this.begin("onResponse");
    this.site.pool.take(this);
  }

  get holdsBodies(): boolean {
    return this.site.bodies;
  }

  get maxBodyBytes(): number {
    return this.site.maxBodyBytes;
  }

  /** The body that is held is too long. */
  onTooLong(): void {
    this.note("the response is longer than max_body_bytes of hooks");
    this.stage = Stage.Response;
    this.fail(Fault.FunctionFailed, "error");
  }

  /** The exchange is over before `onResponse` was asked, or while it was. */
  onExchangeOver(): void {
    if (this.stage === Stage.Over) return;
    if (this.stage !== Stage.Between) this.link?.record(WireWord.Cancel, this.id);
    this.leave(null);
  }

  // ── a hook's own response ─────────────────────────────────────────────────────────────────────────────────────

  onHead(): void {
    this.count("ok");
  }

  onProgress(): void {
    const { wheel, turn } = this.site.services;
    wheel.arm(this.timer, turn.nowMs + FUNCTION_IDLE_MS);
  }

  onComplete(): void {
    const { ex } = this;
    this.leave(null);
    if (mayRespond(ex)) ex.sink.end(ex);
  }

  onBroken(why: string): void {
    if (why !== "") this.note(why);
    this.fail(Fault.FunctionFailed, "error");
  }

  onEnded(): void {
    this.leave(null);
  }

  onWritable(): void {
    this.response?.onWritable();
  }

  onCancelled(): void {
    this.cancel();
  }

  // ── time and ends ─────────────────────────────────────────────────────────────────────────────────────────────

  onTimer(): void {
    if (this.stage === Stage.Over) return;
    if (this.response?.isFull === true) return this.onProgress();
    this.note("it took too long");
    this.link?.overdue(this.id, this.site.timeoutMs);
    this.fail(Fault.FunctionTimeout, "timeout");
  }

  private fail(fault: Fault, outcome: CallOutcome): void {
    const { ex, stage, sink, wait } = this;
    if (stage === Stage.Over || stage === Stage.Between) return;
    this.leave(stage === Stage.Replying ? null : outcome);
    if (ex.uses !== this.uses || ex.state === ExchangeState.Finished) return;
    this.body?.release();
    if (stage === Stage.Request) wait!.end();
    if (sink !== null && stage === Stage.Response) sink.drop();
    if (mayRespond(ex)) ex.sink.abort(ex, fault);
  }

  private cancel(): void {
    if (this.stage === Stage.Over) return;
    this.link?.record(WireWord.Cancel, this.id);
    this.leave("cancelled");
  }

  private begin(name: "onRequest" | "onResponse"): void {
    const { wheel, turn, spans } = this.site.services;
    wheel.arm(this.timer, turn.nowMs + this.site.timeoutMs);
    this.span = spans.call(this.ex, name, this.site.module);
  }

  private note(what: string): void {
    const { services, module, pool } = this.site;
    const name = this.sink === null ? "onRequest" : "onResponse";
    services.listener.onLine(module, failureLine(what, pool.exports?.places[name] ?? module, this.ex));
  }

  private count(outcome: CallOutcome): void {
    this.span?.end(outcome, this.status);
    const { listener, turn } = this.site.services;
    listener.onCall(this.site.module, outcome, turn.nowMs - this.startedMs);
  }

  /** The thread learns that nothing more comes. @param outcome to be counted; null if it has been */
  private leave(outcome: CallOutcome | null): void {
    const { site } = this;
    if (this.stage === Stage.Over) return;
    this.stage = Stage.Over;
    if (outcome !== null) this.count(outcome);
    this.response?.stop();
    site.services.wheel.remove(this.timer);
    site.pool.leave(this);
    if (this.upstreams !== null) for (const upstream of [...this.upstreams]) upstream.cancel();
    this.closeLink();
  }

  /** While its handler has the request, no place in a thread is taken. */
  private closeLink(): void {
    const { link } = this;
    this.link = null;
    if (link === null) return;
    if (!this.isAnswered) link.record(WireWord.Over, this.id);
    link.close(this.id);
    this.site.pool.serve();
  }
}
