import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { latin1 } from "../../../../src/core/bytes.ts";
import {
  hexOf,
  isSampled,
  isTracestate,
  readTraceparent,
  withSampled,
  writeTraceparent,
} from "../../../../src/proto/trace/trace-context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

function read(value: string) {
  const traceId = new Uint8Array(16);
  const parentId = new Uint8Array(8);
  const bytes = latin1(` ${value} `);
  const flags = readTraceparent(bytes, 1, bytes.length - 1, traceId, parentId);
  return { flags, trace: hexOf(traceId), parent: hexOf(parentId) };
}

describe("traceparent", () => {
  test.each([
    [`00-${TRACE}-${PARENT}-01`, 1],
    [`00-${TRACE}-${PARENT}-00`, 0],
    [`00-${TRACE}-${PARENT}-03`, 3],
    // Flags that are not known do not go on.
    [`00-${TRACE}-${PARENT}-ff`, 3],
    // A later version may have more behind what it shares with the first.
    [`cc-${TRACE}-${PARENT}-01`, 1],
    [`01-${TRACE}-${PARENT}-01-what-the-future-holds`, 1],
  ])("reads %s", (value, flags) => {
    expect(read(value)).toEqual({ flags, trace: TRACE, parent: PARENT });
  });

  test.each([
    "",
    "00",
    `ff-${TRACE}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-01-`,
    `01-${TRACE}-${PARENT}-01more`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}-0g`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT.toUpperCase()}-01`,
    `00-${"0".repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00_${TRACE}-${PARENT}-01`,
    `00-${TRACE}_${PARENT}-01`,
    `00-${TRACE}-${PARENT}_01`,
    `0-${TRACE}0-${PARENT}-01`,
    `00-${TRACE.slice(1)}x-${PARENT}-01`,
  ])("refuses %s", (value) => {
    expect(read(value).flags).toBe(-1);
  });

  test("what is written is read again", () => {
    const id = (size: number) =>
      fc.uint8Array({ minLength: size, maxLength: size }).filter((bytes) => bytes.some((byte) => byte !== 0));
    fc.assert(
      fc.property(id(16), id(8), fc.constantFrom(0, 1, 2, 3), (trace, span, flags) => {
        const bytes = Buffer.alloc(60);
        const value = bytes.latin1Slice(1, writeTraceparent(bytes, 1, trace, span, flags));
        expect(read(value)).toEqual({ flags, trace: hexOf(trace), parent: hexOf(span) });
      }),
    );
  });

  test("only what has its form is taken, whatever the bytes", () => {
    const near = fc.string({ unit: fc.constantFrom(..."0123456789abcdef-fF "), minLength: 50, maxLength: 60 });
    fc.assert(
      fc.property(near, (value) => {
        const isValid = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(value);
        const isLater = /^(?!ff|00)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}-/.test(value);
        expect(read(value).flags >= 0).toBe(isValid || isLater);
      }),
    );
  });

  test("sampling is one flag of it", () => {
    expect([0, 1, 2, 3].map(isSampled)).toEqual([false, true, false, true]);
    expect([withSampled(2, true), withSampled(3, false), withSampled(0, false)]).toEqual([3, 2, 0]);
  });
});

describe("tracestate", () => {
  test.each([
    "",
    "a=1",
    "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
    " a=1 ,\tb=2\t",
    "a=1,,b=2",
    "a=1,a=2",
    "fw529a3039@dt=FfAAAA",
    "0tenant@system=x y!",
    Array.from({ length: 32 }, (_, i) => `k${i}=v`).join(","),
  ])("passes %s on", (value) => expect(isTracestate(value)).toBe(true));

  test.each([
    "a",
    "a=",
    "A=1",
    "=1",
    "a=b=c",
    "a=ä",
    "a b=1",
    "-a=1",
    Array.from({ length: 33 }, (_, i) => `k${i}=v`).join(","),
    `a=${"x".repeat(257)}`,
    `${"k".repeat(257)}=1`,
  ])("drops %s", (value) => expect(isTracestate(value)).toBe(false));
});
