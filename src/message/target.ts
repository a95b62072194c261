import type { Exchange } from "./exchange.ts";
import type { Upstream, UpstreamFailure } from "./upstream.ts";

/** One place where a route's requests can go. An exchange holds the one that it is under way to in `ex.attempt.target`. */
export interface Target {
  readonly upstream: Upstream;
  /** Put before the forwarded path: empty, or `/api`. */
  readonly basePath: Buffer;
  /** The response's head has come. */
  onAnswer(ex: Exchange, status: number): void;
  /** Another target has taken the exchange over, although this one has answered. */
  onReplaced(): void;
  /** The attempt has ended without a response; the exchange is no longer under way to this target. */
  onFailure(ex: Exchange, failure: UpstreamFailure): void;
  /** The exchange is over, answered, refused or given up by the client. */
  onOver(ex: Exchange): void;
}

/** Adds to a response what its client is to have of the choice. */
export interface AnswerMark {
  /** The head of the response of `ex.attempt.target` is about to be handed on. */
  mark(ex: Exchange): void;
}

/** Chooses the targets of a route's exchanges; implemented by the balancing policies. */
export interface TargetChoice {
  /** Left out where clients are told nothing. */
  readonly answers?: AnswerMark;
  /** Puts the exchange on its way to a target, even one that is out. @returns null where there is none */
  choose(ex: Exchange): Target | null;
  /**
   * The same for a further attempt: another target than those that have failed this exchange, where there is one.
   * @param onlyAnother whether none is better than one that has failed already
   */
  chooseAgain(ex: Exchange, onlyAnother: boolean): Target | null;
}
