import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { FleetStore } from "../../../../../src/features/fleet/fleet-store.ts";
import { lockRun } from "../../../../../src/features/functions/control/run-lock.ts";
import { REDIS, RedisServer } from "../../../../harness/redis-server.ts";

const NOON = Date.UTC(2026, 10, 23, 12);

test("a gateway that is alone makes every run; one without its store makes none", async () => {
  expect((await lockRun("alone", "job", NOON, 1000)).isOwn).toBe(true);
  expect((await lockRun("ending", "job", NOON, 1000)).reason).toBe("elsewhere");
  expect(await lockRun("away", "job", NOON, 1000)).toMatchObject({ isOwn: false, reason: "store_away" });
});

describe.skipIf(REDIS === null)("in a fleet", () => {
  let redis: RedisServer;
  let client: Bun.RedisClient;
  let store: FleetStore;

  beforeAll(async () => {
    redis = await RedisServer.start();
    client = new Bun.RedisClient(redis.url);
    store = { call: (_, [name, ...words]) => client.send(name!, words), close: () => client.close() };
  });
  afterAll(async () => {
    client.close();
    await redis.stop();
  });

  const lock = (id: string, dueMs: number, leaseMs = 60_000) => lockRun({ store, prefix: "edge" }, id, dueMs, leaseMs);

  test("one of all gateways makes a run", async () => {
    const locks = await Promise.all(Array.from({ length: 8 }, () => lock("a", NOON)));
    expect(locks.filter(({ isOwn }) => isOwn).length).toBe(1);
    expect(locks.filter(({ reason }) => reason === "elsewhere").length).toBe(7);
  });

  test("the next run waits for the one before, and not for other jobs", async () => {
    const first = await lock("b", NOON);
    expect((await lock("b", NOON + 60_000)).reason).toBe("overlap");
    expect((await lock("c", NOON)).isOwn).toBe(true);
    first.release();
    expect((await lock("b", NOON + 120_000)).isOwn).toBe(true);
  });

  test("a lease that is over is another's, and is not freed by the one before", async () => {
    const slow = await lock("d", NOON, 1);
    let next = await lock("d", NOON + 1);
    for (let i = 2; !next.isOwn; i++) next = await lock("d", NOON + i);
    slow.release();
    expect((await lock("d", NOON + 60_000)).reason).toBe("overlap");
  });
});
