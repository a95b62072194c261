import { expect, test } from "bun:test";
import { Attackers } from "../../../../src/features/dashboard/attackers.ts";

const refused = (address: string, count = 1, reason = "waf_blocked") => ({
  address,
  reason,
  count,
  path: `/${reason}`,
  userAgent: "",
  ja4: "",
});

test("the worst come first, with their commonest reasons", () => {
  const attackers = new Attackers();
  attackers.add(refused("192.0.2.1", 3), 1000);
  attackers.add(refused("192.0.2.2", 2), 1000);
  attackers.add(refused("192.0.2.2", 4, "bad_host"), 2000);
  expect(attackers.worst(3000)).toMatchObject([
    {
      address: "192.0.2.2",
      refusals: 6,
      reasons: [
        ["bad_host", 4],
        ["waf_blocked", 2],
      ],
      firstAt: 1000,
      lastAt: 2000,
      path: "/bad_host",
    },
    { address: "192.0.2.1", refusals: 3 },
  ]);
});

test("those that are quiet are forgotten, and a flood of addresses takes no more room than there is", () => {
  const attackers = new Attackers();
  attackers.add(refused("198.51.100.1", 1000), 0);
  for (let i = 0; i < 5000; i++) attackers.add(refused(`2001:db8::${i}`), 1);
  expect(attackers.worst(2).find(({ address }) => address === "198.51.100.1")).toBeUndefined();
  attackers.add(refused("198.51.100.2"), 20 * 60_000);
  expect(attackers.worst(20 * 60_000).map(({ address }) => address)).toEqual(["198.51.100.2"]);
});
