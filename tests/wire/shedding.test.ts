// docs/pressure.md#shedding
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
// More memory than this is always in use.
const SHORT = { memory: 0.0001, cpu: 1, loop_delay: "10s" };
const gateway = await startGateway({
  config: {
    server: {
      workers: 2,
      overload: SHORT,
      auth: { basic: { users: { ann: Bun.password.hashSync("x", { algorithm: "bcrypt", cost: 4 }) }, realm: "r" } },
    },
  },
  routes: [
    upstream("/low", origin, { priority: "low", auth: false }),
    upstream("/normal", origin, { auth: false }),
    upstream("/match", origin, { auth: false, priority: "high", match: { header: { "X-Key": "1" } } }),
    upstream("/match", origin, { auth: false, priority: "low" }),
    upstream("/users", origin, {}),
    { type: "respond", path: "/fixed", body: "x", priority: "high", auth: false },
  ],
});
afterAll(() => stopAll(gateway, origin));

const statusOf = async (start: string, lines: readonly string[] = []) =>
  (await gateway.once(request(start, lines))).status;

test("low goes first, then normal, then signed-in users; high, health and internal endpoints stay", async () => {
  const first = await gateway.log("the first rank", ({ event }) => event === "overload");
  expect(first).toMatchObject({ reason: "memory", threshold: 0.0001, sheds: "low" });
  const last = await gateway.log("the last rank", ({ event, sheds }) => event === "overload" && sheds === "signed_in");
  expect(last.value).toBeGreaterThan(0.0001);
  await eventually(async () => expect(await gateway.metric("gateway_overload_level")).toBe(3));
  const shed = await gateway.once(request("GET /low/echo"));
  expect([shed.status, shed.fields.get("retry-after"), shed.text]).toEqual([
    503,
    "1",
    '{"error":"503 Service Unavailable","message":"the server is overloaded, try again later"}',
  ]);
  expect([await statusOf("GET /normal/echo"), await statusOf("POST /match/echo")]).toEqual([503, 503]);
  const kept = ["GET /match/echo", "GET /fixed", "GET /health", "GET /internal/api/status", "GET /metrics"];
  for (const start of kept) expect([start, await statusOf(start, ["X-Key: 1"])]).toEqual([start, 200]);
  const ann = `Authorization: Basic ${btoa("ann:x")}`;
  expect([await statusOf("GET /users/echo"), await statusOf("GET /users/echo", [ann])]).toEqual([401, 503]);
  const counts = await Promise.all(
    ["low", "normal", "signed_in"].map((priority) =>
      gateway.metric("gateway_shed_requests_total", { priority, reason: "memory" }),
    ),
  );
  expect(counts).toEqual([2, 1, 1]);
  expect(await gateway.metric("gateway_overload_pressure", { reason: "memory" })).toBeGreaterThan(1);
});

test("a configuration without a shortage sheds nothing more", async () => {
  const file = join(gateway.folder, "config.yaml");
  writeFileSync(file, (await Bun.file(file).text()).replace("0.0001", "0.99"));
  gateway.signal("SIGHUP");
  await gateway.log("calm", ({ event, sheds }) => event === "overload" && sheds === "none");
  await eventually(async () => expect(await statusOf("GET /low/echo")).toBe(200));
});
