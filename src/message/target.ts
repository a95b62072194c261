import type { Exchange, Target } from "./exchange.ts";

/** Adds to a response what its client is to have of the choice. */
export interface AnswerMark {
  /** The head of the response of `ex.attempt.target` is about to be handed on. */
  mark(ex: Exchange): void;
}

/** Chooses the targets of a route's exchanges; implemented by the balancing policies. */
export interface TargetChoice {
  /** Left out where clients are told nothing. */
  readonly answers?: AnswerMark;
  /** Puts the exchange on its way to a target, even one that is out. @returns null if there is none */
  choose(ex: Exchange): Target | null;
  /**
   * The same for a further attempt: another target than those that have failed this exchange, if there is one.
   * @param onlyAnother whether none is better than one that has failed already
   */
  chooseAgain(ex: Exchange, onlyAnother: boolean): Target | null;
}
