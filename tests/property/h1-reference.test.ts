import { expect, test } from "bun:test";
import fc from "fast-check";
import { IN_PLACE } from "../unit/proto/carriers.ts";
import { expectedLog, requestLog, requestVectors } from "../unit/proto/h1/request-log.ts";
import { textOf } from "../unit/proto/vector-file.ts";
import { mutated, spicedText } from "./h1-arbitraries.ts";
import { readReferenceHead } from "./h1-reference-head.ts";

const MUTATED_BYTES = 1500;

/**
 * The reference refuses what the parser refuses and reads what it reads, field by field. One thing it does not know:
 * a head that has gone wrong before its end. There the parser may refuse or wait, but not accept.
 */
function expectAgreement(text: string): void {
  const log = requestLog([Buffer.from(text, "latin1")], IN_PLACE);
  const reading = readReferenceHead(text);
  if (reading.kind === "head") expect(log).toBe(expectedLog({ name: "", input: "", head: reading.head }));
  else if (reading.kind === "refused")
    expect([log, reading.why]).toEqual([expect.stringMatching(REFUSED), reading.why]);
  else expect(log).toMatch(NOT_ACCEPTED);
}

const REFUSED = /^\{"fault":/;
const NOT_ACCEPTED = /^\{"(fault|needMore)":/;

test("parser and reference agree on every vector", () => {
  for (const vector of requestVectors()) expectAgreement(textOf(vector.input));
});

test("parser and reference agree on mutated vectors", () => {
  fc.assert(fc.property(mutated(requestVectors(), MUTATED_BYTES), expectAgreement), { numRuns: 20_000 });
});

test("parser and reference agree on noise within a head", () => {
  const heads = fc.tuple(spicedText, spicedText).map(([a, b]) => `GET /${a} HTTP/1.1\r\nHost: a\r\n${b}\r\n\r\n`);
  fc.assert(fc.property(heads, expectAgreement), { numRuns: 10_000 });
});

test("the mutations reach both sides of the rules", () => {
  const texts = fc.sample(mutated(requestVectors(), MUTATED_BYTES), { numRuns: 2000, seed: 1 });
  const kinds = texts.map((text) => readReferenceHead(text).kind);
  for (const kind of ["head", "refused", "incomplete"]) {
    expect(kinds.filter((found) => found === kind).length).toBeGreaterThan(50);
  }
});
