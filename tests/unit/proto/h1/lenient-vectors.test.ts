import { describe, expect, test } from "bun:test";
import { LENIENCIES } from "../../../../src/core/leniency.ts";
import { IN_PLACE } from "../carriers.ts";
import { expectEverySplit } from "../every-split.ts";
import { bytesOf } from "../vector-file.ts";
import { expectedLenient, LENIENT_FILE, lenientLog, lenientVectors, strictLog } from "./lenient-log.ts";

describe(LENIENT_FILE, () => {
  for (const vector of lenientVectors()) {
    test(vector.name, () => {
      const logOf: typeof lenientLog = (pieces, carrier) => lenientLog(pieces, carrier, vector.method);
      expectEverySplit(bytesOf(vector.input), expectedLenient(vector), logOf);
    });
  }
});

test("the strict parser refuses what needs leniency", () => {
  const needy = lenientVectors().filter(({ head }) => (head?.needs ?? []).length > 0);
  for (const { name, input, method } of needy) {
    expect([name, strictLog([bytesOf(input)], IN_PLACE, method)]).toEqual([name, expect.stringContaining("malformed")]);
  }
  const needs = new Set(needy.flatMap(({ head }) => head?.needs ?? []));
  expect([...needs].sort()).toEqual([...LENIENCIES].sort());
});
