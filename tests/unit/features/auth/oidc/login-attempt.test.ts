import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { beginAttempt, readState, returnPath } from "../../../../../src/features/auth/oidc/login-attempt.ts";

// docs/authentication.md#signing-in
describe("the way back", () => {
  test("is a path of the same origin, as browsers read it, whatever was asked for", () => {
    const pieces = fc.constantFrom(
      "/",
      "\\",
      "//",
      ".",
      "..",
      "evil.test",
      "@",
      ":",
      "\t",
      "\n",
      "\r",
      "\0",
      " ",
      "%2F",
      "%5C",
      "%09",
      "?",
      "#",
      "http:",
      "javascript:",
      "é",
      "\xff",
      "a",
    );
    const target = fc.array(pieces, { maxLength: 12 }).map((all) => all.join(""));
    fc.assert(
      fc.property(fc.oneof(target, fc.string({ unit: "binary" })), (text) => {
        const path = returnPath(text);
        expect(path).toMatch(/^\/(?![/\\])[\x21-\x7e]*$/);
        expect(new URL(path, "https://shop.test").origin).toBe("https://shop.test");
      }),
      { numRuns: 2000 },
    );
  });

  test.each([
    ["/a/b?c=d&e=%2f", "/a/b?c=d&e=%2f"],
    ["/caf\xe9?\xc3", "/caf%E9?%C3"],
    ["//evil.test/x", "/evil.test/x"],
    ["/\\\\evil.test", "/evil.test"],
    ["\\/evil.test", "/evil.test"],
    ["https://evil.test/", "/"],
    ["*", "/"],
    ["", "/"],
    [`/${"a".repeat(511)}`, `/${"a".repeat(511)}`],
    [`/${"a".repeat(512)}`, "/"],
  ])("of %p is %p", (target, path) => {
    expect(returnPath(target)).toBe(path);
  });
});

describe("a state", () => {
  test("names its scope and its attempt, whose names are in the order of time", () => {
    const attempts = [1e12, 1e12 + 1000, 1.8e12].map((now) => beginAttempt("0123456789", "/", now));
    expect(attempts.map(({ id }) => id)).toEqual(attempts.map(({ id }) => id).sort());
    for (const { id, state } of attempts) expect(readState(state)).toEqual({ tag: "0123456789", id });
    expect(new Set(attempts.flatMap(({ state, nonce, verifier }) => [state, nonce, verifier])).size).toBe(9);
    // RFC 7636 §4.1
    for (const { verifier } of attempts) expect(verifier).toMatch(/^[A-Za-z0-9_-]{43,128}$/);
  });

  test.each(["", "x", "0123456789..", "0123456789.abc.def", "../../etc", "0123456789.abcdefghijklmn.\n"])(
    "is not %p",
    (text) => {
      expect(readState(text)).toBeNull();
    },
  );
});
