export type CanaryPhase = "running" | "promoted" | "aborted";

/** Why something is done, or not. */
export type CanaryReason = "" | "errors" | "latency" | "few_requests" | "evidence" | "operator";

/** A rollout as endpoint, dashboard and commands show it. docs/endpoints.md#canaries */
export interface CanaryStanding {
  readonly route: string;
  readonly targets: readonly string[];
  readonly state: CanaryPhase;
  /** Percent of the requests. */
  readonly share: number;
  readonly steps: readonly number[];
  /** Milliseconds until the next step, if nothing holds it; null without one. */
  readonly next_ms: number | null;
  readonly requests: number;
  readonly errors: number;
  readonly old_requests: number;
  readonly old_errors: number;
  readonly p99_ms: number | null;
  readonly old_p99_ms: number | null;
  readonly errors_evidence: number;
  readonly latency_evidence: number;
  /** Why the share does not grow, or why the rollout is over; "" for neither. */
  readonly reason: CanaryReason;
}
