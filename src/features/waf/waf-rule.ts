/** What a rule protects against; a label of metrics and incidents. */
export type WafCategory = "traversal";

/** Weight of a critical rule, as in the OWASP Core Rule Set. Spec: a traversal match scores at least 5. */
export const CRITICAL_SCORE = 5;

/** One rule of the table, with vectors of its own that prove it. */
export interface WafRule {
  readonly id: string;
  readonly category: WafCategory;
  /** What a match adds to the anomaly score, once a request. */
  readonly score: number;
  readonly description: string;
  /** Targets that the rule matches when there are no routes. */
  readonly matches: readonly string[];
  /** Look-alikes that it does not match. */
  readonly passes: readonly string[];
}
