import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ShownAddresses } from "../../../src/core/address-mask.ts";

describe("addresses that are shown", () => {
  test.each([
    ["203.0.113.77", 24, 48, "203.0.113.0"],
    ["203.0.113.77", 0, 48, "0.0.0.0"],
    ["203.0.113.77", 32, 48, "203.0.113.77"],
    ["203.0.113.77", 20, 48, "203.0.112.0"],
    ["::ffff:203.0.113.77", 24, 48, "203.0.113.0"],
    ["2001:db8:1:2:3:4:5:6", 24, 48, "2001:db8:1::"],
    ["2001:db8:1:2:3:4:5:6", 24, 128, "2001:db8:1:2:3:4:5:6"],
    ["2001:db8:1:2:3:4:5:6", 24, 0, "::"],
    ["fe80::1%eth0", 24, 64, "fe80::"],
    ["unix", 24, 48, "unix"],
    ["", 24, 48, ""],
  ])("%s with %d and %d bits", (address, v4, v6, expected) => {
    const shown = new ShownAddresses();
    expect(shown.of(address)).toBe(address);
    shown.take({ v4, v6 });
    expect([shown.of(address), shown.of(address)]).toEqual([expected, expected]);
  });

  test("lose their last bits inside of a text, too, whatever is around them", () => {
    const shown = new ShownAddresses();
    shown.take({ v4: 24, v6: 48 });
    expect(shown.within('for="[2001:db8::77]:8080";by=203.0.113.77, 10.1.2.3')).toBe(
      'for="[2001:db8::]:8080";by=203.0.113.0, 10.1.2.0',
    );
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV6(), fc.constantFrom(", ", ",", " "), (v4, v6, between) => {
        const text = shown.within(`${v4}${between}${v6}`);
        expect(text).toBe(`${shown.of(v4)}${between}${shown.of(v6)}`);
      }),
    );
  });

  test("are the same for all addresses of a network", () => {
    const shown = new ShownAddresses();
    shown.take({ v4: 24, v6: 48 });
    fc.assert(
      fc.property(fc.nat(255), fc.nat(255), (one, other) => {
        expect(shown.of(`198.51.100.${one}`)).toBe(shown.of(`198.51.100.${other}`));
      }),
    );
  });
});
