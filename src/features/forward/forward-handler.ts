import { Fault } from "../../core/fault.ts";
import type { TimerWheel } from "../../core/timer-wheel.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { isIdempotent } from "../../message/method.ts";
import { type Handler, Verdict } from "../../message/pipeline.ts";
import type { NowMs, TunnelEnd } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import type { Target, TargetChoice } from "../../message/target.ts";
import type { UpstreamCaller, UpstreamFailure, UpstreamTimes } from "../../message/upstream.ts";
import { isForwardableUpgrade } from "../../proto/h1/upgrade-tokens.ts";
import type { BodyBudget } from "../../shared/body-budget.ts";
import { Deadlines } from "./deadline.ts";
import { encodeForwardHead, type ForwardHeadSettings, forwardHeadBound, isLoop } from "./forward-head.ts";
import type { RequestEdits, ResponseEdits } from "./header-edits.ts";
import { MAX_REPLAY_BYTES, ReplayBody, type ReplayOwner } from "./replay-body.ts";
import type { RequestIds } from "./request-id.ts";
import { RetryBudget } from "./retry-budget.ts";

/** Everything that forwarding needs to know of its route. */
export interface ForwardSettings extends ForwardHeadSettings {
  readonly times: UpstreamTimes;
  /** From the start of forwarding to the end of the answer, in milliseconds; 0 is no limit. */
  readonly totalMs: number;
  /** How often a request may be tried again after the first time. */
  readonly retryAttempts: number;
  /** Whether a target speaks HTTP/2, and may so turn a request away untouched behind its body, whatever the method. */
  readonly canBeRefused: boolean;
  /** Statuses of answers that are failures of their target; null where there are none. */
  readonly failureStatuses: ReadonlySet<number> | null;
  /** The route's `headers`; null where it has none. */
  readonly requestEdits: RequestEdits | null;
  readonly responseEdits: ResponseEdits | null;
}

/** What forwarding asks of its worker. */
export interface ForwardServices {
  readonly requestIds: RequestIds;
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  /** Room for bodies that are kept for a second attempt. */
  readonly bodies: BodyBudget;
}

/** Sends requests of one route upstream and their answers down. docs/upstreams.md */
export class ForwardHandler implements Handler, UpstreamCaller, ReplayOwner {
  readonly name = "forward";
  readonly times: UpstreamTimes;
  private readonly settings: ForwardSettings;
  private readonly choice: TargetChoice;
  private readonly requestIds: RequestIds;
  private readonly turn: NowMs;
  private readonly deadlines: Deadlines;
  private readonly bodies: BodyBudget;
  private readonly retries: RetryBudget = new RetryBudget();

  constructor(settings: ForwardSettings, choice: TargetChoice, services: ForwardServices) {
    this.settings = settings;
    this.choice = choice;
    this.requestIds = services.requestIds;
    this.turn = services.turn;
    this.bodies = services.bodies;
    this.deadlines = new Deadlines(settings.totalMs, services.wheel, services.turn);
    this.times = settings.times;
  }

  handle(ex: Exchange): Verdict {
    if (isLoop(ex.request.headers)) {
      ex.sink.abort(ex, Fault.LoopDetected);
      return Verdict.Done;
    }
    if (ex.request.upgrade && !isForwardableUpgrade(ex.request.headers)) {
      ex.request.upgrade = false;
      // The client may take the answer for consent; nothing of what follows is to be read as HTTP/1.1.
      ex.reply.close = true;
    }
    this.requestIds.assign(ex);
    if (this.keepsBody(ex)) {
      const body = new ReplayBody(ex, this, this.bodies);
      ex.replay = body;
      ex.body = body;
      ex.sink.wantBody(ex);
    } else this.begin(ex);
    return Verdict.Done;
  }

  onBodyKept(ex: Exchange): void {
    this.begin(ex);
  }

  requestBound(ex: Exchange): number {
    const { requestEdits } = this.settings;
    return forwardHeadBound(ex, ex.target!) + (requestEdits === null ? 0 : requestEdits.addedBytes);
  }

  encodeRequest(ex: Exchange, out: Buffer, at: number): number {
    const { requestEdits } = this.settings;
    const end = encodeForwardHead(ex, this.settings, ex.target!, out, at);
    return requestEdits === null ? end : requestEdits.apply(out, at, end);
  }

  onReplyHead(ex: Exchange): void {
    const { failureStatuses } = this.settings;
    if (failureStatuses?.has(ex.reply.status) === true) return this.onFailedAnswer(ex);
    this.noteAnswer(ex);
    ex.sink.head(ex);
  }

  onInterim(ex: Exchange, status: number, headers: HeaderBlock): void {
    ex.sink.interim(ex, status, headers);
  }

  /** A tunnel has time limits of its own. */
  onUpgrade(ex: Exchange, origin: TunnelEnd): TunnelEnd {
    ex.deadline?.release();
    this.noteAnswer(ex);
    return ex.sink.upgrade(ex, origin);
  }

  onFailure(ex: Exchange, failure: UpstreamFailure): void {
    ex.target!.onFailure(ex, failure);
    const target = this.mayRepeat(ex, failure) ? this.choice.chooseAgain(ex, isTimeout(failure)) : null;
    if (target === null) {
      ex.deadline?.release();
      ex.sink.abort(ex, failure.fault);
      return;
    }
    this.repeat(ex, target);
  }

  /** An answer that counts as a failure goes to the client where no other target can be asked instead. */
  private onFailedAnswer(ex: Exchange): void {
    const failed = ex.target!;
    failed.onAnswer(ex, ex.reply.status);
    const target = this.mayAskElsewhere(ex) ? this.choice.chooseAgain(ex, true) : null;
    if (target === null) {
      this.settings.responseEdits?.apply(ex.reply);
      return ex.sink.head(ex);
    }
    ex.source.onCancelled(ex);
    failed.onReplaced();
    ex.upstreamMs = -1;
    this.repeat(ex, target);
  }

  /** The first attempt. */
  private begin(ex: Exchange): void {
    const target = this.choice.choose(ex);
    if (target === null) {
      ex.sink.abort(ex, Fault.NoHealthyTarget);
      return;
    }
    this.retries.noteRequest(this.turn.nowMs);
    this.deadlines.start(ex);
    this.send(ex, target);
  }

  /** Whether the body is small enough, and method or origin such, that a second attempt would be allowed and possible. */
  private keepsBody({ request }: Exchange): boolean {
    const { contentLength } = request;
    if (contentLength === 0 || contentLength > MAX_REPLAY_BYTES || request.framing !== Framing.Length) return false;
    const isWorthIt = this.settings.canBeRefused || isIdempotent(request.method);
    return this.settings.retryAttempts > 0 && isWorthIt;
  }

  /** Whether a request whose answer has come may be sent once more, and its body can be. */
  private mayAskElsewhere(ex: Exchange): boolean {
    const { request } = ex;
    return isIdempotent(request.method) && (!request.hasBody() || ex.replay !== null) && this.hasAttempt(ex);
  }

  private hasAttempt(ex: Exchange): boolean {
    return ex.attempts <= this.settings.retryAttempts && this.retries.allows(this.turn.nowMs);
  }

  /**
   * The body is looked at first: one that has begun to flow can be sent again only where it was kept whole. Then the
   * request: it may be repeated where the origin has not looked at it, or the method is idempotent and no byte of an
   * answer came. docs/security.md#retries
   */
  private mayRepeat(ex: Exchange, failure: UpstreamFailure): boolean {
    if (failure.bodyTaken && ex.replay === null) return false;
    if (!this.hasAttempt(ex)) return false;
    if (failure.fault === Fault.LoopDetected) return false;
    return !failure.sent || (!failure.answered && isIdempotent(ex.request.method));
  }

  /** A further attempt. */
  private repeat(ex: Exchange, target: Target): void {
    this.retries.noteRetry();
    ex.attempts++;
    ex.replay?.restart();
    this.send(ex, target);
  }

  private send(ex: Exchange, target: Target): void {
    ex.upstreamLabel = target.upstream.label;
    // A kept connection may be stale: neither a retry nor a trial of what was away is to end on that account.
    if (ex.attempts > 1 || ex.isTrial || ex.isForced) target.upstream.sendFresh(ex, this);
    else target.upstream.send(ex, this);
    ex.replay?.deliver();
  }

  private noteAnswer(ex: Exchange): void {
    ex.target!.onAnswer(ex, ex.reply.status);
    this.settings.responseEdits?.apply(ex.reply);
  }
}

/** Waiting once more for the same target would double the wait, and a busy one is not helped by asking twice. */
function isTimeout(failure: UpstreamFailure): boolean {
  return failure.fault === Fault.UpstreamTimeout;
}
