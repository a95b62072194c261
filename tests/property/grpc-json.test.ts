import { expect, test } from "bun:test";
import { fromBinary, fromJson, type JsonObject, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { SchemaCodec } from "../../src/features/transcode/schema-codec.ts";
import { type ReadJson, readJson } from "../../src/proto/grpc/json-text.ts";
import { SHOP } from "../harness/grpc-shop.ts";

// JSON in and out beside the library that reads and writes messages, on values that both have; spellings that the library does not read
// are made here out of those that it does.
const METHOD = SHOP.method("/shop.Shop/Echo")!;
const TYPE = METHOD.input;
const codec = new SchemaCodec(METHOD, SHOP.registry, {
  body: "*",
  responseBody: "",
  httpMethod: "POST",
  isAuto: false,
  json: { emitDefaults: false, protoNames: false, enumNumbers: false, ignoreUnknown: false },
});
const options = { registry: SHOP.registry };

function encoded(text: string): Uint8Array {
  const { value, hasOddNumbers } = readJson(text) as ReadJson;
  return codec.encode({ path: [], query: [], body: value, large: null, hasOddNumbers });
}

const int64 = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n);
const uint64 = fc.bigInt(0n, 2n ** 64n - 1n);
const key = fc.string({ unit: "grapheme", maxLength: 8 }).filter((name) => name !== "__proto__");
const text = fc.string({ unit: "grapheme", maxLength: 20 });
const time = fc
  .tuple(
    fc.date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true }),
    fc.nat(999_999_999),
  )
  .map(([date, nanos]) => `${date.toISOString().slice(0, 19)}.${String(nanos).padStart(9, "0")}Z`);
const span = fc
  .tuple(fc.integer({ min: -315_576_000_000, max: 315_576_000_000 }), fc.nat(999))
  .map(([seconds, ms]) =>
    Math.abs(seconds) === 315_576_000_000 ? `${seconds}s` : `${seconds}.${String(ms).padStart(3, "0")}s`,
  );
const anyJson = fc
  .jsonValue({ maxDepth: 3 })
  .filter((value) => !JSON.stringify(value).includes("__proto__")) as fc.Arbitrary<JsonValue>;
const message: fc.Arbitrary<JsonObject> = fc.record(
  {
    flag: fc.boolean(),
    small: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    large: int64.map(String),
    huge: uint64.map(String),
    positive: fc.nat(2 ** 32 - 1),
    twice: fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom("NaN", "Infinity", "-Infinity"),
    ),
    text,
    blob: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString("base64")),
    color: fc.oneof(fc.constantFrom("RED", "GREEN"), fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
    colors: fc.array(fc.constantFrom("RED", "GREEN")),
    numbers: fc.array(int64.map(String)),
    counts: fc.dictionary(key, fc.integer({ min: -1000, max: 1000 })),
    flags: fc.dictionary(
      int64.map((number) => String(number % 2n ** 31n)),
      fc.boolean(),
    ),
    at: time,
    took: span,
    mask: fc.array(fc.constantFrom("a", "fooBar", "a.bC")).map((paths) => paths.join(",")),
    object: fc.dictionary(key, anyJson),
    anyValue: anyJson.filter((value) => value !== null),
    maybe: fc.boolean(),
    maybeLarge: int64.map(String),
    maybeText: text,
    inner: fc.record({ text, large: int64.map(String) }),
    packed: fc.record({ "@type": fc.constant("type.googleapis.com/shop.Everything"), large: int64.map(String), text }),
  },
  { requiredKeys: [] },
) as unknown as fc.Arbitrary<JsonObject>;

test("what the library reads, the transcoder reads alike, and writes alike", () => {
  fc.assert(
    fc.property(message, (json) => {
      const bytes = encoded(JSON.stringify(json));
      const plain = JSON.parse(JSON.stringify(json)) as JsonObject;
      expect(toJson(TYPE, fromBinary(TYPE, bytes), options)).toEqual(
        toJson(TYPE, fromJson(TYPE, plain, options), options),
      );
      expect(JSON.parse(codec.decode(bytes))).toEqual(
        JSON.parse(JSON.stringify(toJson(TYPE, fromBinary(TYPE, bytes), options))),
      );
      expect(Buffer.from(encoded(codec.decode(bytes)))).toEqual(Buffer.from(bytes));
    }),
    { numRuns: 150 },
  );
});

test("whole numbers in any spelling of JSON are the same message, as numbers and as texts", () => {
  const spelling = fc
    .tuple(int64, fc.nat(3), fc.nat(25), fc.constantFrom("e", "E", "e+"))
    .map(([number, zeros, places, e]) => {
      const digits = String(number < 0n ? -number : number);
      const sign = number < 0n ? "-" : "";
      const at = Math.max(1, digits.length - places);
      const scaled = `${sign}${digits.slice(0, at)}${digits.slice(at) === "" ? "" : `.${digits.slice(at)}`}${e}${digits.length - at}`;
      const padded = `${sign}${digits}${zeros === 0 ? "" : `.${"0".repeat(zeros)}`}`;
      const raised = `${sign}${digits}${"0".repeat(zeros)}e-${zeros}`;
      return { number, texts: [scaled, padded, raised] };
    });
  fc.assert(
    fc.property(spelling, ({ number, texts }) => {
      const expected = Buffer.from(
        toBinary(
          TYPE,
          fromJson(TYPE, { large: String(number), numbers: [String(number)], maybeLarge: String(number) }),
        ),
      );
      for (const one of texts) {
        for (const spelled of [one, `"${one}"`]) {
          expect([
            spelled,
            Buffer.from(encoded(`{"large":${spelled},"numbers":[${spelled}],"maybeLarge":${spelled}}`)),
          ]).toEqual([spelled, expected]);
        }
      }
    }),
  );
});

test("texts that are no numbers of JSON are refused in every field that is a number", () => {
  const fields = ["small", "large", "huge", "positive", "twice", "single", "maybeLarge"];
  const odd = fc.oneof(
    fc.nat().map((number) => ` ${number}`),
    fc.nat().map((number) => `${number}\n`),
    fc.nat().map((number) => `+${number}`),
    fc.nat().map((number) => `0${number}`),
    fc.nat().map((number) => `0x${number.toString(16)}`),
    fc.nat().map((number) => `0b${number.toString(2)}`),
    fc.nat().map((number) => `${number}.`),
    fc.nat().map((number) => `.${number}`),
    fc.nat().map((number) => `${number}n`),
    fc.nat(1000).map((number) => `1_${number}`),
    fc.nat(1000).map((number) => `${number}e`),
  );
  fc.assert(
    fc.property(odd, fc.constantFrom(...fields), (one, name) => {
      expect(() => encoded(JSON.stringify({ [name]: one }))).toThrow();
    }),
  );
});
