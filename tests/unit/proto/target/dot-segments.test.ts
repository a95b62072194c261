import { describe, expect, test } from "bun:test";
import { latin1 } from "../../../../src/core/bytes.ts";
import {
  beforeDotSegments,
  climbsAboveRoot,
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
