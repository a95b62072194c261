import { expect, test } from "bun:test";
import { readJson } from "../../../../src/proto/grpc/json-text.ts";

test.each([
  ['{"a":1,"b":[{"a":2},{"a":3}],"c":"{\\"a\\":1,\\"a\\":2}"}'],
  ['"text"'],
  ["[1,2,3]"],
  ["null"],
  ['{"a\\"b":1,"a":"\\\\"}'],
  [`${"[".repeat(100)}${"]".repeat(100)}`],
])("%p is read as JSON.parse reads it", (text) => {
  expect(readJson(text)).toEqual(JSON.parse(text));
});

test.each([
  ["{", "the body is not JSON"],
  ['{"a":}', "the body is not JSON"],
  ["{'a':1}", "the body is not JSON"],
  ['{"a":1} x', "the body is not JSON"],
  ["\ufeff{}", "the body is not JSON"],
  ['{"a":1,"a":2}', "a name occurs twice in one object"],
  ['{"a":1,"\\u0061":2}', "a name occurs twice in one object"],
  ['{"x":{"a":1,"b":[],"a":2}}', "a name occurs twice in one object"],
  [`${"[".repeat(101)}${"]".repeat(101)}`, "the body is nested deeper than 100 levels"],
  [`${'{"a":'.repeat(2000)}`, "the body is nested deeper than 100 levels"],
])("%p is refused", (text, message) => {
  expect((readJson(text) as Error).message).toBe(message);
});

test("whole numbers that a double cannot hold become texts", () => {
  expect(
    readJson('{"a":9007199254740993,"b":-9007199254740993,"c":1e300,"d":9007199254740991,"e":"1234567890123456789"}'),
  ).toEqual({
    a: "9007199254740993",
    b: "-9007199254740993",
    c: 1e300,
    d: 9007199254740991,
    e: "1234567890123456789",
  });
});

test("a name like __proto__ is a name", () => {
  const read = readJson('{"__proto__":{"polluted":1}}') as object;
  expect(Object.hasOwn(read, "__proto__")).toBe(true);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});
