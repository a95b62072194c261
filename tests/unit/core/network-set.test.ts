import { describe, expect, test } from "bun:test";
import { BlockList, isIP } from "node:net";
import fc from "fast-check";
import { parseCidr } from "../../../src/config/cidr.ts";
import { parseAddress } from "../../../src/core/ip-address.ts";
import { type Network, NetworkSet } from "../../../src/core/network-set.ts";

function network(text: string): Network {
  const parsed = parseCidr(text);
  if (typeof parsed === "string") throw new Error(parsed);
  return parsed;
}

describe("network set", () => {
  const inside: [string, string][] = [
    ["10.0.0.0/8", "10.255.1.2"],
    ["10.0.0.0/8", "::ffff:10.1.2.3"],
    ["10.0.0.0/8", "::ffff:a01:203"],
    ["192.0.2.7", "192.0.2.7"],
    ["0.0.0.0/0", "203.0.113.9"],
    ["2001:db8::/32", "2001:DB8:ffff::1"],
    ["::/0", "2001:db8::1"],
    ["::1", "0:0:0:0:0:0:0:1"],
    ["fe80::/10", "fe80::1%eth0"],
    ["192.168.128.0/17", "192.168.200.1"],
  ];
  test.each(inside)("%s holds %s", (net, address) => {
    expect(new NetworkSet([network(net)]).has(address)).toBe(true);
  });

  const outside: [string, string][] = [
    ["10.0.0.0/8", "11.0.0.1"],
    ["192.0.2.7", "192.0.2.8"],
    ["192.168.128.0/17", "192.168.100.1"],
    ["::/0", "10.0.0.1"],
    ["::/0", "::ffff:10.0.0.1"],
    ["0.0.0.0/0", "2001:db8::1"],
    ["2001:db8::/32", "2001:db9::1"],
    ["10.0.0.0/8", "010.0.0.1"],
    ["10.0.0.0/8", "10.0.0"],
    ["10.0.0.0/8", "10.0.0.1.1"],
    ["10.0.0.0/8", "10.0.0.1:80"],
    ["0.0.0.0/0", ""],
    ["0.0.0.0/0", "unix"],
    ["::/0", "1::2::3"],
    ["::/0", "12345::"],
    ["::/0", ":::"],
    ["::/0", "[::1]"],
  ];
  test.each(outside)("%s does not hold %p", (net, address) => {
    expect(new NetworkSet([network(net)]).has(address)).toBe(false);
  });

  test("a set of none holds none", () => {
    expect(new NetworkSet([]).has("127.0.0.1")).toBe(false);
    expect(new NetworkSet([]).isEmpty()).toBe(true);
  });

  test("agrees with the platform on what lies where", () => {
    const bits = fc.integer({ min: 0, max: 32 });
    fc.assert(
      fc.property(fc.ipV4(), bits, fc.ipV4(), (base, prefix, address) => {
        const list = new BlockList();
        list.addSubnet(base, prefix, "ipv4");
        const bytes = new Uint8Array(16);
        parseAddress(base, bytes);
        const set = new NetworkSet([{ bytes: [...bytes], bits: prefix + 96 }]);
        expect(set.has(address)).toBe(list.check(address, "ipv4"));
        expect(set.has(base)).toBe(true);
      }),
    );
  });
});

describe("addresses", () => {
  const piece = fc.constantFrom(":", "::", ".", "0", "1", "ff", "10", "255", "256", "01", "ffff", "g", "%e", "");
  const near = fc.array(piece, { maxLength: 18 }).map((parts) => parts.join(""));

  test("what is an address is decided as the platform does", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), near), (text) => {
        fc.pre(!text.includes("%"));
        expect(parseAddress(text, new Uint8Array(16))).toBe(isIP(text) !== 0);
      }),
      { numRuns: 3000 },
    );
  });

  test("every way to write an address gives the same octets", () => {
    const octets = (text: string) => {
      const into = new Uint8Array(16);
      expect(parseAddress(text, into)).toBe(true);
      return Buffer.from(into).toString("hex");
    };
    expect(octets("1:2:3:4:5:6:7:8")).toBe("00010002000300040005000600070008");
    expect(octets("1::8")).toBe("00010000000000000000000000000008");
    expect(octets("::1.2.3.4")).toBe("00000000000000000000000001020304");
    expect(octets("64:ff9b::1.2.3.4")).toBe("0064ff9b000000000000000001020304");
    expect(octets("1::")).toBe("00010000000000000000000000000000");
    expect(octets("1.2.3.4")).toBe(octets("::ffff:1.2.3.4"));
  });
});
