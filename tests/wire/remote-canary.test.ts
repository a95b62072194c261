// A configuration that some gateways of a fleet try first: it passes, it fails, and the store is away meanwhile.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { ConfigOrigin } from "../harness/config-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, runEdge, startGateway } from "../harness/gateway.ts";
import type { LogLine } from "../harness/line-collector.ts";
import { longTest } from "../harness/long-lane.ts";
import { json, request } from "../harness/raw-client.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";

const NODES = ["a", "b", "c", "d"];

describe.skipIf(REDIS === null)("canaries of a fleet", async () => {
  if (REDIS === null) return;
  let redis = await RedisServer.start();
  const origin = ConfigOrigin.start();
  const folders = NODES.map(() => mkdtempSync(join(tmpdir(), "edge-canary-")));
  const ports = NODES.map(() => freePort());
  const canary = { share: "25%", for: "6s", max_error_rate: "5%", min_requests: 20 };
  const configText = (more: object = {}) =>
    `${stringify({
      server: { host: "127.0.0.1", port: "${EDGE_PORT}", workers: 1 },
      cluster: { store: redis.url, node: "${EDGE_NODE}", canary, ...more },
    }).replaceAll(/"(\$\{\w+\})"/g, "$1")}...\n`;
  const routesText = (body: string, status = 200) =>
    `- { type: respond, path: /v, body: ${body}, status: ${status} }\n- { type: respond, path: /name, body: ${body} }\n...\n`;

  const start = (i: number): Promise<Gateway> =>
    startGateway({
      port: ports[i]!,
      args: ["--config", `${origin.url}/config.yaml`, "--routes=", "--poll", "2s"],
      env: { STATE_DIRECTORY: folders[i]!, EDGE_PORT: String(ports[i]), EDGE_NODE: NODES[i]! },
    });
  origin.put(configText(), routesText("first"));
  const gateways = await Promise.all(NODES.map((_, i) => start(i)));
  afterAll(async () => {
    for (const gateway of gateways) await gateway.stop();
    await redis.stop();
    origin.stop();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  const served = () => Promise.all(gateways.map(async (one) => (await one.once(request("GET /name"))).text));
  const all = (body: string) => eventually(async () => expect(await served()).toEqual(NODES.map(() => body)));
  /** Who has it on trial, once one has; all others have the one before. */
  const trial = (body: string, before: string) =>
    eventually(async () => {
      const found = await served();
      expect(found.toSorted()).toEqual([body, before, before, before].toSorted());
      return found.indexOf(body);
    });
  const load = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await Promise.all(gateways.map((one) => one.once(request("GET /v"))));
  };
  const ends = (gateway: Gateway): LogLine[] => gateway.logs.json.filter(({ event }) => event === "canary_end");

  test("one that fails is rolled back, and not taken after a restart either", async () => {
    await eventually(async () => {
      for (const one of gateways) expect(await one.metric("gateway_cluster_nodes")).toBe(4);
    });
    origin.put(configText(), routesText("broken", 500));
    const who = await trial("broken", "first");
    await load(40);
    await all("first");
    for (const one of gateways) {
      const end = await eventually(() => {
        const last = ends(one).at(-1);
        expect(last).toMatchObject({ ok: false, reason: "more 5xx than the others" });
        return last!;
      });
      expect(Number(end.errors)).toBeGreaterThan(0);
      expect(end.others_errors).toBe(0);
      await eventually(async () => expect(await one.metric("gateway_config_rollbacks_total")).toBe(1));
    }
    await gateways[who]!.stop();
    gateways[who] = await start(who);
    const end = await gateways[who]!.log("the end", ({ event }) => event === "canary_end");
    expect(end).toMatchObject({ ok: false });
    expect(await served()).toEqual(NODES.map(() => "first"));
  });

  longTest("one that is well is taken by all, and told of", async () => {
    origin.put(configText(), routesText("second"));
    const who = await trial("second", "first");
    await eventually(async () =>
      expect(await gateways[who]!.metric("gateway_config_canary", { role: "canary" })).toBe(1),
    );
    await eventually(async () => {
      const reply = await gateways[0]!.once(request("GET /internal/api/nodes"));
      const { nodes } = json(reply) as { nodes: { name: string; trial: string }[] };
      expect(nodes.filter(({ trial }) => trial === "canary").map(({ name }) => name)).toEqual([NODES[who]!]);
    });
    await load(30);
    expect(new Set(await served())).toEqual(new Set(["first", "second"]));
    await all("second");
    const { stdout } = await runEdge(["nodes", "--url", `http://127.0.0.1:${ports[0]}`]);
    expect(stdout).toMatch(/^NAME.* CONFIG .*\n(.* [0-9a-f]{12}( \(\w+\))? .*\n){4}$/);
    for (const one of gateways) {
      const end = await one.log("the end", ({ event, ok }) => event === "canary_end" && ok === true);
      expect(end.errors).toBe(0);
      await eventually(async () => {
        const { config_source: state } = json(await one.once(request("GET /internal/api/status"))) as {
          config_source: Record<string, unknown>;
        };
        expect(state).toMatchObject({ waiting: "", on_trial: false, version: end.version });
      });
    }
  });

  longTest("the next one is tried anew; one that a canary cannot take is taken by none", async () => {
    origin.put(configText({ prefix: "other" }), routesText("moved"));
    for (const one of gateways)
      await eventually(() =>
        expect(String(ends(one).at(-1)?.reason)).toMatch(/cannot change while cluster\.canary is on/),
      );
    expect(await served()).toEqual(NODES.map(() => "second"));
    origin.put(configText(), routesText("third"));
    await trial("third", "second");
    await all("third");
  });

  longTest("while the store is away no gateway moves; a canary that is killed rolls it back", async () => {
    origin.put(configText(), routesText("fourth"));
    const who = await trial("fourth", "third");
    await redis.stop();
    for (const one of gateways)
      await eventually(async () => expect(await one.metric("gateway_cluster_store_up")).toBe(0));
    await Bun.sleep(6000);
    expect((await served()).filter((body) => body === "fourth").length).toBe(1);
    redis = await RedisServer.start([], redis.port);
    await all("fourth");
    origin.put(configText(), routesText("fifth"));
    const next = await trial("fifth", "fourth");
    expect([who, next].every((at) => at >= 0)).toBe(true);
    const victim = gateways[next]!;
    victim.kill();
    gateways[next] = await start(next);
    await all("fourth");
    for (const [i, one] of gateways.entries())
      if (i !== next)
        await eventually(() =>
          expect(ends(one).at(-1)).toMatchObject({ ok: false, reason: "a gateway that took it is gone" }),
        );
  });
});
