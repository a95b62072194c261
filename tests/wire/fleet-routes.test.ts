// docs/fleet.md#routes-of-the-api: routes of the API are those of the fleet.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, restartGateway, startGateway } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { stopAll } from "../harness/teardown.ts";

setDefaultTimeout(30_000);

const LIST = "/internal/api/config/routes";
const says = (body: string, more: object = {}) =>
  JSON.stringify({ type: "respond", prefix: `/${body.split("-")[0]}`, body, ...more });
const put = (gateway: Gateway, name: string, body: string, fields: readonly string[] = []) =>
  gateway.once(request(`PUT ${LIST}/${name}`, ["Host: localhost", ...fields], body));
const text = async (gateway: Gateway, path: string): Promise<string> => {
  const reply = await gateway.once(request(`GET ${path}`));
  return reply.status === 200 ? reply.text : String(reply.status);
};
const etag = async (gateway: Gateway, name: string): Promise<string> =>
  (await gateway.once(request(`GET ${LIST}/${name}`, ["Host: localhost"]))).fields.get("etag") ?? "";

describe.skipIf(REDIS === null)("gateways of a fleet", async () => {
  let redis = REDIS === null ? null! : await RedisServer.start();
  const options = (node: string) => ({
    config: { server: { drain_delay: "0s" }, cluster: { store: redis.url, node } },
    routes: [{ type: "respond", prefix: "/own", body: node }],
  });
  const made = REDIS === null ? [] : await Promise.all(["one", "two"].map((name) => startGateway(options(name))));
  const one = made[0]!;
  let two = made[1]!;
  const isUp = (gateway: Gateway) =>
    eventually(async () => expect(await gateway.metric("gateway_cluster_store_up")).toBe(1));
  const becomes = (gateway: Gateway, path: string, wanted: string) =>
    eventually(async () => expect(await text(gateway, path)).toBe(wanted));
  afterAll(async () => {
    await stopAll(one, two);
    await redis?.stop();
  });

  test("what is put, changed and removed at one is served by the other; two operators at two gateways lose nothing", async () => {
    await Promise.all([isUp(one), isUp(two)]);
    expect((await put(one, "shop", says("shop-a"))).status).toBe(200);
    await becomes(two, "/shop", "shop-a");
    const seen = await etag(two, "shop");
    expect(seen).toBe(await etag(one, "shop"));
    const both = await Promise.all(
      [one, two].map((gateway, i) => put(gateway, "shop", says(`shop-b${i}`), [`If-Match: ${seen}`])),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
    const won = both[0]!.status === 200 ? "shop-b0" : "shop-b1";
    await Promise.all([becomes(one, "/shop", won), becomes(two, "/shop", won)]);
    // Without a condition both are done, one after the other.
    const many = await Promise.all(
      Array.from({ length: 12 }, (_, i) => put(i % 2 === 0 ? one : two, `n${i}`, says(`n${i}`))),
    );
    expect(many.map(({ status }) => status)).toEqual(many.map(() => 200));
    for (const gateway of [one, two]) await becomes(gateway, "/n11", "n11");
    const remove = request(`DELETE ${LIST}/shop`, ["Host: localhost"]);
    expect((await two.once(remove)).status).toBe(200);
    await becomes(one, "/shop", "404");
    const faulty = await put(two, "bad", says("bad", { statsu: 1 }));
    expect([faulty.status, await redis.command("HEXISTS", "edge:routes", "bad")]).toEqual([422, "0"]);
  });

  test("a store that is away stops no request, and no gateway changes what the others could not know", async () => {
    const { port } = redis;
    await redis.stop();
    for (const gateway of [one, two])
      await eventually(async () => expect(await gateway.metric("gateway_cluster_store_up")).toBe(0));
    expect([await text(one, "/n1"), await text(two, "/n2")]).toEqual(["n1", "n2"]);
    const refused = await put(one, "late", says("late"));
    expect([refused.status, json<{ message: string }>(refused).message]).toEqual([
      503,
      expect.stringContaining("away"),
    ]);
    // A restart needs no store.
    two = await restartGateway(two, options("two"));
    expect(await text(two, "/n3")).toBe("n3");
    // The store comes back empty: the gateways bring back what it had.
    redis = await RedisServer.start([], port);
    await Promise.all([isUp(one), isUp(two)]);
    await eventually(async () => expect(await redis.command("HEXISTS", "edge:routes", "n1")).toBe("1"));
    expect([await text(one, "/n1"), await text(two, "/n1")]).toEqual(["n1", "n1"]);
    await eventually(async () => expect((await put(two, "late", says("late"))).status).toBe(200));
    await becomes(one, "/late", "late");
  });

  test("a gateway that joins takes the routes of the fleet, and brings its own; what is no route in the store takes nothing down", async () => {
    const alone = await startGateway({ ...options("three"), config: {} });
    expect((await put(alone, "mine", says("mine"))).status).toBe(200);
    expect((await put(alone, "n1", says("n1-other"))).status).toBe(200);
    const file = join(alone.folder, "config.yaml");
    appendFileSync(file, `\ncluster: ${JSON.stringify(options("three").config.cluster)}\n`);
    const three = await restartGateway(alone);
    await becomes(three, "/late", "late");
    await becomes(one, "/mine", "mine");
    await becomes(three, "/n1", "n1");
    await redis.command(
      "HSET",
      "edge:routes",
      "../x",
      says("x"),
      "odd",
      "{",
      "secret",
      "type: respond\nprefix: /s\nbody: ${HOME}\n",
    );
    await redis.command("HINCRBY", "edge:routes", ":rev", "1");
    await one.log("odd", ({ event, name }) => event === "route_invalid" && name === "odd");
    await one.log("secret", ({ event, name }) => event === "route_invalid" && name === "secret");
    expect([await text(one, "/mine"), await text(one, "/s"), await text(one, "/x")]).toEqual(["mine", "404", "404"]);
    await three.stop();
  });
});
