// docs/sidecar.md#splits: splits by host and by what requests say, and backends that are taken out for a while.
import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { runEdge } from "../harness/gateway.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { exchangeOnce, json, request } from "../harness/raw-client.ts";
import { startSidecar } from "../harness/sidecar.ts";

const names = ["any", "canary", "host", "wild", "deep", "hostCanary"] as const;
const origins = Object.fromEntries(names.map((name) => [name, EchoOrigin.start()])) as Record<
  (typeof names)[number],
  EchoOrigin
>;
const to = (name: (typeof names)[number]) => ({ backends: [{ target: origins[name].url }] });
const good = EchoOrigin.start();
const bad = EchoOrigin.start();
let isBad = true;
bad.on("/breaker/x", (call) => {
  if (isBad) call.reply("503 Service Unavailable", [], "");
  else call.reply("200 OK", [], "");
});
const breaker = { failure_threshold: 3, open_duration: "200ms", failure_statuses: [503] };
const traffic_splits = [
  { prefix: "/", ...to("any") },
  { prefix: "/", match: { header: { "x-canary": "1" } }, ...to("canary") },
  { prefix: "/", match: { header: { "x-canary": "/^[12]$/" } }, ...to("deep") },
  { prefix: "/", host: "shop.test", ...to("host") },
  { prefix: "/", host: ["shop.test"], match: { cookie: { beta: true } }, ...to("hostCanary") },
  { prefix: "/", host: "*.shop.test", ...to("wild") },
  { prefix: "/api/v2", ...to("deep") },
  {
    prefix: "/breaker",
    retries: { attempts: 0 },
    circuit_breaker: breaker,
    backends: [{ target: good.url }, { target: bad.url }],
  },
];
const { gateway, egress } = await startSidecar({ mode: "egress", traffic_splits });
afterAll(async () => {
  await gateway.stop();
  for (const origin of [...Object.values(origins), good, bad]) origin.stop();
});

async function reachedBy(host: string, path: string, lines: readonly string[] = []): Promise<string> {
  const before = names.map((name) => origins[name].requests.length);
  const fields = lines.map((line) => `${line}\r\n`).join("");
  const reply = await exchangeOnce(egress, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`);
  expect([reply.status, json<Echo>(reply).target]).toEqual([200, path]);
  return names.filter((name, i) => origins[name].requests.length > before[i]!).join();
}

test.each([
  ["a.test", "/x", [], "any"],
  ["a.test", "/x", ["X-Canary: 1"], "canary"],
  ["a.test", "/x", ["x-canary: 2"], "deep"],
  ["a.test", "/x", ["x-canary: 3"], "any"],
  ["shop.test", "/x", [], "host"],
  ["SHOP.test:8080", "/x", [], "host"],
  ["shop.test", "/x", ["X-Canary: 1"], "host"],
  ["shop.test", "/x", ["Cookie: beta=1"], "hostCanary"],
  ["eu.shop.test", "/x", [], "wild"],
  ["shop.test", "/api/v2/x", [], "deep"],
] as const)("%s%s with %p goes to %s", async (host, path, lines, name) => {
  for (let i = 0; i < 3; i++) expect(await reachedBy(host, path, lines)).toBe(name);
});

describe("with a circuit breaker", () => {
  const statuses = async (times: number) => {
    const all: number[] = [];
    for (let i = 0; i < times; i++) all.push((await exchangeOnce(egress, request("GET /breaker/x"))).status);
    return all;
  };
  const trips = async () => {
    const metrics = parseMetrics((await exchangeOnce(gateway.port, request("GET /metrics"))).text);
    return sumOf(metrics, "gateway_circuit_breaker_trips_total", { upstream: bad.url });
  };

  test("a backend that fails is taken out, and comes back when it has recovered", async () => {
    await eventually(async () => {
      await statuses(5);
      expect(await trips()).toBe(1);
    });
    await gateway.logs.until("breaker_open", (line) => JSON.stringify(line).includes("breaker_open"));
    isBad = false;
    const before = bad.requests.length;
    await eventually(async () => {
      await statuses(5);
      expect(bad.requests.length).toBeGreaterThan(before + 5);
    });
    expect(new Set(await statuses(20))).toEqual(new Set([200]));
  });
});

test("edge check shows them, and refuses two splits for the same place", async () => {
  const check = (splits: readonly object[]) =>
    runEdge(["check", "--print"], { config: { sidecar: { enabled: true, mode: "egress", traffic_splits: splits } } });
  const { stdout } = await check(traffic_splits);
  expect(stdout).toContain("shop.test");
  expect(stdout).toContain("x-canary");
  const twice = await check([traffic_splits[3]!, { ...traffic_splits[3]!, host: ["other.test", "shop.test"] }]);
  expect(twice.stdout + twice.stderr).toContain("a second split for shop.test /: put its backends into the first");
});
