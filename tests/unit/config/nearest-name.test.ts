import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { didYouMean, editDistance, nearestName } from "../../../src/config/nearest-name.ts";

const KEYS = ["host", "port", "read_timeout", "write_timeout", "max_body_bytes", "waf", "cache", "cors"];

describe("the nearest name", () => {
  test.each([
    ["prot", "port"],
    ["Port", "port"],
    ["hst", "host"],
    ["readTimeout", "read_timeout"],
    ["read-timeout", "read_timeout"],
    ["read_timeuot", "read_timeout"],
    ["max_body_size", "max_body_bytes"],
    ["wfa", "waf"],
    ["core", "cors"],
    ["frobnicate", ""],
    ["x", ""],
    ["", ""],
  ])("%p means %p", (word, name) => {
    expect(nearestName(word, KEYS)).toBe(name);
  });

  test("is put as a question, or left out", () => {
    expect(didYouMean("prot", KEYS)).toBe(' (did you mean "port"?)');
    expect(didYouMean("frobnicate", KEYS)).toBe("");
  });

  test("of a very long word its beginning is looked at, so that it costs no time", () => {
    const beginning = "a".repeat(64);
    expect(nearestName(beginning + "b".repeat(1_000_000), [...KEYS, beginning])).toBe(beginning);
    expect(nearestName("a".repeat(1_000_000), KEYS)).toBe("");
  });
});

describe("the edit distance", () => {
  test("is 0 for equal words only, the same both ways, and never above the longer word", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        const distance = editDistance(a, b);
        expect(distance === 0).toBe(a === b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });

  test("one slip is 1", () => {
    expect(["prt", "poort", "pork", "oprt"].map((word) => editDistance(word, "port"))).toEqual([1, 1, 1, 1]);
  });
});
