import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatDuration, parseDuration } from "../../../src/config/duration.ts";

describe("durations", () => {
  test.each([
    ["500ms", 500],
    ["60s", 60_000],
    ["1m30s", 90_000],
    ["2h", 7_200_000],
    ["1d12h", 129_600_000],
    ["1h1m1s1ms", 3_661_001],
    ["0", 0],
    ["0s", 0],
    ["90", 90_000],
    [" 5s ", 5000],
    ["90m", 5_400_000],
    [7, 7000],
    [0, 0],
  ])("%p is %p ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each([
    [""],
    [" "],
    ["s"],
    ["5 s"],
    ["-5s"],
    ["1.5s"],
    ["5S"],
    ["5sec"],
    ["30s1m"],
    ["1s1s"],
    ["1e3"],
    ["060"],
    ["soon"],
    [-1],
    [0.0005],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    ["99999999999999999999d"],
    [Number.MAX_SAFE_INTEGER],
  ])("%p is none", (text) => {
    expect(parseDuration(text)).toBe(-1);
  });

  test("what is written reads back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });

  test("no text throws or gives anything but -1 or whole milliseconds", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9dhms]{0,12}$/), fc.double()), (value) => {
        const ms = parseDuration(value);
        expect(ms === -1 || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true);
      }),
    );
  });

  test("is written short", () => {
    expect([0, 1, 1000, 90_000, 86_400_000, 129_600_500].map(formatDuration)).toEqual([
      "0s",
      "1ms",
      "1s",
      "1m30s",
      "1d",
      "1d12h500ms",
    ]);
  });
});
