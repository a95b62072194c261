import { describe, expect, test } from "bun:test";
import { parseDictionary } from "../../../../src/proto/semantics/structured-dictionary.ts";

function read(text: string): Record<string, string> | null {
  const members = parseDictionary(text);
  return members === null
    ? null
    : Object.fromEntries([...members].map(([key, { kind, text: value }]) => [key, `${kind} ${value}`]));
}

describe("a dictionary", () => {
  test.each([
    ["", {}],
    ["   ", {}],
    ["a", { a: "boolean ?1" }],
    ["a=?0, b;x=1;y", { a: "boolean ?0", b: "boolean ?1" }],
    ["a=1 \t,\t b=-2.5", { a: "integer 1", b: "decimal -2.5" }],
    ['a="x\\"y\\\\", b=tok/en:*', { a: 'string "x\\"y\\\\"', b: "token tok/en:*" }],
    ['a=:aGk=:, b=@17, c=%"f%c3%bc"', { a: "bytes :aGk=:", b: "date @17", c: 'display %"f%c3%bc"' }],
    ["a=(), b=(1 2;q  tok );p", { a: "list ()", b: "list (1 2;q  tok )" }],
    ["*k=999999999999999, a_.*-b=1", { "*k": "integer 999999999999999", "a_.*-b": "integer 1" }],
    ["a=1, b=2, a=3", { b: "integer 2", a: "integer 3" }],
  ])("is read: %j", (text, members) => {
    expect(read(text)).toEqual(members);
  });

  test.each([
    ..."A=1|a=|a =1|a= 1|a=1,|a=1,,b|,a|a b|a=1 b=2|a=(1|a=(1,2)|a=(1)2|a=1.|a=.1|a=1.2345|a=--1|a=1e3".split("|"),
    ...'a=1234567890123456|a=1234567890123.1|a=?2|a="x|a="\\x"|a="\xe9"|a=:%:|a=;x|a;|a;=1|a;X|a=@1.5|a=%"%C3"|\ta'.split(
      "|",
    ),
    'a="x\ty"',
    "a\n",
  ])("is malformed: %j", (text) => {
    expect(read(text)).toBeNull();
  });

  test("of any length is read in linear time", () => {
    const began = performance.now();
    for (const text of ["a=(".repeat(20_000), `a=("${"x".repeat(100_000)}`, "a,".repeat(50_000), " ".repeat(100_000)])
      read(text);
    expect(performance.now() - began).toBeLessThan(1000);
  });
});
