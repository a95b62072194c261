import { expect, test } from "bun:test";
import { isPlainPath } from "../../../../src/proto/h1/request-rules.ts";
import { headOfTarget } from "./head-of-target.ts";

test.each([
  ["/", true],
  ["/a/b", true],
  ["/app.js", true],
  ["/.well-known/x", true],
  ["/..a", true],
  ["/a?x=%2e%2e//../", true],
  ["/a#//../%2e", true],
  ["?x", true],
  ["*", true],
  ["/a;b", true],
  ["/a\\b", false],
  ["/a?b\\c", true],
  ["/a/..;b", false],
  ["/a/..b;", true],
  ["/a//b", false],
  ["/%41", false],
  ["/%", false],
  ["/.", false],
  ["/a/..", false],
  ["/a/./b?x", false],
])("%s", (target, plain) => {
  expect(isPlainPath(headOfTarget(target))).toBe(plain);
});
