import { Fault } from "../../core/fault.ts";
import { type AuthIdentity, type Exchange, ExchangeState, type Phase, Verdict } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import type { BodyFlow, ReplySource } from "../../message/ports.ts";

/** What a method says of a request. */
export interface Judgement {
  /** Who it is; null where that is not known. A new object for each request. */
  readonly identity: AuthIdentity | null;
  /** 200 lets it in, 401 asks for credentials, 503 says that nothing can be said at the moment. */
  readonly status: 200 | 401 | 503;
}

export const DENIED: Judgement = { identity: null, status: 401 };
export const NO_ROOM: Judgement = { identity: null, status: 503 };

/** One way in which clients say who they are. */
export interface AuthMethod {
  /** For the log and the metric. */
  readonly name: string;
  /** The value of WWW-Authenticate. RFC 9110 §11.6.1 */
  readonly challenge: string;
  /**
   * Judges a request by its fields.
   * @param later called once with the judgement where it takes time, never before this returns
   * @returns the judgement, or null where it comes later
   */
  judge(headers: HeaderBlock, later: (judgement: Judgement) => void): Judgement | null;
}

/** Who wants to know of refusals: the counters and the log. */
export interface AuthListener {
  /** @param method its name */
  onUnauthenticated(ex: Exchange, method: string, status: number): void;
}

/** Runs something that is not a socket event as a turn of its own. */
export interface Turns {
  inTurn(work: () => void): void;
}

/** `auth`: lets in those who say who they are, and leaves who it is in `ex.identity`. docs/authentication.md */
export class AuthPhase implements Phase {
  readonly name = "auth";
  private readonly methods: readonly (AuthMethod | null)[];
  private readonly turns: Turns;
  private readonly listener: AuthListener;

  /** @param methods one entry a route, by its index */
  constructor(methods: readonly (AuthMethod | null)[], turns: Turns, listener: AuthListener) {
    this.methods = methods;
    this.turns = turns;
    this.listener = listener;
  }

  run(ex: Exchange): Verdict {
    const method = this.methods[ex.route!.index]!;
    if (method === null) return Verdict.Next;
    let wait: AuthWait | null = null;
    const judgement = method.judge(ex.request.headers, (found) => {
      this.turns.inTurn(() => {
        if (wait === null || wait.isOver) return;
        wait.end();
        if (this.settle(ex, method, found) === Verdict.Next) wait.goOn(found.identity);
      });
    });
    if (judgement !== null) return this.settle(ex, method, judgement);
    wait = new AuthWait(ex);
    return Verdict.Wait;
  }

  private settle(ex: Exchange, { name, challenge }: AuthMethod, { identity, status }: Judgement): Verdict {
    if (status === 200) {
      ex.identity = identity;
      return Verdict.Next;
    }
    this.listener.onUnauthenticated(ex, name, status);
    ex.detail = challenge;
    ex.sink.abort(ex, status === 401 ? Fault.Unauthenticated : Fault.AuthUnavailable);
    return Verdict.Done;
  }
}

/**
 * An exchange that waits for a judgement: its body is not read meanwhile, and its end ends the wait. What the phases after it say
 * of the body's flow on the way down holds.
 */
class AuthWait implements BodyFlow, ReplySource {
  isOver = false;
  private readonly ex: Exchange;
  private readonly clientFlow: BodyFlow;
  private readonly clientSource: ReplySource;
  private isGoingDown = false;
  private isPaused = false;

  constructor(ex: Exchange) {
    this.ex = ex;
    this.clientFlow = ex.flow;
    this.clientSource = ex.source;
    ex.source = this;
    if (!ex.request.hasBody()) return;
    ex.flow = this;
    this.clientFlow.pauseBody(ex);
  }

  /** The judgement is there. */
  end(): void {
    this.isOver = true;
    this.ex.source = this.clientSource;
  }

  /** The request goes on down; then its body comes, where no later phase holds it back. */
  goOn(identity: AuthIdentity | null): void {
    const { ex } = this;
    this.isGoingDown = true;
    ex.pipeline.resume(ex);
    this.isGoingDown = false;
    // The exchange may be over, and another request's already.
    const isSame = ex.identity === identity && ex.state !== ExchangeState.Finished;
    if (isSame && !this.isPaused && ex.request.hasBody()) this.clientFlow.resumeBody(ex);
  }

  pauseBody(ex: Exchange): void {
    this.isPaused = true;
    if (!this.isGoingDown) this.clientFlow.pauseBody(ex);
  }

  resumeBody(ex: Exchange): void {
    this.isPaused = false;
    if (!this.isGoingDown) this.clientFlow.resumeBody(ex);
  }

  onWritable(): void {}

  /** The client has left, or its request is refused. */
  onCancelled(): void {
    this.isOver = true;
  }
}
