import { expect, test } from "bun:test";
import {
  bytes,
  counted,
  durationText,
  exactly,
  listed,
  numberText,
  percentText,
  series,
  span,
} from "../../../src/core/number-text.ts";

test("numbers are short, and as exact as they are long", () => {
  expect([0, 0.034, 0.3, 4.26, 12.34, 412.7, 9876, 12_345, 999_499, 999_500, 3.21e6, 3e9].map(numberText)).toEqual(
    "0 0.03 0.3 4.3 12.3 413 9,876 12.3k 999k 1M 3.21M 3G".split(" "),
  );
  expect([0, 999, 1000, 1536, 153_600, 5e9].map(bytes)).toEqual([
    "0 B",
    "999 B",
    "0.98 KiB",
    "1.5 KiB",
    "150 KiB",
    "4.66 GiB",
  ]);
  expect([0.01, 0.25, 3, 12.34, 250, 999.6, 61_000].map(durationText)).toEqual([
    "< 0.1 ms",
    "0.25 ms",
    "3 ms",
    "12.3 ms",
    "250 ms",
    "1 s",
    "61 s",
  ]);
  expect([0, 0.0004, 0.034, 0.5, 0.9999, 1].map(percentText)).toEqual([
    "0 %",
    "< 0.1 %",
    "3.4 %",
    "50 %",
    "100 %",
    "100 %",
  ]);
  expect([durationText(undefined), percentText(Number.NaN), numberText(Number.POSITIVE_INFINITY)]).toEqual([
    "–",
    "–",
    "–",
  ]);
});

test("times have two units, and seconds only below a minute", () => {
  expect([0, 59_999, 61_000, 3_600_000, 7_500_000, 93_784_000, 40 * 86_400_000].map(span)).toEqual(
    "0s 59s 1m 1h 2h_5m 1d_2h 40d".split(" ").map((text) => text.replace("_", " ")),
  );
});

test("lists and counts are sentences", () => {
  expect([counted(1, "line"), counted(12_000, "address", "addresses")]).toEqual(["1 line", "12k addresses"]);
  expect([exactly(1, "route"), exactly(12_345, "route")]).toEqual(["1 route", "12345 routes"]);
  expect([[], ["a"], ["a", "b"], ["a", "b", "c"]].map((names) => series(names))).toEqual([
    "",
    "a",
    "a and b",
    "a, b and c",
  ]);
  expect(series(["a", "b", "c"], "or")).toBe("a, b or c");
  expect([listed([]), listed(["a", "b", "c"]), listed(["a", "b", "c", "d"])]).toEqual([
    "",
    "a, b, c",
    "a, b, c and 1 more",
  ]);
});
