import { Fault } from "../../core/fault.ts";
import { FaultDetail } from "../../core/fault-detail.ts";
import { MAX_FREE_EXCHANGES } from "../../core/limits.ts";
import { TimerNode, type TimerOwner, type TimerWheel } from "../../core/timer-wheel.ts";
import type { BodyBudget } from "../../memory/body-budget.ts";
import {
  type Exchange,
  ExchangeState,
  type Handler,
  type ResponseSource,
  type ResponseTap,
  type Target,
  type UpstreamCaller,
  Verdict,
} from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import type { Held, NowMs, TunnelEnd } from "../../message/ports.ts";
import { Framing, isIdempotent } from "../../message/request-head.ts";
import type { AnswerMark, TargetChoice } from "../../message/target.ts";
import type { UpstreamFailure, UpstreamTimes } from "../../message/upstream.ts";
import { isOverdue } from "../../proto/grpc/call-deadline.ts";
import { isForwardableUpgrade } from "../../proto/h1/upgrade-tokens.ts";
import {
  encodeForwardHead,
  type ForwardHeadSettings,
  forwardHeadBound,
  isLoop,
  type RequestIds,
} from "./forward-head.ts";
import type { RequestEdits, ResponseEdits } from "./header-edits.ts";
import { MAX_REPLAY_BYTES, ReplayBody, type ReplayOwner } from "./replay-body.ts";

/** Signs a head when all of it is there. */
interface HeadSigner {
  /** Bytes that it may add. */
  readonly bound: number;
  /** @returns the offset behind the head */
  apply(out: Buffer, from: number, to: number): number;
}

/** Everything that forwarding needs to know of its route. */
export interface ForwardSettings extends ForwardHeadSettings {
  readonly times: UpstreamTimes;
  /** From the start of forwarding to the end of the response, in milliseconds; 0 is no limit. */
  readonly totalMs: number;
  /** How often a request may be tried again after the first time. */
  readonly retryAttempts: number;
  /** Statuses of responses after which it is tried again, at the same target if there is no other; null without any. */
  readonly retryStatuses: ReadonlySet<number> | null;
  /** Milliseconds before each further attempt. */
  readonly backoffMs: number;
  /** Whether a target speaks HTTP/2, and may so turn a request away untouched after its body, whatever the method. */
  readonly canBeRefused: boolean;
  /** Whether bodies go on as they come, whatever their framing: none waits to be whole for a second attempt. */
  readonly streamsBodies: boolean;
  /** Statuses of responses that are failures of their target; null if there are none. */
  readonly failureStatuses: ReadonlySet<number> | null;
  /** The route's `headers`; null if it has none. */
  readonly requestEdits: RequestEdits | null;
  /** Signs requests to targets; null without `sign`. */
  readonly signer: HeadSigner | null;
  readonly responseEdits: ResponseEdits | null;
  /** Rewrites redirects and cookies, before the edits; null if they stay. */
  readonly responseRewrite: { apply(headers: HeaderBlock): void } | null;
}

/** What forwarding asks of its worker. */
export interface ForwardHandlerPorts {
  readonly requestIds: RequestIds;
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  /** Room for bodies that are kept for a second attempt. */
  readonly bodies: BodyBudget;
}

/** Sends requests of one route upstream and their responses down. docs/upstreams.md */
export class ForwardHandler implements Handler, UpstreamCaller, ReplayOwner {
  readonly name = "forward";
  readonly times: UpstreamTimes;
  readonly repeatsBodies: boolean;
  private readonly settings: ForwardSettings;
  private readonly choice: TargetChoice;
  private readonly answers: AnswerMark | null;
  private readonly requestIds: RequestIds;
  private readonly turn: NowMs;
  private readonly deadlines: Deadlines;
  private readonly bodies: BodyBudget;
  private readonly retries: RetryBudget = new RetryBudget();

  constructor(settings: ForwardSettings, choice: TargetChoice, services: ForwardHandlerPorts) {
    this.settings = settings;
    this.choice = choice;
    this.answers = choice.answers ?? null;
    this.requestIds = services.requestIds;
    this.turn = services.turn;
    this.bodies = services.bodies;
    this.deadlines = new Deadlines(settings.totalMs, services.wheel, services.turn);
    this.times = settings.times;
    this.repeatsBodies = settings.retryAttempts > 0;
  }

  handle(ex: Exchange): Verdict {
    if (isLoop(ex.request.headers)) {
      ex.sink.abort(ex, Fault.LoopDetected);
      return Verdict.Done;
    }
    if (ex.request.upgrade && !isForwardableUpgrade(ex.request.headers)) {
      ex.request.upgrade = false;
      // The client may take the response for consent; nothing of what follows is to be read as HTTP/1.1.
      ex.response.close = true;
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
    const { requestEdits, signer, hostHeader = "" } = this.settings;
    const edits = requestEdits === null ? 0 : requestEdits.boundOf(ex);
    return forwardHeadBound(ex, ex.attempt.target!) + hostHeader.length + edits + (signer === null ? 0 : signer.bound);
  }

  encodeRequest(ex: Exchange, out: Buffer, at: number): number {
    const { requestEdits, signer } = this.settings;
    const head = encodeForwardHead(ex, this.settings, ex.attempt.target!, out, at);
    const end = requestEdits === null ? head : requestEdits.applyFor(ex, out, at, head);
    return signer === null ? end : signer.apply(out, at, end);
  }

  onResponseHead(ex: Exchange): void {
    const { failureStatuses, retryStatuses } = this.settings;
    if (retryStatuses?.has(ex.response.status) === true) return this.onFailedAnswer(ex, false);
    if (failureStatuses?.has(ex.response.status) === true) return this.onFailedAnswer(ex, true);
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

  onFailure(ex: Exchange, first: UpstreamFailure): void {
    const failure = this.judged(ex, first);
    ex.attempt.target!.onFailure(ex, failure);
    ex.attempt.detail = failure.detail;
    ex.attempt.end(this.turn.nowMs);
    ex.attempt.noteLeftOut(failure);
    const target = this.mayRepeat(ex, failure) ? this.choice.chooseAgain(ex, isTimeout(failure)) : null;
    if (target === null) {
      ex.deadline?.release();
      ex.sink.abort(ex, failure.fault);
      return;
    }
    this.repeat(ex, target);
  }

  /** An origin that resets a call after its client's own deadline has kept to it. */
  private judged(ex: Exchange, failure: UpstreamFailure): UpstreamFailure {
    const isReset = failure.detail === FaultDetail.H2Reset;
    return isReset && isOverdue(ex.request.headers, this.turn.nowMs - ex.startedMs)
      ? { ...failure, fault: Fault.CallOverdue }
      : failure;
  }

  /** A response that counts as a failure goes to the client if no target can be asked instead. @param onlyAnother not the same once more */
  private onFailedAnswer(ex: Exchange, onlyAnother: boolean): void {
    const failed = ex.attempt.target!;
    ex.attempt.end(this.turn.nowMs);
    failed.onAnswer(ex, ex.response.status);
    const target = this.mayAskElsewhere(ex) ? this.choice.chooseAgain(ex, onlyAnother) : null;
    if (target === null) {
      this.amend(ex);
      return ex.sink.head(ex);
    }
    ex.source.onCancelled(ex);
    failed.onReplaced(ex);
    ex.attempt.upstreamMs = -1;
    ex.attempt.serverId = "";
    ex.attempt.grpcFailed = false;
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
    if (
      this.settings.streamsBodies ||
      contentLength === 0 ||
      contentLength > MAX_REPLAY_BYTES ||
      request.framing !== Framing.Length
    )
      return false;
    const isWorthIt = this.settings.canBeRefused || isIdempotent(request.method);
    return this.settings.retryAttempts > 0 && isWorthIt;
  }

  /** Whether a request whose response has come may be sent once more, and its body can be. */
  private mayAskElsewhere(ex: Exchange): boolean {
    const { request } = ex;
    return isIdempotent(request.method) && (!request.hasBody() || ex.replay !== null) && this.hasAttempt(ex);
  }

  private hasAttempt({ attempt }: Exchange): boolean {
    const { retryAttempts } = this.settings;
    if (retryAttempts === 0 || attempt.count - attempt.leftOuts > retryAttempts) return false;
    return this.retries.allows(this.turn.nowMs);
  }

  /**
   * The body decides first: a body that has begun to flow can be sent again only if it was kept whole. Then the
   * request: it may be repeated if the origin has not looked at it, or if the method is idempotent and no byte of a
   * response came. docs/security.md#retries
   */
  private mayRepeat(ex: Exchange, failure: UpstreamFailure): boolean {
    if (failure.bodyTaken && ex.replay === null) return false;
    if (!this.hasAttempt(ex)) return false;
    if (UNREPEATED.has(failure.fault)) return false;
    return !failure.sent || (!failure.answered && isIdempotent(ex.request.method));
  }

  /** A further attempt. */
  private repeat(ex: Exchange, target: Target): void {
    this.retries.noteRetry();
    ex.attempt.count++;
    ex.replay?.restart();
    if (this.settings.backoffMs === 0) this.send(ex, target);
    else new Pause(ex, this.deadlines.wheel, this.turn, () => this.send(ex, target)).begin(this.settings.backoffMs);
  }

  private send(ex: Exchange, target: Target): void {
    ex.attempt.upstreamLabel = target.upstream.label;
    ex.attempt.begin(this.turn.nowMs);
    // A kept connection may be stale: neither a retry nor a trial of what was away is to end on that account.
    if (ex.attempt.count > 1 || ex.attempt.isTrial || ex.attempt.isForced) target.upstream.sendFresh(ex, this);
    else target.upstream.send(ex, this);
    ex.replay?.deliver();
  }

  private noteAnswer(ex: Exchange): void {
    ex.attempt.end(this.turn.nowMs);
    ex.attempt.target!.onAnswer(ex, ex.response.status);
    this.amend(ex);
  }

  /** The head of the response that the client gets. */
  private amend(ex: Exchange): void {
    this.settings.responseRewrite?.apply(ex.response.headers);
    this.settings.responseEdits?.apply(ex.response);
    if (this.answers !== null) this.answers.mark(ex);
  }
}

/** An exchange between two attempts: the client may leave, and the time of the route may end. */
class Pause implements TimerOwner, ResponseSource {
  private readonly node: TimerNode = new TimerNode(this);
  private readonly ex: Exchange;
  private readonly wheel: TimerWheel;
  private readonly turn: NowMs;
  private readonly resume: () => void;

  constructor(ex: Exchange, wheel: TimerWheel, turn: NowMs, resume: () => void) {
    this.ex = ex;
    this.wheel = wheel;
    this.turn = turn;
    this.resume = resume;
  }

  begin(ms: number): void {
    this.ex.source = this;
    // No target is late meanwhile.
    this.ex.attempt.attemptedMs = -1;
    this.wheel.arm(this.node, this.turn.nowMs + ms);
  }

  onTimer(): void {
    if (this.ex.source !== this || this.ex.state === ExchangeState.Finished) return;
    this.ex.attempt.attemptedMs = this.turn.nowMs;
    this.resume();
  }

  onWritable(): void {}

  onCancelled(): void {
    this.wheel.disarm(this.node);
  }
}

/** Faults that another attempt would only meet again. */
const UNREPEATED: ReadonlySet<Fault> = new Set([Fault.LoopDetected, Fault.HeadTooLarge, Fault.CallOverdue]);

/** Waiting once more for the same target would double the wait, and a busy one is not helped by asking twice. */
function isTimeout(failure: UpstreamFailure): boolean {
  return failure.fault === Fault.UpstreamTimeout;
}

/** The time limits of one route's exchanges: `timeouts.total`. */
class Deadlines {
  readonly wheel: TimerWheel;
  private readonly totalMs: number;
  private readonly turn: NowMs;
  private readonly free: Deadline[] = [];

  /** @param totalMs from the start of forwarding to the end of the response; 0 is no limit */
  constructor(totalMs: number, wheel: TimerWheel, turn: NowMs) {
    this.totalMs = totalMs;
    this.wheel = wheel;
    this.turn = turn;
  }

  /** Limits the exchange, if the route has a limit. */
  start(ex: Exchange): void {
    if (this.totalMs === 0) return;
    const deadline = this.free.pop() ?? new Deadline(this);
    deadline.begin(ex, this.turn.nowMs + this.totalMs);
    ex.deadline = deadline;
  }

  /** Keeps a deadline for the next exchange. */
  take(deadline: Deadline): void {
    if (this.free.length < MAX_FREE_EXCHANGES) this.free.push(deadline);
  }
}

/** One exchange's time limit: 504 while nothing has been answered, a cut after that. */
class Deadline implements TimerOwner, Held {
  private readonly owner: Deadlines;
  private readonly node: TimerNode = new TimerNode(this);
  private ex: Exchange | null = null;

  constructor(owner: Deadlines) {
    this.owner = owner;
  }

  begin(ex: Exchange, atMs: number): void {
    this.ex = ex;
    this.owner.wheel.arm(this.node, atMs);
  }

  /** The exchange is over, or no longer limited. */
  release(): void {
    const { ex } = this;
    if (ex === null) return;
    this.ex = null;
    ex.deadline = null;
    this.owner.wheel.disarm(this.node);
    this.owner.take(this);
  }

  onTimer(): void {
    const { ex } = this;
    if (ex === null) return;
    this.release();
    if (ex.state === ExchangeState.Finished) return;
    // No response within the limit is the target's failure; a response that takes too long is not, nor is a client whose body does.
    if (ex.attempt.target !== null && ex.attempt.attemptedMs >= 0)
      ex.attempt.target.onFailure(ex, latenessOf(ex, ex.attempt.target));
    ex.body.onBodyFault(ex, Fault.UpstreamTimeout);
    ex.source.onCancelled(ex);
    ex.sink.abort(ex, Fault.UpstreamTimeout);
  }
}

/** Who is late: the name servers, the client, or the target. */
function latenessOf(ex: Exchange, { upstream }: Target): UpstreamFailure {
  if (upstream.awaitsName === true) return NAMED_LATE;
  return ex.bodyDone ? TOO_LATE : SENT_LATE;
}

const NAMED_LATE = {
  fault: Fault.NameUnresolved,
  detail: FaultDetail.DnsTimeout,
  sent: false,
  bodyTaken: false,
  answered: false,
  reused: false,
} as const;
/** While the body comes, an origin that does not take it is timed by response_header. */
const SENT_LATE = {
  fault: Fault.BodyTimeout,
  detail: FaultDetail.None,
  sent: true,
  bodyTaken: true,
  answered: false,
  reused: false,
} as const;
/** `timeouts.total` has no detail: its fault says it all. */
const TOO_LATE = { ...SENT_LATE, fault: Fault.UpstreamTimeout } as const;

/** When an exchange is over, its target, its time limit and its kept body are notified of it. */
export class ForwardEnd implements ResponseTap {
  readonly name = "forwardEnd";

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    if (ex.attempt.target !== null) ex.attempt.target.onOver(ex);
    if (ex.deadline !== null) ex.deadline.release();
    if (ex.replay !== null) ex.replay.release();
  }
}

/** Span over which requests and retries are compared. */
const WINDOW_MS = 10_000;
/** Retries a request, on average over the window. */
const RETRY_SHARE = 0.2;
/** Retries a second that are allowed however few requests there are. */
const FLOOR_PER_SECOND = 10;

/**
 * Keeps retries from multiplying the load when everything fails: over the last seconds a worker retries at most a fifth
 * of a route's requests, and a few a second besides. One failing target of three stays far below; an outage adds a fifth
 * to the load instead of doubling it. Counts are of this window and the one before, the latter fading out.
 */
export class RetryBudget {
  private windowFromMs = 0;
  private requests = 0;
  private retries = 0;
  private olderRequests = 0;
  private olderRetries = 0;

  /** Notes a request, at its first attempt. */
  noteRequest(nowMs: number): void {
    if (nowMs - this.windowFromMs >= WINDOW_MS) this.turn(nowMs);
    this.requests++;
  }

  /** Whether a retry may be made now; the caller then calls `noteRetry`. */
  allows(nowMs: number): boolean {
    if (nowMs - this.windowFromMs >= WINDOW_MS) this.turn(nowMs);
    const fading = 1 - (nowMs - this.windowFromMs) / WINDOW_MS;
    const requests = this.requests + this.olderRequests * fading;
    const retries = this.retries + this.olderRetries * fading;
    return retries < requests * RETRY_SHARE + (FLOOR_PER_SECOND * WINDOW_MS) / 1000;
  }

  noteRetry(): void {
    this.retries++;
  }

  private turn(nowMs: number): void {
    const isNext = nowMs - this.windowFromMs < 2 * WINDOW_MS;
    this.olderRequests = isNext ? this.requests : 0;
    this.olderRetries = isNext ? this.retries : 0;
    this.requests = 0;
    this.retries = 0;
    this.windowFromMs = isNext ? this.windowFromMs + WINDOW_MS : nowMs;
  }
}
