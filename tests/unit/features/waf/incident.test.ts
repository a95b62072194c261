import { expect, test } from "bun:test";
import { MAX_SNIPPET_CHARS, placeText, snippetOf } from "../../../../src/features/waf/incident.ts";

test("a short text is shown whole", () => {
  expect(snippetOf("/a/../b", 3)).toBe("/a/../b");
});

test("a long text is cut around the find", () => {
  const snippet = snippetOf(`${"a".repeat(500)}..${"b".repeat(500)}`, 500);
  expect(snippet).toBe(`${"a".repeat(64)}..${"b".repeat(190)}`);
  expect(snippet).toHaveLength(MAX_SNIPPET_CHARS);
});

test("bytes that are not printable ASCII are escaped, and no escape is cut", () => {
  expect(snippetOf("/\x00\x1b\x7f\xe9\n", 0)).toBe("/\\x00\\x1b\\x7f\\xe9\\x0a");
  expect(snippetOf("\x01".repeat(256), 0)).toHaveLength(256);
  expect(snippetOf(`a${"\x01".repeat(255)}`, 0)).toHaveLength(253);
});

test("a place names the parameter, escaped, but a path has none", () => {
  expect(placeText("query", "user.id")).toBe("query user.id");
  expect(placeText("body", "a\n\xe9")).toBe("body a\\x0a\\xe9");
  expect(placeText("body", "")).toBe("body");
  expect(placeText("url", "v")).toBe("url");
});
