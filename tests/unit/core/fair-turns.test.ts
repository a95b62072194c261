import { expect, test } from "bun:test";
import { FairTurns } from "../../../src/core/fair-turns.ts";

/** `network/client`, and its number behind it. */
function add(turns: FairTurns<string>, taker: string, count: number): (string | null)[] {
  const [network = "", client = ""] = taker.split("/");
  return Array.from({ length: count }, (_, i) => turns.add({ network, client }, `${taker}${i}`));
}

function all(turns: FairTurns<string>): string[] {
  const items: string[] = [];
  for (let item = turns.next(); item !== null; item = turns.next()) items.push(item);
  return items;
}

test("networks take turns, and within each its clients", () => {
  const turns = new FairTurns<string>(100);
  add(turns, "a/x", 3);
  add(turns, "a/y", 1);
  add(turns, "b/z", 2);
  expect(all(turns)).toEqual(["a/x0", "b/z0", "a/y0", "b/z1", "a/x1", "a/x2"]);
});

test("when it is full, the client with most waiting makes room for others, and not for itself", () => {
  const turns = new FairTurns<string>(4);
  expect(add(turns, "a/x", 5)).toEqual([null, null, null, null, "a/x4"]);
  expect(add(turns, "a/y", 2)).toEqual(["a/x3", "a/x2"]);
  expect(add(turns, "b/z", 3)).toEqual(["a/y1", "a/x1", "b/z2"]);
  expect(all(turns)).toEqual(["a/x0", "b/z0", "a/y0", "b/z1"]);
  expect(turns.next()).toBeNull();
});

test("one that has come to its end takes new ones", () => {
  const turns = new FairTurns<string>(1);
  for (let i = 0; i < 3; i++) {
    expect(add(turns, "a/x", 1)).toEqual([null]);
    expect(all(turns)).toEqual(["a/x0"]);
  }
});
