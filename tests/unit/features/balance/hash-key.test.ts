import { describe, expect, test } from "bun:test";
import { hashBytes, hashText } from "../../../../src/features/balance/hash.ts";
import {
  ClientHashKey,
  CookieHashKey,
  HeaderHashKey,
  TargetHashKey,
} from "../../../../src/features/balance/hash-key.ts";
import { anyExchange } from "./balance-fake.ts";

type Lines = readonly (readonly [string, string])[];

test("text and bytes hash alike, and nothing is nothing's equal", () => {
  for (const text of ["", "a", "b", "session-1", "\xff\x80"]) {
    const bytes = Buffer.from(`..${text}..`, "latin1");
    expect(hashBytes(bytes, 2, 2 + text.length)).toBe(hashText(text));
    expect(hashText(text)).toBeWithin(0, 2 ** 32);
  }
  expect(new Set(["", "a", "b", "ab", "ba"].map(hashText)).size).toBe(5);
});

describe("a header", () => {
  const key = new HeaderHashKey("x-user");
  test.each([
    [[["X-User", "u1"]], "u1"],
    [[["x-USER", "u1"]], "u1"],
    [
      [
        ["X-Users", "u2"],
        ["X-User", "u1"],
        ["X-User", "u3"],
      ],
      "u1",
    ],
    [[["X-User", ""]], ""],
  ] as const)("%p", (lines, expected) => {
    expect(key.hashOf(anyExchange({ headers: lines as Lines }))).toBe(hashText(expected));
  });

  test("that is known by number, and one that is not there", () => {
    const lines: Lines = [["User-Agent", "curl"]];
    expect(new HeaderHashKey("user-agent").hashOf(anyExchange({ headers: lines }))).toBe(hashText("curl"));
    expect(key.hashOf(anyExchange({ headers: lines }))).toBe(-1);
  });
});

describe("a cookie", () => {
  const key = new CookieHashKey("sid");
  test.each([
    ["sid=1", "1"],
    ["a=b; sid=1", "1"],
    ["sid=1; sid=2", "1"],
    ["a=sid=9;sid=1", "1"],
    ["xsid=2; sid=1 ; sid2=3", "1"],
    ["sid=", ""],
    ['sid="q=1"', '"q=1"'],
  ])("%s", (value, expected) => {
    expect(key.hashOf(anyExchange({ headers: [["Cookie", value]] }))).toBe(hashText(expected));
  });

  test.each(["", "sid", "SID=1", "xsid=1", "a=b;", ";;;", "sid2=1", "a=b; si=d"])("is not in %p", (value) => {
    expect(key.hashOf(anyExchange({ headers: [["Cookie", value]] }))).toBe(-1);
  });

  test("is found in a second field", () => {
    const headers: Lines = [
      ["Cookie", "a=b"],
      ["Accept", "x"],
      ["Cookie", "sid=1"],
    ];
    expect(key.hashOf(anyExchange({ headers }))).toBe(hashText("1"));
    expect(key.hashOf(anyExchange())).toBe(-1);
  });
});

test("the target is path and query, without the fragment", () => {
  const key = new TargetHashKey();
  const of = (target: string) => key.hashOf(anyExchange({ target }));
  expect(of("/a?b=1")).toBe(hashText("/a?b=1"));
  expect(of("/a?b=1#c")).toBe(of("/a?b=1"));
  expect(of("/a?b=2")).not.toBe(of("/a?b=1"));
});

test("the client is who the trusted proxies say it is", () => {
  const ex = anyExchange({ client: "10.0.0.1" });
  expect(new ClientHashKey().hashOf(ex)).toBe(hashText("10.0.0.1"));
  ex.forwardedIp = "203.0.113.7";
  expect(new ClientHashKey().hashOf(ex)).toBe(hashText("203.0.113.7"));
});
