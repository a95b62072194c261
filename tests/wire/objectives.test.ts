// docs/pressure.md#objectives
import { afterAll, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = ScriptedOrigin.start();
origin.on("/ok", (call) => call.reply("200 OK"));
origin.on("/bad", (call) => call.reply("500 Internal Server Error"));
origin.on("/missing", (call) => call.reply("404 Not Found"));
origin.on("/slow", async (call) => {
  await Bun.sleep(150);
  call.reply("200 OK");
});
origin.on("/cut", (call) => call.sendAndFinish("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
const away = { url: `http://127.0.0.1:${freePort()}` };
const slo = { availability: 99, latency: { p: 90, under: "100ms" } };
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    upstream("/api", origin, { slo }),
    upstream("/away", away, { slo: { availability: 99.9, window: "1d" }, concurrency: { limit: 5 } }),
    upstream("/quiet", origin, { slo }),
    upstream("/none", origin),
  ],
});
afterAll(() => stopAll(gateway, origin));

const burn = (route: string, kind: string, window: string) =>
  gateway.metric("gateway_slo_burn_rate", { route, slo: kind, window });
const ask = (target: string) => gateway.once(request(`GET ${target}`));

test("5xx, cut responses and refusals of the gateway's own are bad, in each window; slow responses are slow", async () => {
  for (const target of ["/api/ok", "/api/ok", "/api/ok", "/api/missing", "/api/ok", "/api/ok", "/api/slow"])
    await ask(target);
  await ask("/api/bad");
  await ask("/api/cut").catch(() => null);
  const client = await gateway.connect();
  client.send(request("GET /api/slow"));
  await origin.until("the request", () => (origin.requestsFor("/slow").length === 2 ? true : undefined));
  client.reset();
  await eventually(async () => expect(await burn("/api", "availability", "5m")).toBeCloseTo(2 / 10 / 0.01));
  for (const window of ["1h", "6h"]) expect(await burn("/api", "availability", window)).toBeCloseTo(2 / 10 / 0.01);
  const slow = await burn("/api", "latency", "1h");
  expect(slow * 10 * 0.1).toBeWithin(0.999, 2.001);
  expect((await ask("/away/x")).status).toBe(502);
  expect(await burn("/away", "availability", "5m")).toBeCloseTo(1000);
  for (const kind of ["availability", "latency"]) expect(await burn("/quiet", kind, "5m")).toBe(0);
  expect(await gateway.metric("gateway_slo_objective", { route: "/api", slo: "latency" })).toBe(0.9);
  expect(await gateway.metric("gateway_slo_window_seconds", { route: "/away" })).toBe(86_400);
  const samples = await gateway.samples();
  expect(samples.filter(({ name, labels }) => /_slo_/.test(name) && labels.route === "/none")).toEqual([]);
});

test("a reload keeps the counts", async () => {
  expect((await gateway.reload()).ok).toBe(true);
  expect(await burn("/away", "availability", "1h")).toBeCloseTo(1000);
  await ask("/away/x");
  expect(await burn("/away", "availability", "1h")).toBeCloseTo(1000);
});

test("edge status shows what burns, and that it is not well", async () => {
  const { code, stdout } = await runProcess([EDGE_BINARY, "status"], { cwd: gateway.folder, timeout: 30_000 });
  expect([code, stdout]).toEqual([1, expect.stringContaining("/away misses its objective of 99.9 % without 5xx")]);
  expect(stdout).toMatch(/OBJECTIVES \(5\)/);
  const found = await runProcess([EDGE_BINARY, "status", "--json"], { cwd: gateway.folder, timeout: 30_000 });
  const { objectives } = JSON.parse(found.stdout) as { objectives: { route: string; burn: number[] }[] };
  expect(objectives[0]).toMatchObject({ route: "/away", slo: "availability", objective: 0.999, windowMs: 86_400_000 });
  expect(objectives[0]!.burn.every((rate) => Math.abs(rate - 1000) < 1)).toBe(true);
});
