import { describe, expect, test } from "bun:test";
import { isIP } from "node:net";
import fc from "fast-check";
import {
  formatAddress,
  hostAndPort,
  ipVersion,
  isMappedV4,
  parseAddress,
  subscriberOf,
} from "../../../src/core/ip-address.ts";

function respelled(text: string): string {
  const octets = new Uint8Array(16);
  expect(parseAddress(text, octets)).toBe(true);
  return formatAddress(octets);
}

describe("the text of an address", () => {
  // RFC 5952 §4 and §5.
  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:DB8::1", "2001:db8::1"],
    ["2001:0db8:0000:0000:0000:0000:0002:0001", "2001:db8::2:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["0:0:0:0:0:0:0:0", "::"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["1:0:0:0:0:0:0:0", "1::"],
    ["::1.2.3.4", "::102:304"],
    ["fe80::1%eth0", "fe80::1"],
  ])("%s is written as %s", (text, expected) => {
    expect(respelled(text)).toBe(expected);
  });

  test("reads as the same address, and is the same for every spelling", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.boolean(), (octets, isSparse) => {
        if (isSparse) for (let i = 0; i < 16; i++) octets[i] = octets[i]! < 128 ? 0 : octets[i]!;
        const text = formatAddress(octets);
        const back = new Uint8Array(16);
        expect(parseAddress(text, back)).toBe(true);
        expect(back).toEqual(octets);
        expect(text).toBe(formatAddress(back));
        if (!isMappedV4(octets)) expect(text).toBe(new URL(`http://[${text}]`).hostname.slice(1, -1));
      }),
    );
  });

  test("is read from anywhere in a buffer", () => {
    const bytes = Uint8Array.from([9, 9, ...new Array(10).fill(0), 0xff, 0xff, 10, 0, 0, 1]);
    expect(formatAddress(bytes, 2)).toBe("10.0.0.1");
  });
});

describe("the version of an address", () => {
  const piece = fc.constantFrom(
    "0",
    "1",
    "9",
    "a",
    "F",
    "g",
    ":",
    "::",
    ".",
    "%",
    "/",
    "255",
    "256",
    "01",
    "ffff",
    "10",
    "-",
    "",
  );
  const near = fc.array(piece, { maxLength: 16 }).map((pieces) => pieces.join(""));

  test("it is what the runtime says", () => {
    fc.assert(
      fc.property(fc.oneof(near, fc.ipV4(), fc.ipV6(), fc.ipV4Extended(), fc.domain(), fc.string()), (text) => {
        expect(ipVersion(text)).toBe(isIP(text) as 0 | 4 | 6);
      }),
      { numRuns: 20_000 },
    );
  });
});

test("IPv6 addresses are in brackets before a port", () => {
  expect([hostAndPort("::1", 80), hostAndPort("127.0.0.1", 80), hostAndPort("origin", 8080)]).toEqual([
    "[::1]:80",
    "127.0.0.1:80",
    "origin:8080",
  ]);
});

test("an IPv6 address belongs to whom its /64 belongs to", () => {
  const one = subscriberOf("2001:db8:1:2::1");
  expect(subscriberOf("2001:db8:1:2:ffff::9")).toBe(one);
  expect(subscriberOf("2001:db8:1:3::1")).not.toBe(one);
  expect(["192.0.2.7", "::ffff:192.0.2.7", "", "unix"].map(subscriberOf)).toEqual([
    "192.0.2.7",
    "192.0.2.7",
    "",
    "unix",
  ]);
});
