import { expect, test } from "bun:test";
import { isShownAsItCame, queryWithMark, shownPath } from "../../../../src/proto/target/routed-path.ts";
import { parsedHead } from "../../../harness/parsed-head.ts";

// Scripts and functions get such a target byte for byte: it must be what they are shown of path and query anyway.
test.each([
  ["/", true],
  ["/a/b?x=1", true],
  ["/a?", true],
  ["/a//b", false],
  ["/a/../b", false],
  ["/a/%2e%2e/b?x=1", false],
  ["/%61", false],
  ["http://a.test/a", false],
  ["http://a.test/a/../b?x=1", false],
  ["http://a.test", false],
  ["http://a.test?x=1", false],
])("%s is shown as it came: %p", (target, isSame) => {
  const head = parsedHead(`GET ${target}`);
  expect(isShownAsItCame(head)).toBe(isSame);
  if (isSame) expect(shownPath(head) + queryWithMark(head)).toBe(target);
});
