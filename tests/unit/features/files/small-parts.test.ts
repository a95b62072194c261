import { expect, test } from "bun:test";
import { chooseCoding } from "../../../../src/features/files/content-coding.ts";
import { contentTypeOf } from "../../../../src/features/files/content-type.ts";
import { encodedPath, encodedQuery } from "../../../../src/features/files/percent-escape.ts";
import { CODING_NAMES } from "../../../../src/proto/semantics/accept-encoding.ts";
import { ByteRange, RangeVerdict } from "../../../../src/proto/semantics/byte-range.ts";
import { httpDateText, parseHttpDate } from "../../../../src/proto/semantics/http-date.ts";
import codingVectors from "../../../vectors/files/accept-encoding.json";
import typeVectors from "../../../vectors/files/content-types.json";
import dateVectors from "../../../vectors/files/http-dates.json";
import rangeVectors from "../../../vectors/files/ranges.json";
import { NOW_MS, trial } from "./test-site.ts";

for (const row of rangeVectors.rows) {
  test(`range "${row.value}" of ${row.size} bytes`, () => {
    const range = new ByteRange();
    const verdict = range.resolve(row.value, row.size);
    if (row.part !== undefined) {
      expect(verdict).toBe(RangeVerdict.Part);
      expect([range.from, range.to]).toEqual(row.part);
    } else expect(verdict).toBe(row.none === true ? RangeVerdict.Unsatisfiable : RangeVerdict.Whole);
  });
}

for (const row of codingVectors.rows) {
  test(`Accept-Encoding ${JSON.stringify(row.fields)} where there is ${row.there}`, () => {
    const fields = row.fields.map((value): [string, string] => ["Accept-Encoding", value]);
    const there = row.there.split(" ").reduce((bits, name) => bits | (1 << CODING_NAMES.indexOf(name)), 1);
    const { ex } = trial("GET", "/", fields);
    expect(CODING_NAMES[chooseCoding(ex.request.headers, there)]).toBe(row.coding);
  });
}

test("weights of one request do not linger for the next", () => {
  chooseCoding(trial("GET", "/", { "Accept-Encoding": "br;q=0, gzip;q=0.1" }).ex.request.headers, 0b1111);
  const { ex } = trial("GET", "/", { "Accept-Encoding": "gzip, br;q=0.5" });
  expect(CODING_NAMES[chooseCoding(ex.request.headers, 0b1111)]).toBe("gzip");
});

for (const row of dateVectors.rows) {
  test(`date "${row.text}"`, () => {
    expect(parseHttpDate(row.text, NOW_MS)).toBe(row.seconds ?? Number.NaN);
  });
}

test("a date that was written is read again", () => {
  for (const seconds of [0, 784111777, 1780315200, 4102444799]) {
    expect(parseHttpDate(httpDateText(seconds), NOW_MS)).toBe(seconds);
  }
});

for (const [name, type] of typeVectors.rows) {
  test(`type of ${name}`, () => {
    expect(contentTypeOf(name!)).toBe(type!);
  });
}

test("whatever is encoded can stand in a header and in a URI", () => {
  const all = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)).join("");
  expect(encodedPath(all)).toMatch(/^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})*$/);
  expect(encodedQuery(all)).toMatch(/^[\x21-\x7e]*$/);
  expect(decodeURIComponent(encodedPath('/a b/%/?#\\"<'))).toBe('/a b/%/?#\\"<');
  expect(encodedQuery("?a=%2f&b=%zz")).toBe("?a=%2f&b=%zz");
});
