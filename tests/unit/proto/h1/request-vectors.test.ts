import { describe, expect, test } from "bun:test";
import { FaultKind } from "../../../../src/core/fault.ts";
import { FAULTS } from "../../../../src/core/fault-rows.ts";
import { expectEverySplit } from "../every-split.ts";
import { bytesOf, readVectors } from "../vector-file.ts";
import { expectedLog, REQUEST_FILES, type RequestVector, requestLog, requestVectors } from "./request-log.ts";

for (const file of REQUEST_FILES) {
  describe(file, () => {
    for (const vector of readVectors<RequestVector>(file)) {
      test(vector.name, () => expectEverySplit(bytesOf(vector.input), expectedLog(vector), requestLog));
    }
  });
}

describe("the request vectors", () => {
  test("hold every fault that a request's head can have", () => {
    const refused = new Set(requestVectors().map((vector) => vector.fault));
    const wanted = FAULTS.filter((row) => row.kind === FaultKind.Framing && !FOUND_ELSEWHERE.has(row.label)).map(
      (row) => row.label,
    );
    expect(wanted.filter((label) => !refused.has(label))).toEqual([]);
  });

  test("have names of their own", () => {
    for (const file of REQUEST_FILES) {
      const names = readVectors<RequestVector>(file).map((vector) => vector.name);
      expect(new Set(names).size).toBe(names.length);
    }
  });
});

/** Framing faults of the body, of the connection (a PROXY header, a head cut by its end) and of a route's chunked mode. */
const FOUND_ELSEWHERE: ReadonlySet<string> = new Set([
  "bad_proxy_header",
  "head_truncated",
  "bad_chunk_size",
  "chunk_size_too_large",
  "chunk_extension_too_long",
  "bad_chunk_extension",
  "bad_chunk_delimiter",
  "bad_trailer",
  "forbidden_trailer",
  "trailers_too_large",
  "body_truncated",
  "chunked_disabled",
  "bad_pseudo_header",
  "connection_field",
  "length_mismatch",
  "bad_http2",
  "http2_flood",
]);
