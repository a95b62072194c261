/** What a rule protects against; a label of metrics and incidents. */
export type WafCategory =
  | "traversal"
  | "sqli"
  | "xss"
  | "rce"
  | "lfi"
  | "rfi"
  | "ssrf"
  | "log4j"
  | "scanner"
  | "protocol";

/** Weights as in the OWASP Core Rule Set. Spec: a traversal match scores at least 5. */
export const CRITICAL_SCORE = 5;
export const ERROR_SCORE = 4;
export const WARNING_SCORE = 3;
export const NOTICE_SCORE = 2;

/** One rule of the table; `tests/vectors/waf/rules.json` has what each matches, and look-alikes that it does not. */
export interface WafRule {
  readonly id: string;
  readonly category: WafCategory;
  /** What a match adds to the anomaly score, once a request. */
  readonly score: number;
  readonly description: string;
}
