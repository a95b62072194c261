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

/** One rule of the table, with vectors of its own that prove it. */
export interface WafRule {
  readonly id: string;
  readonly category: WafCategory;
  /** What a match adds to the anomaly score, once a request. */
  readonly score: number;
  readonly description: string;
  /**
   * What the rule matches when there are no routes. Of a traversal rule these are targets. Of the others a vector is a
   * value of the query parameter `q`, unless words in brackets in front say where it stands: `[name] value` a parameter,
   * `[target] /a` a raw target, `[?] a=1&b=2` a raw query, `[User-Agent:] value` a header, `[cookie] a=1; b=2`, `[form] a=1`, `[json] {"a":1}`,
   * `[xml] <a/>`, `[upload] x.php` the name of a file that is sent, `[type] text/plain` the Content-Type of a form.
   */
  readonly matches: readonly string[];
  /** Look-alikes that it does not match. */
  readonly passes: readonly string[];
}
