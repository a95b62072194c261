// Purges in a fleet whose gateways stop, or lose the store, for a while. docs/fleet.md#purges
import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { SlowRelay } from "../harness/slow-relay.ts";

describe.skipIf(REDIS === null)("purges", async () => {
  const redis = REDIS === null ? null! : await RedisServer.start();
  const relays = REDIS === null ? [] : [0, 1, 2].map(() => new SlowRelay(redis.port));
  const origin = EchoOrigin.start();
  for (const path of ["/one", "/two"])
    origin.on(path, (call) => call.reply("200 OK", ["Cache-Control: max-age=600"], String(Math.random())));
  const gateways = await Promise.all(
    relays.map((relay, i) =>
      startGateway({
        config: {
          server: { cache: { enabled: true, cookies: "bypass" } },
          cluster: { store: `redis://127.0.0.1:${relay.port}`, node: `n${i}` },
        },
        routes: [upstream("/node", origin)],
      }),
    ),
  );
  afterAll(async () => {
    for (const gateway of gateways) await gateway.stop();
    for (const relay of relays) relay.stop();
    await redis?.stop();
    origin.stop();
  });

  const [first, second, third] = gateways as [Gateway, Gateway, Gateway];
  const bodyAt = async (gateway: Gateway, path: string) => (await gateway.once(request(`GET /node${path}`))).text;
  const purge = async (path: string) => {
    const call = JSON.stringify({ prefix: `/node${path}` });
    const reply = await first.once(request("POST /internal/api/cache/purge", ["Content-Type: application/json"], call));
    expect(reply.status).toBe(200);
  };
  const isUp = (value: number) =>
    eventually(async () => expect(await second.metric("gateway_cluster_store_up")).toBe(value));
  const isNew = async (gateway: Gateway, path: string, before: string) => {
    const startedMs = performance.now();
    await eventually(async () => expect(await bodyAt(gateway, path)).not.toBe(before));
    return performance.now() - startedMs;
  };

  test("what POST, PUT and DELETE change is taken out at every gateway", async () => {
    for (const gateway of gateways)
      await eventually(async () => expect(await gateway.metric("gateway_cluster_nodes")).toBe(3));
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      const path = `/changed-${method}`;
      const answer = (): string => String(Math.random());
      origin.on(path, async (call) => {
        await call.body();
        call.reply("200 OK", ["Cache-Control: max-age=600"], answer());
      });
      const before = await Promise.all(gateways.map((gateway) => bodyAt(gateway, path)));
      for (const [i, gateway] of gateways.entries()) expect(await bodyAt(gateway, path)).toBe(before[i]!);
      await first.once(request(`${method} /node${path}`, [], "x"));
      for (const [i, gateway] of gateways.entries()) await isNew(gateway, path, before[i]!);
    }
    // What fails changes nothing.
    origin.on("/failing", async (call) => {
      await call.body();
      const isGet = call.request.method === "GET";
      call.reply(isGet ? "200 OK" : "409 Conflict", ["Cache-Control: max-age=600"], String(Math.random()));
    });
    const kept = await bodyAt(second, "/failing");
    expect((await first.once(request("POST /node/failing", [], "x"))).status).toBe(409);
    await Bun.sleep(1500);
    expect(await bodyAt(second, "/failing")).toBe(kept);
  }, 60_000);

  test("a gateway that stood still catches up, and the others do not wait for it", async () => {
    for (const gateway of gateways)
      await eventually(async () => expect(await gateway.metric("gateway_cluster_nodes")).toBe(3));
    const [one, two] = [await bodyAt(second, "/one"), await bodyAt(third, "/one")];
    const kept = await bodyAt(second, "/two");
    second.signal("SIGSTOP");
    await purge("/one");
    const afterMs = await isNew(third, "/one", two);
    await Bun.sleep(2000);
    second.signal("SIGCONT");
    const caughtUpMs = await isNew(second, "/one", one);
    console.log(
      `purged at another gateway after ${afterMs.toFixed(0)} ms, at one that stood still ${caughtUpMs.toFixed(0)} ms after it went on`,
    );
    expect(await bodyAt(second, "/two")).toBe(kept);
  }, 30_000);

  test("one that had lost the store reads what has come, and keeps the rest", async () => {
    const [one, two] = [await bodyAt(second, "/one"), await bodyAt(second, "/two")];
    relays[1]!.cut();
    await isUp(0);
    await purge("/one");
    relays[1]!.mend();
    await isNew(second, "/one", one);
    expect(await bodyAt(second, "/two")).toBe(two);
  });

  test("one for which the store no longer has all of it empties its cache", async () => {
    for (const forget of [["XTRIM", "edge:purges", "MAXLEN", "1"], ["FLUSHALL"]]) {
      const two = await bodyAt(second, "/two");
      relays[1]!.cut();
      await isUp(0);
      await purge("/one");
      await purge("/one");
      await eventually(async () => expect(Number(await redis.command("XLEN", "edge:purges"))).toBeGreaterThan(1));
      await redis.command(...forget);
      relays[1]!.mend();
      await isNew(second, "/two", two);
    }
  }, 30_000);
});
