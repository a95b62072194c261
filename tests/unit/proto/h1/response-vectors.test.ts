import { describe, test } from "bun:test";
import { expectEverySplit } from "../every-split.ts";
import { bytesOf, readVectors } from "../vector-file.ts";
import { expectedResponse, RESPONSE_FILES, type ResponseVector, responseLog } from "./response-log.ts";

for (const file of RESPONSE_FILES) {
  describe(file, () => {
    for (const vector of readVectors<ResponseVector>(file)) {
      test(vector.name, () => {
        const logOf: typeof responseLog = (pieces, carrier) => responseLog(pieces, carrier, vector.method);
        expectEverySplit(bytesOf(vector.input), expectedResponse(vector), logOf);
      });
    }
  });
}
