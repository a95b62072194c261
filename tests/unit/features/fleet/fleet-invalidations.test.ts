import { expect, test } from "bun:test";
import { FleetInvalidations } from "../../../../src/features/fleet/fleet-invalidations.ts";
import type { PurgeOrder } from "../../../../src/message/purge-order.ts";
import { eventually } from "../../../harness/eventually.ts";

test("each resource is told of once, however often it is changed", async () => {
  const told: PurgeOrder[] = [];
  const invalidations = new FleetInvalidations((order) => told.push(order));
  for (let i = 0; i < 1000; i++) invalidations.note("a.test", `/${i % 3}`);
  invalidations.note("b.test", "/0");
  expect(told).toEqual([]);
  await eventually(() => expect(told).toHaveLength(4));
  expect(told[3]).toEqual({ kind: "uri", authority: "b.test", target: "/0", isSoft: false });
  invalidations.note("a.test", "/0");
  await eventually(() => expect(told).toHaveLength(5));
});

test("what is more than may wait takes all out", async () => {
  const told: PurgeOrder[] = [];
  const invalidations = new FleetInvalidations((order) => told.push(order));
  for (let i = 0; i < 10_000; i++) invalidations.note("a.test", `/${i}`);
  await eventually(() => expect(told).toEqual([{ kind: "all", isSoft: false }]));
});
