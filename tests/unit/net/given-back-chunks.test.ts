import { describe, expect, test } from "bun:test";
import { RETURNED_CHUNK_BYTES } from "../../../src/core/limits.ts";
import { HeaderBlock, HeaderId } from "../../../src/message/header-block.ts";
import { InputBuffer } from "../../../src/net/socket-buffers.ts";

const ELSEWHERE = { bytes: new Uint8Array(0) };

function chunkOf(length: number): Buffer {
  return Buffer.allocUnsafeSlow(length).fill("x");
}

/** Appends a chunk and consumes all of it. */
function consume(input: InputBuffer, chunk: Uint8Array): void {
  input.append(chunk);
  input.from = input.to;
}

describe("a received chunk", () => {
  test("is given back when all of it is consumed", () => {
    const input = new InputBuffer();
    const chunk = chunkOf(RETURNED_CHUNK_BYTES);
    consume(input, chunk);
    input.release();
    input.giveBack(chunk, ELSEWHERE);
    expect(chunk.length).toBe(0);
    const next = chunkOf(RETURNED_CHUNK_BYTES);
    consume(input, next);
    expect(input.bytes).toBe(next);
  });

  test("stays while some of it is unread", () => {
    const input = new InputBuffer();
    const chunk = chunkOf(RETURNED_CHUNK_BYTES);
    input.append(chunk);
    input.from = 10;
    input.release();
    input.giveBack(chunk, ELSEWHERE);
    expect(chunk.length).toBe(RETURNED_CHUNK_BYTES);
  });

  test("stays where somebody may have kept bytes of it, and the next one does not", () => {
    const input = new InputBuffer();
    const chunks = [chunkOf(RETURNED_CHUNK_BYTES), chunkOf(RETURNED_CHUNK_BYTES)];
    for (const [index, chunk] of chunks.entries()) {
      consume(input, chunk);
      if (index === 0) input.lend();
      input.release();
      input.giveBack(chunk, ELSEWHERE);
    }
    expect(chunks.map((chunk) => chunk.length)).toEqual([RETURNED_CHUNK_BYTES, 0]);
  });

  test("stays while a head is read in it", () => {
    const input = new InputBuffer();
    const chunk = chunkOf(RETURNED_CHUNK_BYTES);
    consume(input, chunk);
    input.release();
    input.giveBack(chunk, { bytes: chunk });
    expect(chunk.length).toBe(RETURNED_CHUNK_BYTES);
  });

  test("stays where it is small, or shares its memory with others", () => {
    const input = new InputBuffer();
    const small = chunkOf(RETURNED_CHUNK_BYTES - 1);
    const part = chunkOf(2 * RETURNED_CHUNK_BYTES).subarray(0, RETURNED_CHUNK_BYTES);
    const shared = new Uint8Array(new SharedArrayBuffer(RETURNED_CHUNK_BYTES));
    for (const chunk of [small, part, shared]) {
      const { length } = chunk;
      consume(input, chunk);
      input.release();
      input.giveBack(chunk, ELSEWHERE);
      expect(chunk.length).toBe(length);
    }
  });

  test("that is small is left in the heap: the runtime moves it out when its buffer is asked for", () => {
    class Chunk extends Uint8Array {
      override get buffer(): ArrayBuffer {
        throw new Error("asked for");
      }
    }
    const input = new InputBuffer();
    const chunk = new Chunk(100);
    consume(input, chunk);
    input.release();
    input.giveBack(chunk, ELSEWHERE);
    expect(chunk.length).toBe(100);
  });

  test("that was put behind an earlier one is given back, and what was put together stays", () => {
    const input = new InputBuffer();
    input.append(Buffer.from("begin"));
    const chunk = chunkOf(RETURNED_CHUNK_BYTES);
    input.append(chunk);
    input.giveBack(chunk, ELSEWHERE);
    expect(chunk.length).toBe(0);
    expect([input.length, input.bytes[input.to - 1]]).toEqual([5 + RETURNED_CHUNK_BYTES, 0x78]);
  });
});

describe("the head of a response at the beginning of a chunk", () => {
  const headIn = (chunk: Uint8Array): HeaderBlock => {
    chunk.set(Buffer.from("ETag: abc"));
    const headers = new HeaderBlock();
    headers.reset(chunk);
    headers.push(HeaderId.ETag, 0, 4, 6, 9);
    return headers;
  };

  test("moves out of a large one, which is given back", () => {
    const input = new InputBuffer();
    const chunk = new Uint8Array(65_536);
    const headers = headIn(chunk);
    input.append(chunk);
    input.from = input.to;
    input.release();
    input.giveBack(chunk, headers);
    expect(chunk.length).toBe(0);
    expect(headers.valueOf(HeaderId.ETag)).toBe("abc");
  });

  test("stays in a smaller one", () => {
    const input = new InputBuffer();
    const chunk = new Uint8Array(65_535);
    const headers = headIn(chunk);
    input.append(chunk);
    input.from = input.to;
    input.release();
    input.giveBack(chunk, headers);
    expect([chunk.length, headers.bytes === chunk]).toEqual([65_535, true]);
  });
});
