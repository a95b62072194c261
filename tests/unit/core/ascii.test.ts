import { describe, expect, test } from "bun:test";
import { equalsBytes, equalsLower, FIELD_VALUE, HEX_VALUE, LOWER, latin1, TOKEN } from "../../../src/core/bytes.ts";

const ALL = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code));

describe("the byte tables say what the RFCs say of", () => {
  test("tokens (RFC 9110 §5.6.2)", () => {
    for (const [code, char] of ALL.entries()) {
      expect([code, TOKEN[code]]).toEqual([code, /^[!#$%&'*+\-.^_`|~0-9A-Za-z]$/.test(char) ? 1 : 0]);
    }
  });

  test("field values (RFC 9110 §5.5): no control byte but HTAB", () => {
    for (const [code, char] of ALL.entries()) {
      expect([code, FIELD_VALUE[code]]).toEqual([code, /^[\t\x20-\x7e\x80-\xff]$/.test(char) ? 1 : 0]);
    }
  });

  test("hexadecimal digits", () => {
    for (const [code, char] of ALL.entries()) {
      const value = /^[0-9a-fA-F]$/.test(char) ? Number.parseInt(char, 16) : 255;
      expect([code, HEX_VALUE[code]]).toEqual([code, value]);
    }
  });

  test("case: ASCII letters fold, nothing else does", () => {
    for (const [code, char] of ALL.entries()) {
      const folded = /^[A-Z]$/.test(char) ? char.toLowerCase() : char;
      expect([code, String.fromCharCode(LOWER[code]!)]).toEqual([code, folded]);
    }
  });
});

describe("comparing bytes", () => {
  const bytes = latin1("xChunkedx");

  test.each([
    [1, 8, "chunked", true],
    [1, 7, "chunked", false],
    [1, 9, "chunked", false],
    [0, 7, "chunked", false],
    [3, 3, "", true],
  ])("from %d to %d is %j, whatever the case: %p", (from, to, lower, expected) => {
    expect(equalsLower(bytes, from, to, latin1(lower))).toBe(expected);
  });

  test("with case it is another matter", () => {
    expect(equalsBytes(bytes, 1, 8, latin1("Chunked"))).toBe(true);
    expect(equalsBytes(bytes, 1, 8, latin1("chunked"))).toBe(false);
    expect(equalsBytes(bytes, 1, 7, latin1("Chunked"))).toBe(false);
  });

  // 0x4b | 0x20 is k, and so is 0x0b | 0x60; the Kelvin sign and the long s must not fold either.
  test("bytes that differ from a letter by one bit are not that letter", () => {
    expect(equalsLower(latin1("\x0bey"), 0, 3, latin1("key"))).toBe(false);
    expect(equalsLower(latin1("@"), 0, 1, latin1("`"))).toBe(false);
    expect(equalsLower(latin1("["), 0, 1, latin1("{"))).toBe(false);
    expect(equalsLower(latin1("\xc9"), 0, 1, latin1("\xe9"))).toBe(false);
  });
});
