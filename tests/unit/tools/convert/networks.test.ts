import { expect, test } from "bun:test";
import fc from "fast-check";
import { networkFrom } from "../../../../src/tools/convert/networks.ts";

test.each([
  ["10.1.2.3/8", "10.0.0.0/8"],
  ["127.0.0.1/8", "127.0.0.0/8"],
  ["192.0.2.129/25", "192.0.2.128/25"],
  ["255.255.255.255/1", "128.0.0.0/1"],
  ["1.2.3.4/0", "0.0.0.0/0"],
  ["2001:db8::1/32", "2001:db8:0:0:0:0:0:0/32"],
  ["fd00::/8", "fd00::/8"],
  ["fd12::1/9", "fd00:0:0:0:0:0:0:0/9"],
  ["10.0.0.0/33", "10.0.0.0/33"],
  ["192.0.2.1", "192.0.2.1"],
  ["all", "all"],
])("%s is %s", (text, network) => {
  expect(networkFrom(text)).toBe(network);
});

test("a network is one already", () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(128), (address, length) => {
      const once = networkFrom(`${address}/${length}`);
      expect(networkFrom(once)).toBe(once);
    }),
  );
});
