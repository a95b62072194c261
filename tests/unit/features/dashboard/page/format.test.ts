import { expect, test } from "bun:test";
import { bytes, duration, number, percent, plain, span } from "../../../../../src/features/dashboard/page/format.ts";

test("numbers are short, and as exact as they are long", () => {
  expect([0, 0.034, 0.3, 4.26, 12.34, 412.7, 9876, 12_345, 3.21e6].map(number)).toEqual([
    "0",
    "0.03",
    "0.3",
    "4.3",
    "12.3",
    "413",
    "9,876",
    "12.3 k",
    "3.2 M",
  ]);
  expect([0, 999, 1000, 153_600, 3 * 1024 ** 3].map(bytes)).toEqual(["0 B", "999 B", "1.0 KiB", "150 KiB", "3.0 GiB"]);
  expect([0.01, 0.25, 3, 12.34, 250, 999.6, 61_000].map(duration)).toEqual([
    "< 0.1 ms",
    "0.25 ms",
    "3 ms",
    "12.3 ms",
    "250 ms",
    "1 s",
    "61 s",
  ]);
  expect([duration(undefined), percent(Number.NaN), number(Number.POSITIVE_INFINITY)]).toEqual(["–", "–", "–"]);
  expect([0, 0.0004, 0.034, 0.5, 0.9999, 1].map(percent)).toEqual([
    "0 %",
    "< 0.1 %",
    "3.4 %",
    "50 %",
    "100 %",
    "100 %",
  ]);
  expect([400, 59_000, 600_000, 7_200_000, 40 * 86_400_000].map(span)).toEqual([
    "0 s",
    "59 s",
    "10 min",
    "2 h",
    "40 days",
  ]);
});

test("nothing in a client's text turns the line round or hides a part of it", () => {
  expect(plain("/a\u202egpj.exe\u200b\u0000\u0007\u2066\ufeff")).toBe("/a\ufffdgpj.exe\ufffd\ufffd\ufffd\ufffd\ufffd");
  expect(plain("/größe/日本?ж")).toBe("/größe/日本?ж");
});
