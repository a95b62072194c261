import { describe, expect, test } from "bun:test";
import { copyBytes, offsetBehind, sliceText, writeDecimal, writeHex } from "../../../src/core/bytes.ts";

const NUMBERS = [0, 1, 9, 10, 99, 100, 101, 999, 1000, 65535, 65536, 99_999_999, 2 ** 31 - 1, 2 ** 32, 2 ** 32 + 1];

function written(write: (out: Buffer, at: number, value: number) => number, value: number): string {
  const out = Buffer.alloc(32, "#");
  const end = write(out, 3, value);
  expect([out[2], out[end]]).toEqual([0x23, 0x23]);
  return out.latin1Slice(3, end);
}

test.each([
  [10, 0, 20, 10],
  [10, 9, 20, 19],
  [10, 10, 20, 20],
  [10, 11, 20, 20],
  [10, 0x7fffffff, 20, 20],
  [10, 2 ** 31 + 1, 20, 20],
  [10, 2 ** 32 + 5, 20, 20],
  [10, Number.MAX_SAFE_INTEGER, 20, 20],
  [20, 5, 20, 20],
])("behind %p, %p bytes further and at most %p, is %p", (from, count, to, end) => {
  expect(offsetBehind(from, count, to)).toBe(end);
});

describe("writing numbers", () => {
  test("in decimal digits, up to 2^53-1", () => {
    const more = [10 ** 15 - 1, 10 ** 15, 9_007_199_254_740_990, Number.MAX_SAFE_INTEGER];
    for (const value of [...NUMBERS, ...more]) expect(written(writeDecimal, value)).toBe(String(value));
    for (let power = 1; power <= 15; power++) {
      for (const value of [10 ** power - 1, 10 ** power, 10 ** power + 1]) {
        expect(written(writeDecimal, value)).toBe(String(value));
      }
    }
  });

  test("in hexadecimal digits, up to 2^31-1", () => {
    for (const value of NUMBERS.filter((number) => number < 2 ** 31)) {
      expect(written(writeHex, value)).toBe(value.toString(16));
    }
    for (let bit = 0; bit < 31; bit++) expect(written(writeHex, 2 ** bit)).toBe((2 ** bit).toString(16));
  });
});

describe("copying", () => {
  // Short copies are a loop, long ones are native: both sides of the border, from a plain array and from a Buffer.
  test.each([0, 1, 23, 24, 25, 26, 100, 5000])("%d bytes", (length) => {
    const source = Buffer.from(Array.from({ length: length + 4 }, (_, i) => (i * 7) & 255));
    for (const bytes of [source, new Uint8Array(source)]) {
      const out = Buffer.alloc(length + 20, 0xee);
      expect(copyBytes(out, 5, bytes, 2, 2 + length)).toBe(5 + length);
      expect(out.subarray(5, 5 + length).equals(source.subarray(2, 2 + length))).toBe(true);
      expect(out.subarray(0, 5).every((byte) => byte === 0xee)).toBe(true);
      expect(out.subarray(5 + length).every((byte) => byte === 0xee)).toBe(true);
    }
  });
});

test("text is one character a byte", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  const text = sliceText(bytes, 0, 256);
  expect([...text].map((char) => char.charCodeAt(0))).toEqual([...bytes]);
  expect(sliceText(bytes, 65, 65)).toBe("");
  expect(sliceText(bytes, 65, 68)).toBe("ABC");
});
