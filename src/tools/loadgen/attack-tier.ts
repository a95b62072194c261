/** How a stream's request ended, where it did not end with a status (100 to 599). */
export const enum LoadEnding {
  /** The connection was reset. */
  Reset = 1,
  /** The connection was closed in order, without a response. */
  Closed = 2,
  /** No response in time. */
  Timeout = 3,
  /** There was no connection to send it on. */
  ConnectFailed = 4,
  /** The response was no HTTP/1.1. */
  Malformed = 5,
  /** It waited in vain for its turn. */
  NotSent = 6,
}

/** What a response to an attack counts as. docs/tools.md#what-a-response-to-an-attack-counts-as */
export const enum AttackTier {
  ActiveDefense = 0,
  RouteMiss,
  Bypassed,
  Unhandled,
}

/** Statuses of a refusal. */
const REFUSALS: readonly number[] = [400, 403, 413, 431, 501];

/**
 * The one tier that an outcome belongs to. A connection that the server tears down without a response counts as 400; a
 * server that cannot be reached, or says nothing, has defended nothing.
 * @param outcome a status or an `LoadEnding`
 */
export function tierOf(outcome: number): AttackTier {
  if (REFUSALS.includes(outcome) || isTeardown(outcome)) return AttackTier.ActiveDefense;
  if (outcome === 404) return AttackTier.RouteMiss;
  return outcome === 200 ? AttackTier.Bypassed : AttackTier.Unhandled;
}

/** Whether the server ended the connection instead of answering. */
export function isTeardown(outcome: number): boolean {
  return outcome === LoadEnding.Reset || outcome === LoadEnding.Closed;
}

/** An outcome in words: the status, or how it ended without one. */
export function outcomeName(outcome: number): string {
  return ENDING_NAMES[outcome] ?? String(outcome);
}

const ENDING_NAMES: Readonly<Record<number, string>> = {
  [LoadEnding.Reset]: "reset",
  [LoadEnding.Closed]: "closed",
  [LoadEnding.Timeout]: "timeout",
  [LoadEnding.ConnectFailed]: "connect_failed",
  [LoadEnding.Malformed]: "malformed",
  [LoadEnding.NotSent]: "not_sent",
};
