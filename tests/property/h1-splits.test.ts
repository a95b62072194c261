import { expect, test } from "bun:test";
import fc from "fast-check";
import { IN_PLACE } from "../unit/proto/carriers.ts";
import { chunkLog, chunkVectors } from "../unit/proto/h1/chunk-log.ts";
import { requestLog, requestVectors } from "../unit/proto/h1/request-log.ts";
import { responseLog, responseVectors } from "../unit/proto/h1/response-log.ts";
import { anyOf, carrier, cutAt, cutPoints, mutated, spicedText } from "./h1-arbitraries.ts";

const MUTATED_BYTES = 1500;
const method = fc.constantFrom("GET", "HEAD", "POST");
const limit = fc.constantFrom(0, 1, 5, 4096);

test("any split of a request vector gives the same log", () => {
  fc.assert(
    fc.property(anyOf(requestVectors()), cutPoints, carrier, ({ bytes }, points, way) => {
      expect(requestLog(cutAt(bytes, points), way)).toBe(requestLog([bytes], IN_PLACE));
    }),
    { numRuns: 4000 },
  );
});

test("any split of a response vector gives the same log", () => {
  fc.assert(
    fc.property(anyOf(responseVectors()), cutPoints, carrier, ({ bytes, vector }, points, way) => {
      const whole = responseLog([bytes], IN_PLACE, vector.method);
      expect(responseLog(cutAt(bytes, points), way, vector.method)).toBe(whole);
    }),
    { numRuns: 4000 },
  );
});

test("any split of a chunk vector gives the same log", () => {
  fc.assert(
    fc.property(anyOf(chunkVectors()), cutPoints, carrier, ({ bytes, vector }, points, way) => {
      const whole = chunkLog([bytes], IN_PLACE, vector.maxBodyBytes);
      expect(chunkLog(cutAt(bytes, points), way, vector.maxBodyBytes)).toBe(whole);
    }),
    { numRuns: 4000 },
  );
});

test("any split of a mutated request gives the same log", () => {
  fc.assert(
    fc.property(mutated(requestVectors(), MUTATED_BYTES), cutPoints, carrier, (text, points, way) => {
      const bytes = Buffer.from(text, "latin1");
      expect(requestLog(cutAt(bytes, points), way)).toBe(requestLog([bytes], IN_PLACE));
    }),
    { numRuns: 10_000 },
  );
});

test("any split of a mutated response gives the same log", () => {
  fc.assert(
    fc.property(mutated(responseVectors(), MUTATED_BYTES), cutPoints, carrier, method, (text, points, way, name) => {
      const bytes = Buffer.from(text, "latin1");
      expect(responseLog(cutAt(bytes, points), way, name)).toBe(responseLog([bytes], IN_PLACE, name));
    }),
    { numRuns: 10_000 },
  );
});

test("any split of a mutated chunk stream gives the same log", () => {
  fc.assert(
    fc.property(mutated(chunkVectors(), MUTATED_BYTES), cutPoints, carrier, limit, (text, points, way, most) => {
      const bytes = Buffer.from(text, "latin1");
      expect(chunkLog(cutAt(bytes, points), way, most)).toBe(chunkLog([bytes], IN_PLACE, most));
    }),
    { numRuns: 10_000 },
  );
});

// No parser throws: these would, if one did. Nearly all of it is refused or unfinished.
test("any bytes end in a head, a fault or the wish for more, in any split", () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    spicedText.map((text) => Buffer.from(text, "latin1")),
    spicedText.map((text) => Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${text}\r\n\r\n`, "latin1")),
    spicedText.map((text) => Buffer.from(`HTTP/1.1 200 OK\r\n${text}\r\n\r\n`, "latin1")),
  );
  fc.assert(
    fc.property(bytes, cutPoints, carrier, limit, (input, points, way, most) => {
      const pieces = cutAt(input, points);
      expect(requestLog(pieces, way)).toBe(requestLog([input], IN_PLACE));
      expect(responseLog(pieces, way)).toBe(responseLog([input], IN_PLACE));
      expect(chunkLog(pieces, way, most)).toBe(chunkLog([input], IN_PLACE, most));
    }),
    { numRuns: 10_000 },
  );
});
