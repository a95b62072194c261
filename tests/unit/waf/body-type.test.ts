import { expect, test } from "bun:test";
import { BodyType, bodyTypeOf } from "../../../src/features/waf/body/body-type.ts";
import { fakeExchange } from "../telemetry/exchange-fake.ts";

function typeOf(...values: string[]): BodyType {
  const headers = values.map((value): [string, string] => ["Content-Type", value]);
  return bodyTypeOf(fakeExchange({ headers }).ex.request.headers);
}

test.each([
  ["application/x-www-form-urlencoded", BodyType.Form],
  ["Application/X-WWW-Form-Urlencoded; charset=utf-8", BodyType.Form],
  ["multipart/form-data; boundary=x", BodyType.Multipart],
  ["MULTIPART/mixed", BodyType.Multipart],
  ["application/json", BodyType.Json],
  ["text/JSON ;charset=utf-8", BodyType.Json],
  ["application/json,text/plain", BodyType.Json],
  ["application/vnd.api+json", BodyType.Json],
  ["application/csp-report", BodyType.Json],
  ["a/json/b", BodyType.Json],
  ["text/xml", BodyType.Xml],
  ["image/svg+XML", BodyType.Xml],
  ["application/xml-dtd", BodyType.Xml],
  ["application/octet-stream", BodyType.Other],
  ["application/jsonx", BodyType.Other],
  ["application/xjson", BodyType.Other],
  ["application/", BodyType.Other],
  ["application", BodyType.Other],
  ["json", BodyType.Other],
  ["+json", BodyType.Other],
  ["/", BodyType.Other],
  ["", BodyType.Other],
])("a body of Content-Type %p", (value, expected) => {
  expect(typeOf(value)).toBe(expected);
});

test("the one that is inspected counts where there are two", () => {
  expect(typeOf("text/plain", "application/json")).toBe(BodyType.Json);
});
