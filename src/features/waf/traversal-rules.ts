import { CRITICAL_SCORE, type WafRule } from "./waf-rule.ts";

/** What a scan of a path found, one bit a rule. */
export const enum TraversalSign {
  /** `..` in literal dots, ended by something else than a plain slash, or left over by a filter. */
  Literal = 1,
  /** A dot of `..` is percent-encoded once, or hidden by an encoded control byte. */
  Encoded = 2,
  /** A dot of `..`, or the separator beside it, is encoded twice or deeper. */
  Nested = 4,
  /** A dot of `..`, or the separator beside it, is spelt so that only lenient decoders see it. */
  Overlong = 8,
  /** `..` in literal dots between plain slashes: routes decide whether that is an attack. */
  Plain = 16,
}

/** A rule on the path, and the sign that it answers to. */
export interface TraversalRule extends WafRule {
  readonly sign: TraversalSign;
}

/** Spec, "WAF (layer 1)"; decisions §5. Rules are reported in this order. */
export const TRAVERSAL_RULES: readonly TraversalRule[] = [
  {
    id: "TRAVERSAL-001",
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "raw dot-dot segment that does not stay with its route",
    sign: TraversalSign.Literal,
  },
  {
    id: "TRAVERSAL-002",
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "percent-encoded dot-dot segment, in any case and mixture",
    sign: TraversalSign.Encoded,
  },
  {
    id: "TRAVERSAL-003",
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "dot-dot segment under two or more percent-encodings",
    sign: TraversalSign.Nested,
  },
  {
    id: "TRAVERSAL-004",
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "dot-dot segment in overlong UTF-8, %u escapes or look-alike characters",
    sign: TraversalSign.Overlong,
  },
];
