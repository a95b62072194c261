import { describe, expect, test } from "bun:test";
import { latin1 } from "../../../../src/core/bytes.ts";
import { ValueReading } from "../../../../src/features/waf/match/value-reading.ts";
import { MAX_DECODING_ROUNDS } from "../../../../src/proto/target/percent-decoding.ts";

function textOf(value: ValueReading): string {
  expect([...value.bytes.subarray(value.length, value.length + 8)]).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
  return Buffer.from(value.bytes.subarray(0, value.length)).toString("latin1");
}

function loaded(load: (value: ValueReading, bytes: Uint8Array, to: number) => void, text: string): ValueReading {
  const value = new ValueReading();
  // What was there before, and what stands behind the value on the wire, must not shine through.
  value.load(latin1("y".repeat(100)), 0, 100);
  load(value, latin1(`${text}4141414141`), text.length);
  return value;
}

describe("a value", () => {
  test.each([
    ["A+b%20C", "a b c", "a+b c"],
    ["%41%zz%", "a%zz%", "a%zz%"],
    ["%2541", "%41", "%41"],
    ["%C3%A9", "\xc3\xa9", "\xc3\xa9"],
    ["%4", "%4", "%4"],
    ["", "", ""],
  ])("in a query or a cookie: %j", (text, query, cookie) => {
    expect(textOf(loaded((value, bytes, to) => value.loadEscaped(bytes, 0, to, true), text))).toBe(query);
    expect(textOf(loaded((value, bytes, to) => value.loadEscaped(bytes, 0, to, false), text))).toBe(cookie);
  });

  test.each([
    ['A\\n\\t\\"\\\\\\/', 'a\n\t"\\/'],
    ["\\u0041\\u003c", "a<"],
    ["\\u00e9\\uFF1C\\uFF00", "\xbf<\xbf"],
    // JSON5 has strings of several lines.
    ["un\\\nion sel\\\r\nect", "union select"],
    ["\\uD83D\\uDE00x", "\xbf\xbfx"],
    ["\\u00", "u00"],
    ["a\\", "a\\"],
    ["%41", "%41"],
  ])("in a JSON string: %j", (text, expected) => {
    expect(textOf(loaded((value, bytes, to) => value.loadJson(bytes, 0, to), text))).toBe(expected);
  });

  test.each([
    ["plain % text", "plain % text", 0],
    ["%41", "a", 1],
    ["%252541", "a", 3],
    ["%u003c\\u003c\\x3c", "<<<", 1],
    ["%u4e2d", "\xbf", 1],
    ["\\x00", "\xbf", 1],
    ["%00", "\x00", 1],
    ["\\x4", "\\x4", 0],
    // What lenient readers take for characters of ASCII: overlong sequences, full-width forms.
    ["1\xc0\xa7\xc1\xa1", "1'a", 1],
    ["\xef\xbc\x87\xef\xbc\xaf\xef\xbd\x9e%uFF1C", "'o~<", 1],
    ["\xef\xbb\xbf\xef\xbd\x9f\xef\xbc\xc0\xe3", "\xef\xbb\xbf\xef\xbd\x9f\xef\xbc\xc0\xe3", 0],
    ["%u004", "%u004", 0],
    [`%${"25".repeat(MAX_DECODING_ROUNDS + 1)}41`, "%41", MAX_DECODING_ROUNDS + 1],
  ])("unescaped: %j", (text, expected, rounds) => {
    const value = loaded((reading, bytes, to) => reading.load(bytes, 0, to), text);
    expect(value.unescape()).toBe(rounds);
    expect(textOf(value)).toBe(expected);
  });

  test.each([
    ["1\\047 \\125NI\\ON", "1' union"],
    ["\\400\\08\\\\\\", "40008\\\\"],
  ])("of a quoted cookie: %j", (text, expected) => {
    const value = loaded((reading, bytes, to) => reading.load(bytes, 0, to), text);
    value.unquote();
    expect(textOf(value)).toBe(expected);
  });

  test("may be of any length, and a short one comes after a long one", () => {
    const value = new ValueReading();
    for (const length of [10_000, 3, 200_000, 0]) {
      value.load(latin1("X".repeat(length)), 0, length);
      expect(textOf(value)).toBe("x".repeat(length));
    }
  });
});
