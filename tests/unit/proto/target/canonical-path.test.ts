import { describe, expect, test } from "bun:test";
import { canonicalise, offsetBehindSegments, pathFrom } from "../../../../src/proto/target/canonical-path.ts";
import vectors from "../../../vectors/target/canonical-paths.json";

describe("canonical path", () => {
  for (const { raw, ...expected } of vectors) {
    test(JSON.stringify(raw), () => {
      expect(canonicalise(raw)).toEqual(expected);
    });
  }
});

test.each([
  ["/a/b", 0, 0],
  ["/a/b", 1, 2],
  ["/a/b", 2, 4],
  ["/a/b", 3, 4],
  ["//a//b", 1, 3],
  ["/a%2fb/c", 1, 2],
  ["/a%2Fb/c", 2, 6],
  ["/%61/b", 1, 4],
  ["%2f/%2Fa", 1, 8],
])("offset in %s behind %d segments", (path, count, offset) => {
  expect(offsetBehindSegments(path, count)).toBe(offset);
});

test.each([
  ["/a/b", 2, "/b"],
  ["/a%2fb", 2, "/b"],
  ["/a", 2, "/"],
])("rest of %s from %d", (path, from, rest) => {
  expect(pathFrom(path, from)).toBe(rest);
});
