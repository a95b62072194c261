// Four gateways with one limit, under load: how exact it is, and what clients see while the store fails. docs/fleet.md#rate-limits
import { afterAll, describe, expect, test } from "bun:test";
import { CountingLoad, type LoadCounts } from "../harness/counting-load.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { SlowRelay } from "../harness/slow-relay.ts";

const NODES = 4;
const LIMIT = 400;
const OFFERED = 1000;
/** A tenth of a second of the limit, so that a second is ruled by the rate alone. */
const BURST = 40;
const EQUAL = [25, 25, 25, 25];
const UNEQUAL = [90, 4, 3, 3];

async function startFleet(store: unknown, cluster: object = {}): Promise<readonly Gateway[]> {
  const limit = { requests: LIMIT, burst: BURST, window: "1s", key: "route", scope: "cluster" };
  const routes = [{ type: "respond", path: "/limited", body: "x", rate_limit: limit }];
  const start = (_: unknown, i: number): Promise<Gateway> =>
    startGateway({ config: { cluster: { store, node: `n${i}`, ...cluster } }, routes });
  const gateways = await Promise.all(Array.from({ length: NODES }, start));
  await eventually(async () => {
    for (const gateway of gateways) expect(await gateway.metric("gateway_cluster_nodes")).toBe(NODES);
  });
  return gateways;
}

function loadOf(gateways: readonly Gateway[], shares: readonly number[]): CountingLoad {
  return new CountingLoad(
    "/limited",
    gateways.map(({ port }, i) => ({ port, connections: 8, perSecond: (OFFERED * shares[i]!) / 100 })),
  );
}

const waitsOf = async (gateways: readonly Gateway[], name: string): Promise<number> =>
  (await Promise.all(gateways.map((gateway) => gateway.metric(name)))).reduce((sum, one) => sum + one, 0);

const isBackAt = (gateways: readonly Gateway[], value: number) =>
  eventually(async () => {
    for (const gateway of gateways) expect(await gateway.metric("gateway_cluster_store_up")).toBe(value);
  });

/** Admitted within a twentieth of what the limit allows in the time, with as many beside as the bucket holds. */
function expectExact(before: LoadCounts, after: LoadCounts, elapsedMs: number): void {
  const admitted = after.answered - before.answered;
  const allowed = (LIMIT * elapsedMs) / 1000;
  expect(admitted).toBeLessThan(1.05 * allowed + BURST);
  // A machine that is too slow to send what was meant to be sent does not use the limit up.
  const offered = ((after.sent - before.sent) * 1000) / elapsedMs;
  if (offered > 2 * LIMIT) expect(admitted).toBeGreaterThan(0.95 * allowed - BURST);
}

function expectNoError(counts: LoadCounts): void {
  expect(counts).toMatchObject({ refused: 0, lost: 0, unreached: 0 });
  expect(counts.answered + counts.limited).toBe(counts.sent);
}

/** Lets a load run on, and gives what it has done meanwhile. */
async function during(load: CountingLoad, ms: number): Promise<[LoadCounts, LoadCounts, number]> {
  const [before, startedMs] = [{ ...load.counts }, performance.now()];
  await Bun.sleep(ms);
  return [before, { ...load.counts }, performance.now() - startedMs];
}

describe.skipIf(REDIS === null)("four gateways under load", async () => {
  const redis = REDIS === null ? null! : await RedisServer.start();
  const relay = REDIS === null ? null! : new SlowRelay(redis.port);
  const gateways = REDIS === null ? [] : await startFleet(`redis://127.0.0.1:${relay.port}`);
  afterAll(async () => {
    for (const gateway of gateways) await gateway.stop();
    relay?.stop();
    await redis?.stop();
  });

  for (const [name, shares] of [
    ["the same load on each", EQUAL],
    ["90, 4, 3 and 3 in a hundred", UNEQUAL],
  ] as const)
    test(`one limit, ${name}: exact, and fewer than one request in fifty waits`, async () => {
      const load = loadOf(gateways, shares);
      await Bun.sleep(500);
      // The first ones wait until the store has answered once, however long that takes.
      const before = [load.counts.sent, await waitsOf(gateways, "gateway_cluster_waits_total")] as const;
      expectExact(...(await during(load, 2000)));
      const counts = await load.stop();
      const waited = (await waitsOf(gateways, "gateway_cluster_waits_total")) - before[1];
      console.log(`limit ${LIMIT}/s, ${name}: ${load}, waited ${waited}`);
      expectNoError(counts);
      expect(waited * 50).toBeLessThan(counts.sent - before[0]);
    }, 30_000);

  test("a store that takes 200 ms, is cut, comes back, and is emptied: no client gets an error", async () => {
    const load = loadOf(gateways, EQUAL);
    relay.delayMs = 200;
    await during(load, 700);
    const slow = await during(load, 1500);
    expectExact(...slow);
    relay.delayMs = 0;
    relay.cut();
    await isBackAt(gateways, 0);
    const alone = await waitsOf(gateways, "gateway_cluster_local_decisions_total");
    const away = await during(load, 1000);
    // Each has its part, and a bucket of its own.
    expect(away[1].answered - away[0].answered).toBeLessThan(1.05 * ((LIMIT * away[2]) / 1000) + BURST);
    expect(await waitsOf(gateways, "gateway_cluster_local_decisions_total")).toBeGreaterThan(alone);
    relay.mend();
    await isBackAt(gateways, 1);
    await redis.command("FLUSHALL");
    await redis.command("SCRIPT", "FLUSH");
    const emptied = await during(load, 1000);
    expect(emptied[1].answered - emptied[0].answered).toBeLessThan(1.05 * ((LIMIT * emptied[2]) / 1000) + 2 * BURST);
    expectNoError(await load.stop());
    console.log(`store slow, away, emptied: ${load}`);
    for (const gateway of gateways) {
      const lines = gateway.logs.json.filter(({ event }) => event === "cluster_store_away");
      expect(lines.length).toBe(1);
    }
  }, 60_000);
});

describe.skipIf(REDIS === null)("a store that fails over", () => {
  // tests/conformance/fleet.test.ts has a failover in each run.
  longTest(
    "by sentinels, under load: no client gets an error, and the limit is one again",
    async () => {
      const [first, second, sentinel] = await Promise.all([
        RedisServer.start(),
        RedisServer.start(),
        RedisServer.startSentinel(),
      ]);
      await second.command("REPLICAOF", "127.0.0.1", String(first.port));
      await eventually(async () =>
        expect(await second.command("INFO", "replication")).toContain("master_link_status:up"),
      );
      await sentinel.command("SENTINEL", "MONITOR", "mymaster", "127.0.0.1", String(first.port), "1");
      await sentinel.command("SENTINEL", "SET", "mymaster", "down-after-milliseconds", "500");
      await eventually(async () =>
        expect(await sentinel.command("SENTINEL", "REPLICAS", "mymaster")).toContain("slave"),
      );
      const gateways = await startFleet(sentinel.url, { master: "mymaster" });
      const load = loadOf(gateways, EQUAL);
      await Bun.sleep(500);
      await first.stop();
      await isBackAt(gateways, 0);
      await isBackAt(gateways, 1);
      expect(await second.command("ROLE")).toContain("master");
      await Bun.sleep(300);
      expectExact(...(await during(load, 2000)));
      expectNoError(await load.stop());
      console.log(`store failed over: ${load}`);
      for (const gateway of gateways) await gateway.stop();
      await Promise.all([second.stop(), sentinel.stop()]);
    },
    90_000,
  );
});
