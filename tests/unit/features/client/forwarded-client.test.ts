import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { addressOf, forwardedClient } from "../../../../src/features/client/forwarded-client.ts";
import { UNKNOWN_CLIENT } from "../../../../src/message/client-peer.ts";
import { HeaderBlock } from "../../../../src/message/header-block.ts";
import { networkSet } from "./networks.ts";

const TRUSTED = networkSet("10.0.0.0/8", "2001:db8:1::/48");

function client(...values: readonly string[]): string {
  const headers = new HeaderBlock();
  headers.resetOwn();
  headers.add("X-Other", "192.0.2.99");
  for (const value of values) {
    headers.add("x-forwarded-for", value);
    headers.add("X-Between", "1");
  }
  return forwardedClient(headers, TRUSTED);
}

describe("the client behind trusted proxies", () => {
  test.each([
    ["the only one", ["203.0.113.9"], "203.0.113.9"],
    ["the right-most of two", ["198.51.100.1, 203.0.113.9"], "203.0.113.9"],
    ["the right-most that is not trusted", ["198.51.100.1, 203.0.113.9, 10.1.2.3,10.0.0.1"], "203.0.113.9"],
    ["one behind a trusted one, which nobody vouches for", ["10.9.9.9, 203.0.113.9, 10.0.0.1"], "203.0.113.9"],
    ["in several fields, read as one list", ["198.51.100.1", "203.0.113.9", "10.0.0.1"], "203.0.113.9"],
    ["the left-most where all are trusted", ["10.0.0.3, 10.0.0.2, 10.0.0.1"], "10.0.0.3"],
    ["an IPv6 address in its one spelling", ["2001:DB8:0::0:7"], "2001:db8::7"],
    ["behind trusted IPv6 proxies", ["2001:db8:2::1, 2001:db8:1::1"], "2001:db8:2::1"],
    ["a mapped address as IPv4", ["::ffff:203.0.113.9"], "203.0.113.9"],
    ["a trusted mapped address", ["203.0.113.9, ::ffff:10.0.0.1"], "203.0.113.9"],
    ["with a port", ["203.0.113.9:4711"], "203.0.113.9"],
    ["in brackets", ["[2001:db8::7]"], "2001:db8::7"],
    ["in brackets and with a port", ["[2001:db8::7]:4711, 10.0.0.1:80"], "2001:db8::7"],
    ["with odd blanks", ["198.51.100.1 ,\t203.0.113.9 \t,10.0.0.1"], "203.0.113.9"],
    ["malformed entries further left, which nobody reads", ["evil, , 203.0.113.9"], "203.0.113.9"],
  ])("is %s", (_name, values, expected) => {
    expect(client(...values)).toBe(expected);
  });

  test.each([
    ["it is empty", [""]],
    ["the last entry is empty", ["203.0.113.9, "]],
    ["a comma is all there is", [","]],
    ["a name stands there", ["unknown"]],
    ["an obfuscated node stands there", ["_hidden"]],
    ["a malformed entry stands before a trusted one", ["203.0.113.9, nonsense, 10.0.0.1"]],
    ["an octet is too large", ["203.0.113.256"]],
    ["an octet looks octal", ["010.0.0.1"]],
    ["a port is nonsense", ["203.0.113.9:x"]],
    ["an IPv6 address has a port without brackets", ["2001:db8::1:2:3:4:5:6:4711"]],
    ["quotes stand around it", ['"203.0.113.9"']],
    ["a second field is empty", ["203.0.113.9", ""]],
    ["the chain is longer than any in earnest", [new Array(40).fill("10.0.0.1").join(",")]],
    ["a zone stands behind brackets", ["[fe80::1%25lo]:80"]],
    ["a thousand entries are all trusted", [new Array(1000).fill("10.0.0.1").join(", ")]],
  ])("is unknown where %s", (_name, values) => {
    expect(client(...values)).toBe(UNKNOWN_CLIENT);
  });

  test("is the proxy itself where no field tells of anybody", () => {
    expect(client()).toBe("");
  });

  test.each(["Forwarded", "X-Real-IP", "CF-Connecting-IP", "true_client_ip", "X-Client-IP", "client-ip"])(
    "is unknown where only %s tells of somebody",
    (name) => {
      const headers = new HeaderBlock();
      headers.resetOwn();
      headers.add(name, "for=_hidden");
      expect(forwardedClient(headers, TRUSTED)).toBe(UNKNOWN_CLIENT);
    },
  );

  test("is found at once in a list of a thousand", () => {
    expect(client(`${new Array(1000).fill("garbage").join(", ")}, 203.0.113.9, 10.0.0.1`)).toBe("203.0.113.9");
  });

  test("is never one that a trusted proxy did not see, whatever the client has written", () => {
    const written = fc.string({ unit: fc.constantFrom("1", "0", ".", ":", ",", " ", "f", "[", "]"), maxLength: 60 });
    fc.assert(
      fc.property(written, fc.integer({ min: 0, max: 3 }), (forged, proxies) => {
        const seen = ["203.0.113.9", ...new Array(proxies).fill("10.0.0.1")].join(", ");
        expect(client(`${forged}, ${seen}`)).toBe("203.0.113.9");
        expect(client(forged, seen)).toBe("203.0.113.9");
      }),
    );
  });

  test("is an address or unknown", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii" }), (text) => {
        const found = client(text.replace(/[^\x20-\x7e]/g, ""));
        if (found !== UNKNOWN_CLIENT) expect(addressOf(found)).toBe(found);
      }),
    );
  });
});
