import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { exchangeOnce, json, RawClient, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const internalPort = freePort();
const gateway = await startGateway({
  config: { server: { workers: 2 }, internal_api: { listen: `127.0.0.1:${internalPort}`, token: "let-me-in-please" } },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

const TOKEN = "Authorization: Bearer let-me-in-please";
let reloads = 0;

/** Writes another configuration and has it read; the last line of the log about it. */
async function reload(config: object): Promise<Record<string, unknown>> {
  writeFileSync(join(gateway.folder, "config.yaml"), stringify(config));
  gateway.signal("SIGHUP");
  reloads++;
  const lines = () => gateway.logs.json.filter((line) => line.event === "config_reload");
  await eventually(() => expect(lines().length).toBe(reloads));
  return lines().at(-1)!;
}

function configOf(port: number, internal: object = {}): object {
  return { server: { host: "127.0.0.1", port, workers: 2, shutdown_timeout: "2s" }, internal_api: internal };
}

async function isOpen(port: number): Promise<boolean> {
  return exchangeOnce(port, request("GET /health")).then(
    () => true,
    () => false,
  );
}

describe("internal_api.listen", () => {
  const paths = ["/metrics", "/internal/api/status", "/internal/api/routes", "/internal/api/upstreams/health"];

  test("takes the internal endpoints off the public port", async () => {
    for (const path of paths) expect((await gateway.once(request(`GET ${path}`, [TOKEN]))).status).toBe(404);
    const probe = request("POST /internal/api/proxy-test", [TOKEN], '{"path":"/health"}');
    expect((await gateway.once(probe)).status).toBe(404);
    expect((await gateway.once(request("GET /health"))).status).toBe(200);
  });

  test("serves them on a port of their own, with the token, and nothing else", async () => {
    for (const path of paths) {
      expect((await exchangeOnce(internalPort, request(`GET ${path}`, [TOKEN]))).status).toBe(200);
      expect((await exchangeOnce(internalPort, request(`GET ${path}`))).status).toBe(401);
    }
    expect((await exchangeOnce(internalPort, request("GET /node/canary", [TOKEN]))).status).toBe(404);
    expect((await exchangeOnce(internalPort, request("GET /health"))).status).toBe(200);
  });

  test("probes go through the public routes", async () => {
    const body = JSON.stringify({ path: "/node/canary" });
    const reply = await exchangeOnce(internalPort, request("POST /internal/api/proxy-test", [TOKEN], body));
    expect(json<{ status_code: number }>(reply).status_code).toBe(200);
    const inside = JSON.stringify({ path: "/internal/api/status" });
    const refused = await exchangeOnce(internalPort, request("POST /internal/api/proxy-test", [TOKEN], inside));
    expect(refused.status).toBe(403);
  });
});

describe("a reload", () => {
  const moved = freePort();

  test("moves the port: the new one opens, the old one closes, connections go on", async () => {
    const mayAnswer = Promise.withResolvers<void>();
    origin.on("/held", async (call) => {
      await mayAnswer.promise;
      call.reply("200 OK", [], "held");
    });
    const client = await gateway.connect();
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.send(request("GET /node/held"));
    await eventually(() => expect(origin.requestsFor("/held").length).toBe(1));
    expect(await reload(configOf(moved, { listen: internalPort }))).toMatchObject({ ok: true, needs_restart: [] });
    await eventually(async () => expect([await isOpen(moved), await isOpen(gateway.port)]).toEqual([true, false]));
    mayAnswer.resolve();
    expect((await client.reply()).text).toBe("held");
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
    expect(await isOpen(internalPort)).toBe(true);
  });

  test("takes a listener away and adds one; what stays keeps its queue", async () => {
    const another = freePort();
    const stayed = await RawClient.connect(moved);
    expect(await reload(configOf(moved))).toMatchObject({ ok: true });
    await eventually(async () => expect(await isOpen(internalPort)).toBe(false));
    expect((await exchangeOnce(moved, request("GET /internal/api/status"))).status).toBe(200);
    expect(await reload(configOf(moved, { listen: another }))).toMatchObject({ ok: true });
    await eventually(async () => expect((await exchangeOnce(another, request("GET /metrics"))).status).toBe(200));
    expect((await stayed.exchange(request("GET /health"))).status).toBe(200);
    stayed.close();
  });

  test("to a port that is taken changes nothing, and says so", async () => {
    const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    const line = await reload(configOf(taken.port));
    expect(line).toMatchObject({ ok: false });
    expect(JSON.stringify(line.faults)).toContain(`cannot listen on 127.0.0.1:${taken.port}: EADDRINUSE`);
    expect(await isOpen(moved)).toBe(true);
    taken.stop(true);
  });

  test("back to the port that it came from, and the ports swapped", async () => {
    expect(await reload(configOf(gateway.port, { listen: moved }))).toMatchObject({ ok: true });
    await eventually(async () => {
      expect((await exchangeOnce(moved, request("GET /metrics"))).status).toBe(200);
      expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
    });
    expect(await reload(configOf(moved, { listen: gateway.port }))).toMatchObject({ ok: true });
    await eventually(async () => {
      expect((await exchangeOnce(moved, request("GET /node/canary"))).status).toBe(200);
      expect((await gateway.once(request("GET /metrics"))).status).toBe(200);
    });
  });
});
