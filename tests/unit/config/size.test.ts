import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatSize, parseSize } from "../../../src/config/size.ts";

describe("sizes", () => {
  test.each([
    ["4MiB", 4_194_304],
    ["4MB", 4_000_000],
    ["512KiB", 524_288],
    ["512 KiB", 524_288],
    ["1gib", 1_073_741_824],
    ["2TB", 2_000_000_000_000],
    ["65536", 65_536],
    ["65536B", 65_536],
    ["0", 0],
    [4_194_304, 4_194_304],
    [-5, -5],
  ])("%p is %p bytes", (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  test.each([
    [""],
    ["MiB"],
    ["4M"],
    ["4 bananas"],
    ["-4MiB"],
    ["1.5MiB"],
    ["1e3"],
    ["010"],
    [1.5],
    [Number.NaN],
    ["9007199254740993"],
    ["99999999TiB"],
  ])("%p is none", (text) => {
    expect(parseSize(text)).toBe(-1);
  });

  test("what is written reads back", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), (bytes) => {
        expect(parseSize(formatSize(bytes))).toBe(bytes);
      }),
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 8191 }),
        fc.constantFrom(1024, 1024 ** 2, 1024 ** 3, 1024 ** 4),
        (count, unit) => {
          expect(parseSize(formatSize(count * unit))).toBe(count * unit);
        },
      ),
    );
  });

  test("is written in the largest unit that fits exactly", () => {
    expect([0, 1000, 1024, 4_194_304, 1_048_577].map(formatSize)).toEqual(["0", "1000", "1KiB", "4MiB", "1048577"]);
  });
});
