import { expect, test } from "bun:test";
import { claimText, claimTexts, fieldBytes } from "../../../../src/features/auth/claims.ts";

test("claims are texts: lists joined, members of objects by their path, what is no text left out", () => {
  const claims = claimTexts({
    sub: "u1",
    groups: ["ops", "dev", { x: 1 }, 7],
    admin: true,
    n: 3,
    none: null,
    realm_access: { roles: ["a", "b"], deep: { deeper: { deepest: "no" } } },
  });
  expect({ ...claims }).toEqual({
    sub: "u1",
    groups: "ops,dev,7",
    admin: "true",
    n: "3",
    "realm_access.roles": "a,b",
  });
});

test("names that objects have of their own are no claims", () => {
  const claims = claimTexts(JSON.parse('{"__proto__": "x", "constructor": "y"}') as Record<string, unknown>);
  expect(Object.hasOwn(claims, "toString")).toBe(false);
  expect(claims.constructor as unknown).toBe("y");
});

test("there are no more than a bounded number of them", () => {
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`c${i}`, "x"]));
  expect(Object.keys(claimTexts(many))).toHaveLength(256);
});

test("a text becomes bytes of UTF-8", () => {
  expect(fieldBytes("björn")).toBe("bjÃ¶rn");
  expect(fieldBytes("Ċ")).toBe("Ä\x8a");
});

test("what cannot be told exactly is empty, and never another user's", () => {
  const claims = {
    a: "root\0",
    b: " root",
    c: "r".repeat(5000),
    d: ["x", "a,admin", "y\n", 1],
    e: "\ud800",
    f: "ä".repeat(2100),
  };
  expect({ ...claimTexts(claims) }).toEqual({ a: "", b: "", c: "", d: "x,1", e: "", f: "" });
  expect([claimText({ a: [1] }), claimText(null), claimText(undefined)]).toEqual(['{"a":[1]}', "", ""]);
});

test("a claim whose own name has dots comes before what is within others", () => {
  expect({ ...claimTexts({ a: { b: "inner" }, "a.b": "own" }) }).toEqual({ "a.b": "own" });
});

test("what cannot be told exactly is no text", () => {
  for (const text of ["a\r\nb", "a\u0085b", " a", "a ", "\ud800", "x".repeat(4097)]) expect(claimText(text)).toBe("");
  expect(claimText(["a", "b,c", "d"])).toBe("a,d");
  expect(claimText(["a", "b\nc", " d", ""])).toBe("a");
  expect(claimText(undefined)).toBe("");
  expect(claimText(false)).toBe("false");
  expect(claimText("Björn, B.")).toBe("Björn, B.");
});
