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
    matches: [
      "/../x",
      "/a/..",
      "/a/..\\b",
      "/a\\..\\b",
      "/a/..;/b",
      "/a/..%2fb",
      "/a%2f../b",
      "/a/..%5cb",
      "/a/....//b",
      "/a/..%20/b",
      "/a/..%20%20",
    ],
    passes: [
      "/a/..b",
      "/a/..%20b",
      "/a/b..%20",
      "/a/b..",
      "/a/b..c/d",
      "/a/...",
      "/a/./b",
      "/a/%2e%2e/b",
      "/a;v=1..2",
      "/a?x=/../",
      "/..%25x",
    ],
  },
  {
    id: "TRAVERSAL-002",
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "percent-encoded dot-dot segment, in any case and mixture",
    sign: TraversalSign.Encoded,
    matches: ["/a/%2e%2e/b", "/a/%2E%2E", "/a/.%2e/b", "/a/%2E./b", "/%2e%2e%2fb", "/a/%2e%2e%5cb", "/a/.%00./b"],
    passes: [
      "/a/%2e%2eb",
      "/a/b%2e%2e",
      "/a/%2e",
      "/a/../b",
      "/a/%252e%252e/b",
      "/a%2ejs",
      "/a?x=%2e%2e/",
      "/a/.%2d./b",
    ],
  },
  {
    id: "TRAVERSAL-003",
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "dot-dot segment under two or more percent-encodings",
    sign: TraversalSign.Nested,
    matches: [
      "/a/%252e%252e/b",
      "/a/%%32%65%%32%65/b",
      "/a/%25252e%25252e",
      "/a/..%252fb",
      "/a/..%255cb",
      "/a%252f../b",
    ],
    passes: ["/a/%252ehidden", "/a/b%252fc", "/a/%252f", "/a/%2e%2e/b", "/100%25.txt", "/a?x=%252e%252e/"],
  },
  {
    id: "TRAVERSAL-004",
    category: "traversal",
    score: CRITICAL_SCORE,
    description: "dot-dot segment in overlong UTF-8, %u escapes or look-alike characters",
    sign: TraversalSign.Overlong,
    matches: [
      "/a/%c0%ae%c0%ae/b",
      "/a/..%c0%af",
      "/a/%u002e%u002e/b",
      "/a/%e0%80%ae./b",
      "/a/..%u2215b",
      "/a/%ef%bc%8e./b",
      "/a/%c0.%c0./b",
      "/a/%c0%5e%c0%5e/b",
      "/a/..%c1%af",
      "/a/..0x2fb",
      "/a/..0x5C",
    ],
    passes: [
      "/a/%c3%a0/b",
      "/a/%C0%20propos",
      "/a/%E2%80%A6/b",
      "/a/%u4e2d/b",
      "/a/b%c0%aec",
      "/a/../b",
      "/a?x=..%c0%af",
      "/a/%c0.js",
      "/a/%C3%80%5e",
      "/a/0x2e/..0x2",
    ],
  },
];
