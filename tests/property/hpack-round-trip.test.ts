import { expect, test } from "bun:test";
import fc from "fast-check";
import { headerIdFromName } from "../../src/message/header-block.ts";
import { HpackDecoder } from "../../src/proto/hpack/decoder.ts";
import { HpackEncoder } from "../../src/proto/hpack/encoder.ts";
import { decodeHuffman, encodeHuffman, huffmanLength } from "../../src/proto/hpack/huffman.ts";
import { decodeBlock } from "../unit/proto/hpack/hpack-log.ts";

const name = fc.oneof(
  fc.constantFrom("content-type", "Date", "SERVER", "set-cookie", "x-a", "X-Trace-Id", "via", "etag", "cookie"),
  fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9-]{0,40}$/),
);
const value = fc.oneof(
  fc.constantFrom("", "text/html", "edge", "a".repeat(300), "no-cache"),
  fc.stringMatching(/^[!-~\x80-\xff]{0,60}$/),
);
const block = fc.array(fc.tuple(name, value), { maxLength: 12 });
const tableSize = fc.option(fc.constantFrom(0, 40, 100, 4096, 65536), { nil: null });

test("what the encoder writes the decoder reads, block by block, with table sizes that change", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(tableSize, block), { minLength: 1, maxLength: 20 }), (blocks) => {
      const encoder = new HpackEncoder();
      const decoder = new HpackDecoder(4096);
      for (const [size, fields] of blocks) {
        if (size !== null) encoder.setPeerTableSize(size);
        expect(decodeBlock(decoder, encodeBlock(encoder, fields))).toEqual(
          fields.map(([name, value]) => `${name.toLowerCase()}: ${value}`),
        );
      }
    }),
    { numRuns: 1500 },
  );
});

test("a field that comes again and again takes one byte from the third time on", () => {
  const encoder = new HpackEncoder();
  const fields = [["Content-Type", "application/json"]] as const;
  const lengths = [1, 2, 3, 4].map(() => encodeBlock(encoder, fields).length);
  expect(lengths[0]).toBeGreaterThan(10);
  expect(lengths.slice(2)).toEqual([1, 1]);
});

test("Huffman coding is undone by decoding, and its length is told right", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const coded = Buffer.alloc(bytes.length * 4 + 4);
      const end = encodeHuffman(bytes, 0, bytes.length, coded, 0);
      expect(end).toBe(huffmanLength(bytes, 0, bytes.length));
      const decoded = Buffer.alloc(bytes.length * 8 + 8);
      const length = decodeHuffman(coded, 0, end, decoded, 0);
      expect(decoded.subarray(0, length)).toEqual(Buffer.from(bytes));
    }),
    { numRuns: 2000 },
  );
});

test("no bytes make the decoder throw", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 120 }), { maxLength: 8 }), (blocks) => {
      const decoder = new HpackDecoder(4096);
      for (const bytes of blocks) if (decodeBlock(decoder, Buffer.from(bytes)) === null) return;
    }),
    { numRuns: 5000 },
  );
});

function encodeBlock(encoder: HpackEncoder, fields: readonly (readonly [string, string])[]): Buffer {
  const out = Buffer.alloc(65536);
  encoder.begin(out, 0);
  for (const [name, value] of fields) {
    const line = Buffer.from(`${name}: ${value}`, "latin1");
    const valueFrom = name.length + 2;
    encoder.field(headerIdFromName(name), line, 0, name.length, valueFrom, line.length);
  }
  return out.subarray(0, encoder.end());
}
