import { expect, test } from "bun:test";
import fc from "fast-check";
import { HeaderBlock } from "../../src/message/header-block.ts";
import { encodeChunkSize, encodeTrailers, LAST_CHUNK } from "../../src/proto/h1/response-encoder.ts";
import { chunkLog } from "../unit/proto/h1/chunk-log.ts";
import { carrier, cutAt, cutPoints } from "./h1-arbitraries.ts";

interface Chunk {
  readonly data: Uint8Array;
  /** Zeros before the size, and whether its letters are capitals: any sender may write it so. */
  readonly zeros: number;
  readonly capitals: boolean;
  readonly extension: string;
}

/** A semicolon and up to 256 bytes behind it: HTAB, what can be seen, obs-text. */
const extension = fc.oneof(
  fc.constant(""),
  fc
    .array(fc.oneof(fc.constant(0x09), fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })), {
      maxLength: 256,
    })
    .map((codes) => `;${String.fromCharCode(...codes)}`),
);
const chunk: fc.Arbitrary<Chunk> = fc.record({
  data: fc.uint8Array({ minLength: 1, maxLength: 300 }),
  zeros: fc.integer({ min: 0, max: 20 }),
  capitals: fc.boolean(),
  extension,
});
const value = fc
  .array(fc.oneof(fc.integer({ min: 0x21, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })), { maxLength: 20 })
  .map((codes) => String.fromCharCode(...codes));
const trailers = fc.array(fc.tuple(fc.constantFrom("X-A", "x-b", "ETag", "Server-Timing", "A"), value), {
  maxLength: 6,
});
const behind = fc.constantFrom("", "\r\n", "0\r\n\r\n", "GET / HTTP/1.1\r\n", "\0");

function encode(chunks: readonly Chunk[], fields: readonly (readonly [string, string])[]): Buffer {
  const parts = chunks.map(({ data, zeros, capitals, extension: text }) => {
    const size = data.length.toString(16);
    const line = `${"0".repeat(zeros)}${capitals ? size.toUpperCase() : size}${text}\r\n`;
    return Buffer.concat([Buffer.from(line, "latin1"), data, Buffer.from("\r\n")]);
  });
  const lines = fields.map(([name, text]) => `${name}: ${text}\r\n`).join("");
  return Buffer.concat([...parts, Buffer.from(`0\r\n${lines}\r\n`, "latin1")]);
}

function logOf(chunks: readonly Chunk[], fields: readonly (readonly [string, string])[], consumed: number): string {
  const data = Buffer.concat(chunks.map((each) => each.data)).toString("latin1");
  return JSON.stringify({ data, total: data.length, trailers: fields, consumed });
}

test("what is encoded in chunks decodes to the same bytes and trailers, in any split", () => {
  const chunks = fc.array(chunk, { maxLength: 8 });
  fc.assert(
    fc.property(chunks, trailers, behind, cutPoints, carrier, (sent, fields, rest, points, way) => {
      const body = encode(sent, fields);
      const input = Buffer.concat([body, Buffer.from(rest)]);
      expect(chunkLog(cutAt(input, points), way)).toBe(logOf(sent, fields, body.length));
    }),
    { numRuns: 2500 },
  );
});

test("a limit lets through what is not longer, and nothing of the chunk that is", () => {
  const chunks = fc.array(chunk, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(chunks, fc.integer({ min: 1, max: 600 }), cutPoints, carrier, (sent, limit, points, way) => {
      const body = encode(sent, []);
      const log = JSON.parse(chunkLog(cutAt(body, points), way, limit));
      let kept = 0;
      let total = 0;
      for (const { data } of sent) {
        total += data.length;
        if (total <= limit) kept = total;
      }
      expect(log.data.length).toBe(kept);
      expect(log.fault).toBe(total <= limit ? undefined : "body_too_large");
    }),
    { numRuns: 3000 },
  );
});

test("the gateway's own chunks decode to what was written", () => {
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 5000 }), { maxLength: 4 });
  fc.assert(
    fc.property(pieces, trailers, cutPoints, carrier, (sent, fields, points, way) => {
      const out = Buffer.alloc(40_000);
      let at = 0;
      for (const piece of sent) {
        at = encodeChunkSize(out, at, piece.length);
        at += Buffer.from(piece).copy(out, at);
        at += out.write("\r\n", at);
      }
      const block = new HeaderBlock();
      block.resetOwn();
      for (const [name, text] of fields) block.add(name, text);
      at = fields.length === 0 ? at + LAST_CHUNK.copy(out, at) : encodeTrailers(out, at, block);
      const chunks = sent.map((data) => ({ data, zeros: 0, capitals: false, extension: "" }));
      expect(chunkLog(cutAt(out.subarray(0, at), points), way)).toBe(logOf(chunks, fields, at));
    }),
    { numRuns: 1000 },
  );
});
