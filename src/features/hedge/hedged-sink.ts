import { Fault } from "../../core/fault.ts";
import { TimerNode, type TimerOwner } from "../../core/timer-wheel.ts";
import {
  type Exchange,
  ExchangeState,
  finishExchange,
  mayRespond,
  type ResponseSink,
  type ResponseSource,
} from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { Held, TunnelEnd } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { Hedge } from "./hedge.ts";

/**
 *   Waiting ──after──▶ Racing ──the second responds──▶ Second ─┐
 *      │                 ├─the first fails─▶ Alone ──responds──▶┤
 *      └──the first responds, or the second fails──▶ First ─────┴──▶ Over
 */
const enum Stage {
  /** The first request is under way. */
  Waiting = 0,
  /** Both are. */
  Racing,
  /** The second one is; the first has failed. */
  Alone,
  /** The client gets the response to the first request. */
  First,
  /** The client gets the response to the second one. */
  Second,
  Over,
}

/**
 * A request that may get a second one, between its handler and the client's sink: of both responses the first whose head
 * comes is the client's, and the other request is given up. docs/upstreams.md#hedging
 */
export class HedgedSink extends PassingSink implements Held, TimerOwner, ResponseSource {
  private readonly hedge: Hedge;
  private readonly ex: Exchange;
  /** Which use of the exchange this is: a connection uses one for each of its requests. */
  private readonly use: number;
  private readonly beganMs: number;
  private readonly timer: TimerNode = new TimerNode(this);
  /** Something that the exchange held before: this one ends it, too. */
  private readonly before: Held | null;
  private stage: Stage = Stage.Waiting;
  private copy: Exchange | null = null;
  private sentMs = 0;
  /** Why the first request has failed. */
  private failure: Fault = Fault.None;

  constructor(hedge: Hedge, ex: Exchange) {
    super(ex.sink);
    this.hedge = hedge;
    this.ex = ex;
    this.use = ex.uses;
    this.beganMs = hedge.nowMs;
    this.before = ex.held;
    ex.held = this;
    hedge.arm(this.timer, this.beganMs + hedge.settings.afterMs);
  }

  // ── the first request ─────────────────────────────────────────────────────────────────────────────────────────

  override fixed(ex: Exchange, response: PrebuiltResponse): void {
    this.settle(Stage.First);
    this.inner.fixed(ex, response);
  }

  override head(ex: Exchange): void {
    this.settle(Stage.First);
    this.inner.head(ex);
  }

  override upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.settle(Stage.First);
    return this.inner.upgrade(ex, tunnel);
  }

  override abort(ex: Exchange, fault: Fault): void {
    if (this.stage === Stage.Racing && fault !== Fault.Cancelled && !this.isLate()) {
      this.stage = Stage.Alone;
      this.failure = fault;
      ex.source = this;
      return;
    }
    this.settle(Stage.Over);
    this.inner.abort(ex, fault);
  }

  // ── the time ──────────────────────────────────────────────────────────────────────────────────────────────────

  onTimer(): void {
    if (this.stage === Stage.Waiting) this.race();
    else if (this.stage === Stage.Alone && this.isOurs()) {
      this.settle(Stage.Over);
      this.inner.abort(this.ex, Fault.UpstreamTimeout);
    }
  }

  private race(): void {
    const { hedge, ex } = this;
    if (!this.isOurs() || ex.state !== ExchangeState.Open) {
      this.stage = Stage.Over;
      return;
    }
    const copy = hedge.copyOf(ex);
    if (copy === null) {
      this.stage = Stage.First;
      return hedge.count("skipped");
    }
    this.stage = Stage.Racing;
    this.copy = copy;
    this.sentMs = hedge.nowMs;
    const { totalMs } = hedge.settings;
    if (totalMs > 0) hedge.arm(this.timer, this.beganMs + totalMs);
    hedge.send(copy, new SecondSink(this));
  }

  // ── the second request ────────────────────────────────────────────────────────────────────────────────────────

  /** Whether bytes of the second response may be overwritten once the client's sink has them. */
  get lends(): boolean {
    return this.inner.returnsBytes === true;
  }

  secondHead(copy: Exchange): void {
    copy.state = ExchangeState.Replying;
    const { ex } = this;
    if (!this.isOurs() || ex.state !== ExchangeState.Open) return this.settle(Stage.Over);
    this.hedge.disarm(this.timer);
    this.giveUpFirst(copy);
    this.stage = Stage.Second;
    this.hedge.count("won");
    ex.response.takeOver(copy.response);
    if (copy.response.extra !== null) ex.response.addExtra(copy.response.extra);
    ex.source = this;
    this.inner.head(ex);
    // A sink may have found that it cannot send the head, and be done with the exchange.
    if (this.copy !== null && (!this.isOurs() || !mayRespond(ex))) this.settle(Stage.Over);
  }

  /** The first request ends as if its client had left; the log names the second attempt. */
  private giveUpFirst(copy: Exchange): void {
    const { ex } = this;
    const { attempt } = ex;
    const first = attempt.target;
    if (first !== null) {
      ex.source.onCancelled(ex);
      attempt.end(this.hedge.nowMs);
      first.onOver(ex);
    }
    attempt.count++;
    attempt.begin(this.sentMs);
    attempt.end(this.hedge.nowMs);
    attempt.upstreamLabel = copy.attempt.upstreamLabel;
    attempt.upstreamMs = copy.attempt.upstreamMs;
    attempt.serverId = copy.attempt.serverId;
    attempt.grpcFailed = copy.attempt.grpcFailed;
  }

  secondBody(bytes: Uint8Array, from: number, to: number): boolean {
    return this.stage === Stage.Second ? this.inner.body(this.ex, bytes, from, to) : true;
  }

  secondEnd(copy: Exchange): void {
    const { ex, stage } = this;
    this.copy = null;
    this.stage = Stage.Over;
    if (stage === Stage.Second) {
      const { trailers } = copy.response;
      if (trailers !== null) {
        const own = ex.response.trailerBlock();
        own.copyFrom(trailers);
        ex.response.trailers = own;
      }
    }
    finish(copy, Fault.None, this.hedge.nowMs);
    if (stage === Stage.Second) this.inner.end(ex);
  }

  secondFailed(copy: Exchange, fault: Fault): void {
    const { ex, stage } = this;
    this.copy = null;
    this.hedge.disarm(this.timer);
    finish(copy, fault, this.hedge.nowMs);
    this.stage = stage === Stage.Racing ? Stage.First : Stage.Over;
    if (stage === Stage.Racing && copy.attempt.upstreamLabel === "") this.hedge.count("skipped");
    else if (stage === Stage.Racing || stage === Stage.Alone) this.hedge.count("failed");
    if (stage === Stage.Second) this.inner.abort(ex, fault);
    else if (stage === Stage.Alone) this.inner.abort(ex, this.failure);
  }

  secondInterim(status: number, headers: HeaderBlock): void {
    if (this.stage === Stage.Alone || this.stage === Stage.Second) this.inner.interim(this.ex, status, headers);
  }

  // ── the client ────────────────────────────────────────────────────────────────────────────────────────────────

  /** The client takes bytes of the second response again. */
  onWritable(_ex: Exchange): void {
    this.copy?.source.onWritable(this.copy);
  }

  /** The client has left while the second request is the only one. */
  onCancelled(_ex: Exchange): void {
    this.settle(Stage.Over);
  }

  /** The exchange is over: nothing of the race is left, whatever ended it. */
  release(): void {
    this.settle(Stage.Over);
    this.before?.release();
  }

  /** Whether `timeouts.total` is over, for both together: the first request's own limit ends with it. */
  private isLate(): boolean {
    const { totalMs } = this.hedge.settings;
    return totalMs > 0 && this.hedge.nowMs >= this.beganMs + totalMs;
  }

  private isOurs(): boolean {
    return this.ex.uses === this.use && this.ex.sink === this;
  }

  /** The race is over: a second request that is under way is given up. */
  private settle(stage: Stage): void {
    if (this.stage === Stage.Waiting || this.copy !== null) this.hedge.disarm(this.timer);
    this.stage = stage;
    const { copy } = this;
    if (copy === null) return;
    this.copy = null;
    copy.source.onCancelled(copy);
    finish(copy, Fault.Cancelled, this.hedge.nowMs);
  }
}

/** Takes the response to a second request. */
class SecondSink implements ResponseSink {
  private readonly owner: HedgedSink;

  constructor(owner: HedgedSink) {
    this.owner = owner;
  }

  get returnsBytes(): boolean {
    return this.owner.lends;
  }

  fixed(copy: Exchange): void {
    this.abort(copy, Fault.UpstreamUnavailable);
  }

  interim(_copy: Exchange, status: number, headers: HeaderBlock): void {
    this.owner.secondInterim(status, headers);
  }

  head(copy: Exchange): void {
    this.owner.secondHead(copy);
  }

  body(_copy: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    return this.owner.secondBody(bytes, from, to);
  }

  end(copy: Exchange): void {
    if (copy.state !== ExchangeState.Finished) this.owner.secondEnd(copy);
  }

  abort(copy: Exchange, fault: Fault): void {
    if (copy.state !== ExchangeState.Finished) this.owner.secondFailed(copy, fault);
  }

  wantBody(): void {}

  /** Nothing of the kind is asked for. */
  upgrade(copy: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.abort(copy, Fault.UpstreamMalformed);
    return tunnel;
  }
}

function finish(copy: Exchange, fault: Fault, nowMs: number): void {
  if (copy.state === ExchangeState.Finished) return;
  copy.fault = fault;
  finishExchange(copy, nowMs);
  copy.release();
}
