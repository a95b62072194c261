// What gateways of a fleet tell each other of targets that are down.
import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";

describe.skipIf(REDIS === null)("health hints", async () => {
  if (REDIS === null) return;
  const redis = await RedisServer.start();
  const [gone, picky, lonely, spare] = Array.from({ length: 4 }, () => ScriptedOrigin.start()) as [
    ScriptedOrigin,
    ScriptedOrigin,
    ScriptedOrigin,
    ScriptedOrigin,
  ];
  for (const one of [picky, spare]) one.on("/x", (call) => call.reply("200 OK", [], one === picky ? "picky" : "spare"));
  const [goneUrl, lonelyUrl] = [gone.url, lonely.url];
  gone.stop();
  lonely.stop();
  const circuit_breaker = { failure_threshold: 2, open_duration: "1h", failure_statuses: [503] };
  const route = (prefix: string, ...targets: readonly string[]) => ({
    type: "upstream",
    prefix,
    targets: targets.map((url, i) => ({ url, backup: i > 0 })),
    circuit_breaker,
    retries: { attempts: 0 },
  });
  const start = (node: string) =>
    startGateway({
      config: { cluster: { store: redis.url, node, health: true } },
      routes: [route("/gone", goneUrl, spare.url), route("/picky", picky.url, spare.url), route("/lonely", lonelyUrl)],
    });
  const [first, second] = await Promise.all([start("first"), start("second")]);
  afterAll(async () => {
    for (const gateway of [first, second]) await gateway.stop();
    await redis.stop();
    for (const one of [picky, spare]) one.stop();
  });
  const ask = async (gateway: typeof first, path: string) => {
    const { status, text } = await gateway.once(request(`GET ${path}`));
    return `${status} ${status === 200 ? text : ""}`.trim();
  };

  test("a gateway knows what is down from another, before it has asked itself", async () => {
    for (const path of ["/gone/x", "/gone/x", "/lonely/x", "/lonely/x"]) await ask(first, path);
    await first.log("open", ({ event, upstream }) => event === "breaker_open" && upstream === goneUrl);
    await second.log("the hint", ({ event, upstream }) => event === "breaker_hint" && upstream === goneUrl);
    expect(await ask(second, "/gone/x")).toBe("200 spare");
    expect(await second.metric("gateway_cluster_health_hints_total")).toBe(1);
    // The only target of a route is left as it is: the gateway has asked it.
    expect(second.logs.json.some(({ event, upstream }) => event === "breaker_hint" && upstream === lonelyUrl)).toBe(
      false,
    );
  });

  test("one that is down only for another is back after a probe and a request", async () => {
    // As a gateway tells it that cannot reach what the others can.
    await redis.command("ZADD", "edge:down", String(Date.now()), `another-gateway ${picky.url}`);
    await second.log("the hint", ({ event, upstream }) => event === "breaker_hint" && upstream === picky.url);
    await eventually(async () => expect(await ask(second, "/picky/x")).toBe("200 picky"));
    expect(second.logs.json.some(({ event, upstream }) => event === "breaker_open" && upstream === picky.url)).toBe(
      false,
    );
  });

  test("one that starts is told as well; a store that is away changes nothing", async () => {
    const third = await start("third");
    await third.log("the hint", ({ event, upstream }) => event === "breaker_hint" && upstream === goneUrl);
    expect(await ask(third, "/gone/x")).toBe("200 spare");
    await redis.stop();
    await third.log("away", ({ event }) => event === "cluster_store_away");
    expect([await ask(third, "/picky/x"), await ask(third, "/lonely/x")]).toEqual(["200 picky", "502"]);
    await third.stop();
  });
});
