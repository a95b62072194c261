import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";

/** The content of a body in an encoding; as it is where there is none. */
export function decoded(encoding: string | null | undefined, bytes: Uint8Array): Buffer {
  if (encoding === "gzip") return gunzipSync(bytes);
  if (encoding === "br") return brotliDecompressSync(bytes);
  if (encoding === "zstd") return zstdDecompressSync(bytes);
  return Buffer.from(bytes);
}

/** JSON of some `bytes` bytes that compresses as real data does. */
export function sampleJson(bytes: number, seed = 1): Buffer {
  const rows: string[] = [];
  let state = seed;
  let length = 2;
  while (length < bytes) {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    const row = `{"id":${state % 100_000},"name":"user-${state % 977}","mail":"u${state % 9973}@example.com","on":${state % 2 === 0}}`;
    rows.push(row);
    length += row.length + 1;
  }
  return Buffer.from(`[${rows.join(",")}]`).subarray(0, bytes);
}
