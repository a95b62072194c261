import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";

// docs/bans.md#in-a-fleet: a ban and a lift of one gateway are those of all, and nothing that is in the store is taken unread.

const ATTACK = "/node/echo?q=1%27%20OR%20%271%27=%271%27--%20";
const START = { trusted_proxies: ["127.0.0.1"], waf: { enabled: true } };
const BANS = { scope: "cluster", after: { blocks: 2, window: "1m" }, for: "10m" };

describe.skipIf(REDIS === null)("a fleet on Redis", async () => {
  const redis = REDIS === null ? null! : await RedisServer.start();
  const origin = EchoOrigin.start();
  const start = (node: string) =>
    startGateway({
      config: { server: { ...START, bans: BANS }, cluster: { store: redis.url, node } },
      routes: [upstream("/node", origin)],
    });
  const [a, b] = REDIS === null ? [null!, null!] : await Promise.all([start("a"), start("b")]);
  afterAll(async () => {
    for (const one of [a, b]) await one?.stop();
    await redis?.stop();
    origin.stop();
  });

  const ask = async (to: Gateway, client: string, path = "/node/echo") =>
    (await to.once(request(`GET ${path}`, [`X-Forwarded-For: ${client}`]))).status;
  const act = async (to: Gateway, action: string, address: string) =>
    (
      await to.once(
        request(`POST /internal/api/bans/${action}`, ["Content-Type: application/json"], JSON.stringify({ address })),
      )
    ).status;
  const soon = (to: Gateway, client: string, status: number) =>
    eventually(async () => {
      // A gateway looks into the store every two seconds.
      await Bun.sleep(100);
      expect([client, await ask(to, client)]).toEqual([client, status]);
    });

  test("shares bans by blocks and by hand, and lifts, whichever gateway says so", async () => {
    for (let i = 0; i < 2; i++) expect(await ask(a, "192.0.2.1", ATTACK)).toBe(403);
    await soon(b, "192.0.2.1", 403);
    const line = await b.log(
      "banned",
      ({ event, client_ip }) => event === "client_banned" && client_ip === "192.0.2.1",
    );
    expect(line.source).toBe("fleet");
    expect(await act(b, "add", "198.51.100.7/24")).toBe(200);
    await soon(a, "198.51.100.200", 403);
    expect(await act(b, "rm", "192.0.2.1")).toBe(200);
    await soon(a, "192.0.2.1", 200);
    expect(await act(a, "rm", "::ffff:198.51.100.0/120")).toBe(200);
    await soon(b, "198.51.100.200", 200);
  });

  test("takes nothing from the store that no gateway would ban, and goes on", async () => {
    const key = (await redis.command("KEYS", "*bans*")).split("\n").find((name) => !name.includes("lifted"));
    await act(a, "add", "203.0.113.1");
    const until = String(Date.now() + 600_000);
    const name =
      key ||
      (await eventually(async () => {
        const found = await redis.command("KEYS", "*bans");
        expect(found).not.toBe("");
        return found;
      }));
    const entries = [
      until,
      "0.0.0.0/0",
      until,
      "nonsense",
      until,
      "127.0.0.0/8",
      "+inf",
      "203.0.113.2",
      until,
      "203.0.113.3",
    ];
    await redis.command("ZADD", name, ...entries);
    await soon(b, "203.0.113.3", 403);
    await soon(b, "203.0.113.1", 403);
    expect([await ask(b, "203.0.113.2"), await ask(b, "8.8.8.8")]).toEqual([200, 200]);
    const { bans } = json<{ bans: { address: string }[] }>(await b.once(request("GET /internal/api/bans")));
    expect(bans.map(({ address }) => address).sort()).toEqual(["203.0.113.1", "203.0.113.3"]);
  });
});
