import { expect, test } from "bun:test";
import { ClientShares } from "../../../../src/features/auth/client-shares.ts";

/** Takes places until there is none. @returns how many there were */
function takeAll(shares: ClientShares, client: string): number {
  let count = 0;
  for (; shares.hasRoom(client); count++) shares.take(client);
  return count;
}

test("a client may have all places, and others still find a few of a quarter more", () => {
  const shares = new ClientShares(64);
  expect(takeAll(shares, "a")).toBe(64);
  expect(["b", "c", "d", "e", "f"].map((client) => takeAll(shares, client))).toEqual([4, 4, 4, 4, 0]);
});

test("what is given back is there for the next", () => {
  const shares = new ClientShares(4);
  expect(takeAll(shares, "a")).toBe(4);
  expect(takeAll(shares, "b")).toBe(1);
  expect(shares.hasRoom("a")).toBe(false);
  shares.giveBack("b");
  expect([shares.hasRoom("a"), shares.hasRoom("b")]).toEqual([false, true]);
  shares.giveBack("a");
  expect(shares.hasRoom("a")).toBe(true);
});
