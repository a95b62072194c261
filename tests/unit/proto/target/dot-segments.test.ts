import { describe, expect, test } from "bun:test";
import { latin1 } from "../../../../src/core/bytes.ts";
import {
  beforeDotSegments,
  climbsAboveRoot,
  DotReading,
  dotsOf,
  hasDotSegment,
  holdsDotSegment,
  isWithin,
  mergeSlashes,
  removeDotSegments,
} from "../../../../src/proto/target/dot-segments.ts";
import vectors from "../../../vectors/target/dot-segments.json";

describe("dot segments", () => {
  for (const { path, resolved, climbs } of vectors) {
    test(JSON.stringify(path), () => {
      expect(removeDotSegments(path)).toBe(resolved);
      expect(climbsAboveRoot(path)).toBe(climbs);
      expect(holdsDotSegment(path)).toBe(path.split("/").some((segment) => segment === "." || segment === ".."));
      expect(hasDotSegment(latin1(path), 0, path.length)).toBe(holdsDotSegment(path));
    });
  }

  test("the byte scan keeps to its range", () => {
    expect(hasDotSegment(latin1("/../a/.."), 4, 6)).toBe(false);
    expect(hasDotSegment(latin1("/a/..b"), 0, 5)).toBe(true);
  });

  test.each([
    ["/a/b/../c", "/a/b"],
    ["/a/./..", "/a"],
    ["/../a", "/"],
    ["/./a", "/"],
    ["/a/b", "/a/b"],
    ["/a//../b", "/a/"],
  ])("before the dot segments of %s", (path, before) => {
    expect(beforeDotSegments(path)).toBe(before);
  });
});

describe("the dots of a segment", () => {
  const { Literal, Escaped, Parameters, Suffix, Blanks, Filtered } = {
    Literal: DotReading.Literal,
    Escaped: DotReading.Escaped,
    Parameters: DotReading.Parameters,
    Suffix: DotReading.Suffix,
    Blanks: DotReading.Blanks,
    Filtered: DotReading.Filtered,
  };
  const ALL = Escaped | Parameters | Suffix | Blanks | Filtered;
  test.each([
    ["", ALL, 0],
    [".", Literal, 1],
    ["..", Literal, 2],
    ["...", ALL, 0],
    ["..a", ALL, 0],
    ["a..", ALL, 0],
    ["%2e.", Literal, 0],
    ["%2E%2e", Escaped, 2],
    ["%2e", Escaped, 1],
    ["%2", ALL, 0],
    [".%2d", ALL, 0],
    ["..;x", Literal, 0],
    ["..;x", Parameters, 2],
    [".;", Parameters, 1],
    ["..%3bx", Escaped | Parameters, 2],
    ["..?x", Parameters, 0],
    ["..?x", Suffix, 2],
    ["..#", Suffix, 2],
    [".. ", Suffix, 0],
    ["..  ", Blanks, 2],
    [".. x", ALL, 0],
    [".. ;x", Blanks | Parameters, 2],
    ["....", Literal, 0],
    ["....", Filtered, 2],
    ["....;x", ALL, 0],
    [".....", ALL, 0],
  ])("of %p, read as %p, are %p", (segment, reading, expected) => {
    const path = `/a/${segment}/b`;
    expect(dotsOf(path, 3, 3 + segment.length, reading)).toBe(expected);
    expect(dotsOf(latin1(path), 3, 3 + segment.length, reading)).toBe(expected);
  });
});

test.each([
  ["", ""],
  ["/", "/"],
  ["//", "/"],
  ["/a//b///c", "/a/b/c"],
  ["///a/", "/a/"],
  ["/a/b//", "/a/b/"],
])("merged slashes of %s", (path, merged) => {
  expect(mergeSlashes(path)).toBe(merged);
});

test.each([
  ["/static", "/static", true],
  ["/static/", "/static", true],
  ["/static/x", "/static", true],
  ["/staticx", "/static", false],
  ["/stat", "/static", false],
  ["/x", "/", true],
  ["*", "/", false],
])("%s within %s", (path, prefix, within) => {
  expect(isWithin(path, prefix)).toBe(within);
});
