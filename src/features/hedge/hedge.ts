import { Fault } from "../../core/fault.ts";
import type { TimerNode, TimerWheel } from "../../core/timer-wheel.ts";
import type { HedgeCount } from "../../memory/counter-rows.ts";
import type { Exchange, Handler, IdleExchangePorts, Pipeline, ResponseSink, Target } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import { Method } from "../../message/request-head.ts";
import type { TargetChoice } from "../../message/target.ts";
import { forwardedCopy } from "../../message/unattended.ts";

/** A route's settings for second requests. */
interface HedgeSettings {
  /** The route's label. */
  readonly route: string;
  /** Milliseconds without a response until the second request. */
  readonly afterMs: number;
  /** Milliseconds for both requests together; 0 is no limit. */
  readonly totalMs: number;
}

/** Counts second requests. */
export interface HedgeListener {
  onHedge(route: string, what: HedgeCount): void;
}

/** Shared by the second requests of one worker. */
interface HedgePorts {
  readonly idle: IdleExchangePorts;
  readonly listener: HedgeListener;
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  onException(error: unknown): void;
}

/** Chooses another target than the client's request has. */
export class HedgeChoice implements TargetChoice {
  private readonly inner: TargetChoice;
  private readonly onSent: () => void;

  /** @param onSent is called for each second request that has a target */
  constructor(inner: TargetChoice, onSent: () => void) {
    this.inner = inner;
    this.onSent = onSent;
    if (inner.answers !== undefined) this.answers = inner.answers;
  }

  readonly answers?: NonNullable<TargetChoice["answers"]>;

  choose(ex: Exchange): Target | null {
    const target = this.inner.chooseAgain(ex, true);
    if (target !== null) this.onSent();
    return target;
  }

  chooseAgain(): null {
    return null;
  }
}

/** Keeps second requests to a share of the requests. */
interface HedgeBudget {
  noteRequest(nowMs: number): void;
  /** Whether one may be sent now; the caller then calls `noteRetry`. */
  allows(nowMs: number): boolean;
  noteRetry(): void;
}

/** Sends second requests of one route. docs/upstreams.md#hedging */
export class Hedge {
  readonly settings: HedgeSettings;
  private readonly handler: Handler;
  private readonly pipeline: Pipeline;
  private readonly ports: HedgePorts;
  private readonly budget: HedgeBudget;

  /**
   * @param handler sends to what a HedgeChoice chooses, once
   * @param pipeline for second requests: without phases, with the tap of forwarded exchanges
   */
  constructor(settings: HedgeSettings, handler: Handler, pipeline: Pipeline, ports: HedgePorts, budget: HedgeBudget) {
    this.settings = settings;
    this.handler = handler;
    this.pipeline = pipeline;
    this.ports = ports;
    this.budget = budget;
  }

  get nowMs(): number {
    return this.ports.turn.nowMs;
  }

  /** Whether a request may have a second one, and is counted: it changes nothing and has no body. RFC 9110 §9.2.1 */
  wants({ request }: Exchange): boolean {
    const { method } = request;
    const isSafe = method === Method.Get || method === Method.Head || method === Method.Options;
    if (!isSafe || request.upgrade || request.hasBody()) return false;
    this.budget.noteRequest(this.nowMs);
    return true;
  }

  arm(timer: TimerNode, atMs: number): void {
    this.ports.wheel.arm(timer, atMs);
  }

  disarm(timer: TimerNode): void {
    this.ports.wheel.remove(timer);
  }

  count(what: HedgeCount): void {
    this.ports.listener.onHedge(this.settings.route, what);
  }

  /** The second request of an exchange, for another target; null beyond the budget, or if the first has no target yet. */
  copyOf(ex: Exchange): Exchange | null {
    const bit = ex.attempt.target?.bit ?? 0;
    if (bit === 0 || !this.budget.allows(this.nowMs)) return null;
    this.budget.noteRetry();
    const copy = forwardedCopy(ex, this.ports.idle);
    copy.attempt.triedTargets = ex.attempt.triedTargets | bit;
    return copy;
  }

  /** Sends a second request. */
  send(copy: Exchange, sink: ResponseSink): void {
    copy.open(sink, this.ports.idle.flow, copy.client, this.pipeline);
    try {
      this.handler.handle(copy);
    } catch (error) {
      copy.sink.abort(copy, Fault.InternalError);
      this.ports.onException(error);
    }
  }
}
