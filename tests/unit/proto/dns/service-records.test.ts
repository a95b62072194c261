import { expect, test } from "bun:test";
import fc from "fast-check";
import { serviceQuestion, serviceResponse } from "../../../../src/proto/dns/service-records.ts";

const NAME = "_web._tcp.example.com";
const question = serviceQuestion(0x1234, NAME);
const asked = question.subarray(12, question.length - 11);
const labels = (name: string) =>
  Buffer.concat([
    ...name.split(".").map((one) => Buffer.concat([Buffer.of(one.length), Buffer.from(one)])),
    Buffer.of(0),
  ]);
const record = (target: Buffer, [priority, weight, port]: readonly number[], ttl = 60, type = 33) => {
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, ttl, 0, 6 + target.length]);
  return Buffer.concat([head, Buffer.from([0, priority!, 0, weight!, 0, port!]), target]);
};
const answer = (records: readonly Buffer[], code = 0, id = 0x1234) =>
  Buffer.concat([
    Buffer.from([id >> 8, id & 255, 0x81, 0x80 | code, 0, 1, 0, records.length, 0, 0, 0, 0]),
    asked,
    ...records,
  ]);

test("records are read, with pointers into the message; the least time to live counts", () => {
  const read = serviceResponse(
    question,
    answer([
      record(labels("A.Example.com"), [10, 5, 80]),
      record(Buffer.concat([Buffer.from([1, 98]), Buffer.from([0xc0, 22])]), [20, 0, 81], 7),
      record(labels("x"), [0, 0, 1], 1, 16),
      record(Buffer.of(0), [0, 0, 0]),
    ]),
  );
  expect(read).toEqual({
    records: [
      { host: "a.example.com", port: 80, priority: 10, weight: 5 },
      { host: "b.example.com", port: 81, priority: 20, weight: 0 },
    ],
    ttl: 7,
    code: 0,
  });
  expect(serviceResponse(question, answer([], 3))).toMatchObject({ records: [], code: 3 });
});

test("answers to other questions, circles and names that are none are passed over", () => {
  expect(serviceResponse(question, answer([], 0, 0x1235))).toBeNull();
  expect(serviceResponse(serviceQuestion(0x1234, "_web._tcp.example.org"), answer([]))).toBeNull();
  expect(serviceResponse(question, question)).toBeNull();
  const at = 12 + asked.length + 12 + 6;
  expect(serviceResponse(question, answer([record(Buffer.from([0xc0, at]), [1, 1, 1])]))).toBeNull();
  expect(serviceResponse(question, answer([record(labels("a b.c"), [1, 1, 1])]))).toBeNull();
});

test("whatever comes, reading it ends, without an exception", () => {
  const whole = answer([record(labels("a.example.com"), [10, 5, 80]), record(Buffer.from([0xc0, 12]), [1, 1, 1])]);
  fc.assert(
    fc.property(fc.nat(whole.length), fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255))), (length, changes) => {
      const bytes = Buffer.from(whole);
      for (const [at, byte] of changes) bytes[at] = byte;
      const read = serviceResponse(question, bytes.subarray(0, length));
      expect(read === null || read.records.length <= 64).toBe(true);
    }),
    { numRuns: 2000 },
  );
});
