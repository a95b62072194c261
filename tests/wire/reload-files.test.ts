// What a reload does with files that are not whole, and with a configuration that some worker cannot build.
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import type { LogLine } from "../harness/line-collector.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  binary: binaryWithHooks(),
  config: { server: { workers: 2, waf: { enabled: true } } },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, origin));

const config = readFileSync(join(gateway.folder, "config.yaml"), "utf8");
const routes = readFileSync(join(gateway.folder, "routes.yaml"), "utf8");

async function reload(configText: string | null, routesText: string | null): Promise<LogLine> {
  put("config.yaml", configText);
  put("routes.yaml", routesText);
  return gateway.reload();
}

function put(name: string, text: string | null): void {
  if (text === null) rmSync(join(gateway.folder, name), { force: true });
  else writeFileSync(join(gateway.folder, name), text);
}

/** What both workers answer to a path, and to an attack. */
async function statuses(path: string): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: 20 }, () => gateway.once(request(`GET ${path}`))));
  return [...new Set(replies.map((reply) => reply.status))];
}

async function generation(): Promise<unknown> {
  return json(await gateway.once(request("GET /internal/api/status"))).generation;
}

describe("a file that is not whole changes nothing", () => {
  test.each<[string, string | null, string | null, RegExp]>([
    ["an empty config.yaml", "", routes, /config\.yaml:1:1: the file is empty/],
    ["a config.yaml of comments", "# server:\n", routes, /config\.yaml:1:1: the file is empty/],
    ["no config.yaml", null, routes, /config\.yaml: no such file/],
    ["an empty routes.yaml", config, "", /routes\.yaml:1:1: the file is empty/],
    ["no routes.yaml", config, null, /routes\.yaml: no such file/],
  ])("%s", async (_name, configText, routesText, message) => {
    const line = await reload(configText, routesText);
    expect(line).toMatchObject({ ok: false, generation: 1 });
    expect(String(line.faults)).toMatch(message);
    expect(await statuses("/node/canary")).toEqual([200]);
    expect(await statuses("/node/?q=%3Cscript%3Ealert(1)%3C/script%3E")).toEqual([403]);
    expect(await generation()).toBe(1);
  });

  test("one that ended with three dots before", async () => {
    expect(await reload(`${config}...\n`, `${routes}...\n`)).toMatchObject({ ok: true, generation: 2, removed: [] });
    const line = await reload("server:\n", `${routes}...\n`);
    expect(line).toMatchObject({ ok: false, generation: 2 });
    expect(String(line.faults)).toMatch(/config\.yaml:2:1: truncated/);
  });

  test("at the start, too", async () => {
    const run = await runEdge(["serve", "--config", "config.yaml"], { files: { "config.yaml": "# nothing\n" } });
    expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(/config\.yaml:1:1: the file is empty/)]);
  });
});

test("a worker that cannot build it: no worker takes it, and the next reload works", async () => {
  const [configEnd, renamed] = [`${config}...\n`, `${stringify([upstream("/renamed", origin)])}...\n`];
  const before = await generation();
  // On one connection, so that one worker alone is told.
  const client = await gateway.connect();
  client.send(request("GET /__test/fail-reload"));
  await Bun.sleep(100);
  const line = await reload(configEnd, renamed);
  expect(line).toMatchObject({ ok: false, generation: before, faults: [expect.stringMatching(/keeps this worker/)] });
  expect(await statuses("/node/canary")).toEqual([200]);
  expect(await statuses("/renamed/canary")).toEqual([404]);
  expect(await reload(configEnd, renamed)).toMatchObject({ ok: true, generation: Number(before) + 1 });
  // The line comes when every worker serves it.
  expect(await statuses("/renamed/canary")).toEqual([200]);
  client.close();
});

test("what a reload takes away is named", async () => {
  const full = { port: gateway.port, host: "127.0.0.1", workers: 2, shutdown_timeout: "2s" };
  const internal = freePort();
  const rich = stringify({
    server: { ...full, waf: { enabled: true } },
    internal_api: { listen: `127.0.0.1:${internal}` },
  });
  expect(await reload(`${rich}...\n`, `${routes}...\n`)).toMatchObject({ ok: true, removed: [] });
  const detecting = stringify({ server: { ...full, waf: { enabled: true, mode: "detection" } } });
  expect(await reload(`${detecting}...\n`, `${routes}...\n`)).toMatchObject({
    removed: [`listener internal 127.0.0.1:${internal}`, "server.waf.mode: enforce"],
  });
  const bare = stringify({ server: full });
  expect(await reload(`${bare}...\n`, `${routes}...\n`)).toMatchObject({ removed: ["server.waf"] });
});

test("signals that come while a reload is under way are one more", async () => {
  const before = Number(await generation());
  put("routes.yaml", `${stringify([upstream("/last", origin)])}...\n`);
  for (let n = 0; n < 50; n++) gateway.signal("SIGHUP");
  await eventually(async () => expect(await statuses("/last/canary")).toEqual([200]));
  await Bun.sleep(200);
  const now = Number(await generation());
  expect(now).toBeGreaterThan(before);
  expect(now).toBeLessThanOrEqual(before + 50);
});
