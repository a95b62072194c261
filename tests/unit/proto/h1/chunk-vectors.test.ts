import { describe, expect, test } from "bun:test";
import { expectEverySplit } from "../every-split.ts";
import { bytesOf, readVectors } from "../vector-file.ts";
import {
  CHUNK_FILES,
  type ChunkVector,
  chunkLog,
  chunkVectors,
  expectedChunks,
  LENIENT_CHUNK_FILE,
  lenientChunkLog,
} from "./chunk-log.ts";

for (const file of CHUNK_FILES) {
  describe(file, () => {
    for (const vector of readVectors<ChunkVector>(file)) {
      test(vector.name, () => {
        const logOf: typeof chunkLog = (pieces, carrier) => chunkLog(pieces, carrier, vector.maxBodyBytes);
        expectEverySplit(bytesOf(vector.input), expectedChunks(vector), logOf);
      });
    }
  });
}

describe(LENIENT_CHUNK_FILE, () => {
  for (const vector of readVectors<ChunkVector>(LENIENT_CHUNK_FILE)) {
    test(vector.name, () => {
      expectEverySplit(bytesOf(vector.input), expectedChunks(vector), lenientChunkLog);
    });
  }
});

test("the chunk vectors hold every fault that a chunked body can have", () => {
  const found = new Set(chunkVectors().map((vector) => vector.fault));
  expect(FAULTS_OF_CHUNKS.filter((label) => !found.has(label))).toEqual([]);
});

const FAULTS_OF_CHUNKS: readonly string[] = [
  "bad_chunk_size",
  "chunk_size_too_large",
  "chunk_extension_too_long",
  "bad_chunk_extension",
  "bad_chunk_delimiter",
  "bad_trailer",
  "forbidden_trailer",
  "trailers_too_large",
  "body_truncated",
  "body_too_large",
];
