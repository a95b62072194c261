import { expect, test } from "bun:test";
import {
  codeOfHttpStatus,
  decodeMessage,
  httpStatusOf,
  readStatus,
  timeoutText,
} from "../../../../src/proto/grpc/grpc-status.ts";

test("every status has the HTTP status that was decided", () => {
  const statuses = Array.from({ length: 17 }, (_, code) => httpStatusOf(code));
  expect(statuses).toEqual([200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401]);
  expect([17, 99, 999_999_999].map(httpStatusOf)).toEqual([500, 500, 500]);
});

test("an HTTP status stands for a gRPC one where none came", () => {
  const codes = [400, 401, 403, 404, 429, 502, 503, 504, 418, 500, 301].map(codeOfHttpStatus);
  expect(codes).toEqual([13, 16, 7, 12, 14, 14, 14, 14, 2, 2, 2]);
});

test.each([
  ["plain", "plain"],
  ["a%20b%0A", "a b\n"],
  ["caf%C3%A9 %e2%82%ac", "café €"],
  ["100%", "100%"],
  ["%zz %4", "%zz %4"],
  ["%ff", "\ufffd"],
  ["caf\xc3\xa9", "café"],
])("the message %p", (text, message) => {
  expect(decodeMessage(text)).toBe(message);
});

test("a status is read from fields", () => {
  const read = (fields: Record<string, string>) => readStatus((name) => fields[name]);
  expect(read({})).toBeNull();
  expect(read({ "grpc-status": "5", "grpc-message": "no%21" })).toEqual({ code: 5, message: "no!", details: null });
  expect(read({ "grpc-status": "0, 0" })?.code).toBe(2);
  expect(read({ "grpc-status": "-1" })?.code).toBe(2);
  expect(Buffer.from(read({ "grpc-status": "3", "grpc-status-details-bin": "AQI" })!.details!)).toEqual(
    Buffer.from([1, 2]),
  );
  expect(read({ "grpc-status": "3", "grpc-status-details-bin": "!" })!.details).toBeNull();
});

test.each([
  [30_000, "30000m"],
  [0.2, "1m"],
  [99_999_999, "99999999m"],
  [100_000_000, "100000S"],
  [1e15, "99999999S"],
])("%p milliseconds", (ms, text) => {
  expect(timeoutText(ms)).toBe(text);
});
