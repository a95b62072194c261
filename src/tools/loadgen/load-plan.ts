import type { LoadTarget } from "./load-target.ts";
import type { PlannedRequest } from "./request-list.ts";

/** One run of the load generator: one target, one rate, one duration. */
export interface LoadPlan {
  readonly target: LoadTarget;
  /** The benign requests, sent one after the other, again and again; at least one. */
  readonly requests: readonly PlannedRequest[];
  /** Of the benign requests: HTTP/1.1, 2 or 3. */
  readonly protocol: 1 | 2 | 3;
  /** Kept connections of the benign stream, 1 and up. */
  readonly concurrency: number;
  readonly durationMs: number;
  /** `quick`, `medium`, `soak`, or `custom` for a duration that is none of theirs. */
  readonly tier: string;
  /** Requests a second, both streams together. */
  readonly ratePerSecond: number;
  /** The share of the adversarial stream, 0 to 1. */
  readonly attackRatio: number;
}

/** The share of one thread in a plan. */
export interface ThreadPlan {
  readonly plan: LoadPlan;
  readonly connections: number;
  readonly benignPerSecond: number;
  readonly attacksPerSecond: number;
  /** From which of the catalogue's attacks on this thread counts. */
  readonly firstAttack: number;
  /** The same for the plan's requests. */
  readonly firstRequest: number;
}

/** Splits a plan evenly among `threads` threads (at most as many as there are connections). */
export function splitPlan(plan: LoadPlan, threads: number): ThreadPlan[] {
  const count = Math.min(threads, plan.concurrency);
  return Array.from({ length: count }, (_, index) => ({
    plan,
    connections: Math.floor(plan.concurrency / count) + (index < plan.concurrency % count ? 1 : 0),
    benignPerSecond: (plan.ratePerSecond * (1 - plan.attackRatio)) / count,
    attacksPerSecond: (plan.ratePerSecond * plan.attackRatio) / count,
    firstAttack: index * 3,
    firstRequest: Math.floor((plan.requests.length * index) / count),
  }));
}
