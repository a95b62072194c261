import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { isIdempotent } from "../../message/method.ts";
import { type Handler, Verdict } from "../../message/pipeline.ts";
import type { TunnelEnd } from "../../message/ports.ts";
import type { UpstreamCaller, UpstreamFailure, UpstreamTimes } from "../../message/upstream.ts";
import {
  encodeForwardHead,
  type ForwardHeadSettings,
  forwardHeadBound,
  isForwardableUpgrade,
  isLoop,
} from "./forward-head.ts";
import type { RequestIds } from "./request-id.ts";
import type { Target, TargetChoice } from "./target-choice.ts";

/** Everything that forwarding needs to know of its route. */
export interface ForwardSettings extends ForwardHeadSettings {
  readonly times: UpstreamTimes;
  /** How often a request may be tried again after the first time. */
  readonly retryAttempts: number;
}

/** Sends requests of one route upstream and their answers down. Spec, "Overview"; decisions §3. */
export class ForwardHandler implements Handler, UpstreamCaller {
  readonly name = "forward";
  readonly times: UpstreamTimes;
  private readonly settings: ForwardSettings;
  private readonly choice: TargetChoice;
  private readonly requestIds: RequestIds;

  constructor(settings: ForwardSettings, choice: TargetChoice, requestIds: RequestIds) {
    this.settings = settings;
    this.choice = choice;
    this.requestIds = requestIds;
    this.times = settings.times;
  }

  handle(ex: Exchange): Verdict {
    if (isLoop(ex.request.headers)) {
      ex.sink.abort(ex, Fault.LoopDetected);
      return Verdict.Done;
    }
    if (ex.request.upgrade && !isForwardableUpgrade(ex.request)) ex.request.upgrade = false;
    this.requestIds.assign(ex);
    this.send(ex);
    return Verdict.Done;
  }

  requestBound(ex: Exchange): number {
    return forwardHeadBound(ex, ex.target as Target);
  }

  encodeRequest(ex: Exchange, out: Buffer, at: number): number {
    return encodeForwardHead(ex, this.settings, ex.target as Target, out, at);
  }

  onReplyHead(ex: Exchange): void {
    ex.sink.head(ex);
  }

  onInterim(ex: Exchange, status: number, headers: HeaderBlock): void {
    ex.sink.interim(ex, status, headers);
  }

  onUpgrade(ex: Exchange, origin: TunnelEnd): TunnelEnd {
    return ex.sink.upgrade(ex, origin);
  }

  /**
   * Decisions, "retries": only where nothing of the request was sent, or the method is idempotent and no byte of an
   * answer came. A body that has begun to flow cannot be sent again.
   */
  onFailure(ex: Exchange, failure: UpstreamFailure): void {
    const repeatable = !failure.sent || (isIdempotent(ex.request.method) && !failure.answered);
    const bodyUntouched = ex.bodyBytes === 0;
    const refused = failure.fault === Fault.UpstreamUnavailable;
    if (repeatable && bodyUntouched && refused && ex.attempts <= this.settings.retryAttempts) {
      ex.attempts++;
      this.send(ex);
      return;
    }
    ex.sink.abort(ex, failure.fault);
  }

  private send(ex: Exchange): void {
    const target = this.choice.choose(ex);
    if (target === null) {
      ex.sink.abort(ex, Fault.NoHealthyTarget);
      return;
    }
    ex.upstreamLabel = target.upstream.label;
    // Encoding happens once a connection is there, which may be later.
    ex.target = target;
    if (ex.attempts > 1) target.upstream.sendFresh(ex, this);
    else target.upstream.send(ex, this);
  }
}
