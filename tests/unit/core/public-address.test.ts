import { expect, test } from "bun:test";
import { isPublicAddress } from "../../../src/core/public-address.ts";

test("addresses of the Internet, in every form that holds one", () => {
  const open = ["1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "192.169.0.1", "223.255.255.255"];
  for (const one of [...open, "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450::1", "2001:200::1", "2400:cb00::1"])
    expect([one, isPublicAddress(one)]).toEqual([one, true]);
});

test("addresses that are none of it", () => {
  const v4 = ["0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.0.1"];
  const more = [
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.168.0.1",
    "198.18.0.1",
  ];
  const rest = ["198.19.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"];
  for (const one of [...v4, ...more, ...rest]) {
    expect([one, isPublicAddress(one)]).toEqual([one, false]);
    expect([one, isPublicAddress(`::ffff:${one}`)]).toEqual([one, false]);
  }
  const v6 = [
    "::",
    "::1",
    "::7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
  ];
  for (const one of [...v6, "3fff::1", "fc00::1", "fd00::1", "fe80::1", "fec0::1", "ff02::1", "", "localhost", "1.2.3"])
    expect([one, isPublicAddress(one)]).toEqual([one, false]);
});
