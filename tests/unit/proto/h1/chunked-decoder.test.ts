import { expect, test } from "bun:test";
import { ChunkEvent, ChunkedDecoder } from "../../../../src/proto/h1/chunked-decoder.ts";

/** The pieces that a body makes which comes as a whole. */
function piecesOf(text: string): string[] {
  const decoder = new ChunkedDecoder();
  decoder.begin(0);
  const bytes = Buffer.from(text, "latin1");
  const pieces: string[] = [];
  let at = 0;
  for (let event = ChunkEvent.Data; event === ChunkEvent.Data; at = decoder.consumed) {
    event = decoder.nextJoined(bytes, at, bytes.length);
    if (event === ChunkEvent.Data) pieces.push(bytes.latin1Slice(decoder.dataFrom, decoder.dataTo));
  }
  return pieces;
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

test("however many small chunks come together, they are one piece", () => {
  const text = Array.from({ length: 10_000 }, (_, i) => String.fromCharCode(97 + (i % 26)));
  expect(piecesOf(`${text.map(chunk).join("")}0\r\n\r\n`)).toEqual([text.join("")]);
});

test("a large chunk is not copied: what follows it, or comes before it, is another piece", () => {
  const large = "x".repeat(1025);
  expect(piecesOf(["a", "b", large, "c", large, large, "d", "e"].map(chunk).join(""))).toEqual([
    "ab",
    large,
    "c",
    large,
    large,
    "de",
  ]);
});

test("what comes before a fault is handed over", () => {
  expect(piecesOf(`${chunk("a")}${chunk("b")}x`)).toEqual(["ab"]);
  expect(piecesOf(`${chunk("a")}1\r\nbb`)).toEqual(["ab"]);
});
