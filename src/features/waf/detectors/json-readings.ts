import { CRITICAL_SCORE, type WafRule } from "../rule.ts";

/** What readers of JSON do not take alike: reported, and refused where `waf.json` says so. docs/waf.md#json-that-readers-take-in-different-ways */
export const DUPLICATE_KEYS: WafRule = {
  id: "JSON-001",
  category: "json",
  score: CRITICAL_SCORE,
  description: "object of JSON with two members of one name, or with more members than edge compares",
  json: "duplicateKeys",
};
const INVALID_UTF8: WafRule = {
  id: "JSON-002",
  category: "json",
  score: CRITICAL_SCORE,
  description: "JSON that is no plain UTF-8: other bytes, a byte order mark, UTF-16 or UTF-32",
  json: "invalidUtf8",
};
const LONE_SURROGATES: WafRule = {
  id: "JSON-003",
  category: "json",
  score: CRITICAL_SCORE,
  description: "JSON with one half of a surrogate pair",
  json: "loneSurrogates",
};
const NUMBERS: WafRule = {
  id: "JSON-004",
  category: "json",
  score: CRITICAL_SCORE,
  description: "JSON with a number that a double does not hold, or that is not written as JSON writes numbers",
  json: "numbers",
};
const TRAILING_DATA: WafRule = {
  id: "JSON-005",
  category: "json",
  score: CRITICAL_SCORE,
  description: "JSON with data behind its value, or with what JSON has no place for",
  json: "trailingData",
};
const DEPTH: WafRule = {
  id: "JSON-006",
  category: "json",
  score: CRITICAL_SCORE,
  description: "JSON that is nested more than 64 levels deep",
  json: "depth",
};

/** In the order of their numbers. */
export const JSON_RULES: readonly WafRule[] = [
  DUPLICATE_KEYS,
  INVALID_UTF8,
  LONE_SURROGATES,
  NUMBERS,
  TRAILING_DATA,
  DEPTH,
];
