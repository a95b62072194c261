import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseCidr } from "../../../src/config/cidr.ts";

describe("networks", () => {
  test("an IPv4 network of any width covers its own address bits and no more", () => {
    const address = fc.tuple(...[0, 1, 2, 3].map(() => fc.integer({ min: 0, max: 255 })));
    fc.assert(
      fc.property(address, fc.integer({ min: 0, max: 32 }), (parts, width) => {
        const value = parts.reduce((sum, part) => sum * 256 + part, 0);
        const kept = value - (value % 2 ** (32 - width));
        const network = parseCidr(`${parts.join(".")}/${width}`);
        if (value !== kept) return expect(typeof network).toBe("string");
        expect(network).toMatchObject({ bits: 96 + width, bytes: [...new Array(10).fill(0), 255, 255, ...parts] });
      }),
    );
  });

  test("an IPv6 address reads the same short and long", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 }), (groups) => {
        const bytes = groups.flatMap((group) => [group >> 8, group & 0xff]);
        const long = groups.map((group) => group.toString(16)).join(":");
        const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
        expect(parseCidr(long)).toMatchObject({ bytes, bits: 128 });
        expect(parseCidr(short)).toMatchObject({ bytes, bits: 128 });
      }),
    );
  });

  test.each([
    ["::ffff:192.0.2.1", [192, 0, 2, 1]],
    ["64:ff9b::192.0.2.1", [192, 0, 2, 1]],
    ["::", [0, 0, 0, 0]],
  ] as [string, number[]][])("%p ends in %p", (text, tail) => {
    const network = parseCidr(text);
    expect(typeof network === "string" ? network : network.bytes.slice(12)).toEqual(tail);
  });

  test.each([
    [""],
    ["/8"],
    ["10.0.0.0/"],
    ["10.0.0.0/-1"],
    ["10.0.0.0/8/8"],
    ["10.0.0"],
    ["fe80::1%eth0"],
    ["1::2::3"],
    ["010.0.0.1"],
    ["10.0.0.0/08x"],
  ])("%p is none", (text) => {
    expect(parseCidr(text)).toBeString();
  });

  test.each([
    ["10.1.2.3/8", "10.0.0.0/8"],
    ["2001:db8:0:0:1::5/64", "2001:db8::/64"],
    ["1:0:0:2:0:0:0:3/127", "1:0:0:2::2/127"],
    ["::ffff:10.1.2.3/104", "::ffff:10.0.0.0/104"],
    ["::ffff:10.1.2.3/64", "::/64"],
  ])("of %p the network is named: %p", (text, network) => {
    expect(parseCidr(text)).toContain(`(did you mean "${network}"?)`);
    expect(parseCidr(network)).toMatchObject({ text: network });
  });
});
