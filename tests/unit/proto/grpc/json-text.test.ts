import { expect, test } from "bun:test";
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { LongNumber, type ReadJson, readJson } from "../../../../src/proto/grpc/json-text.ts";
import { withExactNumbers } from "../../../../src/proto/grpc/long-numbers.ts";
import { SHOP } from "../../../harness/grpc-shop.ts";

test.each([
  ['{"a":1,"b":[{"a":2},{"a":3}],"c":"{\\"a\\":1,\\"a\\":2}"}'],
  ['"text"'],
  ["[1,2,3]"],
  ["null"],
  ['{"a\\"b":1,"a":"\\\\"}'],
  [`${"[".repeat(100)}${"]".repeat(100)}`],
])("%p is read as JSON.parse reads it", (text) => {
  expect(readJson(text)).toEqual({ value: JSON.parse(text), hasOddNumbers: false });
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

test("whole numbers that a double cannot hold become texts where no schema says what they are", () => {
  const read = readJson(
    '{"a":9007199254740993,"b":-9007199254740993,"c":1e300,"d":9007199254740991,"e":"1234567890123456789"}',
  ) as ReadJson;
  expect(read.hasOddNumbers).toBe(true);
  expect(JSON.parse(JSON.stringify(read.value))).toEqual({
    a: "9007199254740993",
    b: "-9007199254740993",
    c: 1e300,
    d: 9007199254740991,
    e: "1234567890123456789",
  });
});

test("a name like __proto__ is a name", () => {
  const read = (readJson('{"__proto__":{"polluted":1}}') as ReadJson).value as object;
  expect(Object.hasOwn(read, "__proto__")).toBe(true);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test.each([
  ["9007199254740993.0", "9007199254740993"],
  ["9.007199254740993e15", "9007199254740993"],
  ["-900719925474099300e-2", "-9007199254740993"],
  ["12345678901234567890e2", "1234567890123456789000"],
  ["1234567890123456.5", 1234567890123456.5],
  ["1234567890123456789e300", Number("1234567890123456789e300")],
  ["1234567890123456789e999999999", Number.POSITIVE_INFINITY],
])("%s is %p", (source, exact) => {
  expect(new LongNumber(source).exact()).toBe(exact);
});

test("64-bit fields have every digit, however it is written", () => {
  const type = SHOP.registry.getMessage("shop.Everything")!;
  const of = (text: string) =>
    toJson(type, fromJson(type, withExactNumbers(type, (readJson(text) as ReadJson).value, SHOP.registry)));
  fc.assert(
    fc.property(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.nat(18), (number, places) => {
      const plain = String(number);
      const digits = plain.replace("-", "");
      const sign = plain.startsWith("-") ? "-" : "";
      const at = Math.max(1, digits.length - places);
      const fraction = digits.slice(at) === "" ? "" : `.${digits.slice(at)}`;
      const scaled = `${sign}${digits.slice(0, at)}${fraction}e${digits.length - at}`;
      const expected: JsonObject = number === 0n ? {} : { large: plain };
      expect(of(`{"large":${plain}}`)).toEqual(expected);
      expect(of(`{"large":${scaled}}`)).toEqual(expected);
      expect(of(`{"large":${plain}.0}`)).toEqual(expected);
    }),
  );
  expect(
    of('{"numbers":[9007199254740993.0],"maybeLarge":9.007199254740993e15,"inner":{"huge":18446744073709551615.0}}'),
  ).toEqual({
    numbers: ["9007199254740993"],
    maybeLarge: "9007199254740993",
    inner: { huge: "18446744073709551615" },
  });
});

test("other fields have the nearest double, and numbers of any JSON stay numbers", () => {
  const type = SHOP.registry.getMessage("shop.Everything")!;
  const text = '{"twice":9007199254740993,"anyValue":9007199254740993,"object":{"a":[12345678901234567890]}}';
  const message = fromJson(type, withExactNumbers(type, (readJson(text) as ReadJson).value, SHOP.registry));
  expect(toJson(type, message)).toEqual({
    twice: 9007199254740992,
    anyValue: 9007199254740992,
    object: { a: [12345678901234567000] },
  });
});
