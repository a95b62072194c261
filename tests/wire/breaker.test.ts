import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

/** Long enough for what is asked while it is open, on a busy machine too. */
const OPEN_MS = 1200;
const BREAKER = { failure_threshold: 3, open_duration: `${OPEN_MS}ms` };
const origin = ScriptedOrigin.start();
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    { type: "upstream", prefix: "/a", target: origin.url, circuit_breaker: BREAKER, retries: { attempts: 0 } },
    { type: "upstream", prefix: "/same", target: origin.url, circuit_breaker: BREAKER, retries: { attempts: 0 } },
    {
      type: "upstream",
      prefix: "/timed",
      target: origin.url,
      circuit_breaker: { failure_threshold: 2, open_duration: `${OPEN_MS}ms` },
      timeouts: { response_header: "100ms" },
      retries: { attempts: 0 },
    },
    {
      type: "upstream",
      prefix: "/total",
      target: origin.url,
      timeouts: { total: "100ms" },
      circuit_breaker: { failure_threshold: 2 },
    },
    { type: "upstream", prefix: "/off", target: origin.url, circuit_breaker: { enabled: false } },
  ],
});
afterAll(() => stopAll(gateway, origin));

origin.on("/ok", (call) => call.reply("200 OK", [], "fine"));
for (const status of [
  "502 Bad Gateway",
  "503 Service Unavailable",
  "504 Gateway Timeout",
  "500 Internal Server Error",
]) {
  origin.on(`/${status.slice(0, 3)}`, (call) => call.reply(status, [], status));
}
origin.on("/silent", (call) => {
  call.takeOver();
});

const get = (path: string, at: Gateway = gateway): Promise<Reply> => at.once(request(`GET ${path}`));

async function metric(name: string): Promise<number> {
  return sumOf(parseMetrics((await get("/metrics")).text), name, { upstream: origin.url });
}

/** Opens the breaker of /a, each failure on a connection of its own, so that both workers see some. */
async function openBreaker(): Promise<void> {
  for (let i = 0; i < BREAKER.failure_threshold; i++) expect((await get("/a/502")).status).toBe(502);
  expect((await get("/a/ok")).status).toBe(503);
}

async function untilClosed(): Promise<void> {
  await eventually(async () => expect((await get("/a/ok")).status).toBe(200));
}

beforeEach(untilClosed);

describe("failures in a row", () => {
  test("open it for all workers and routes with the same settings: 503 with Retry-After, unasked", async () => {
    await openBreaker();
    const before = origin.requests.length;
    for (let i = 0; i < 8; i++) {
      const reply = await get(i % 2 === 0 ? "/a/ok" : "/same/ok");
      expect([reply.status, json(reply)]).toEqual([
        503,
        { error: "503 Service Unavailable", message: "no healthy upstream" },
      ]);
      expect(Number(reply.fields.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(origin.requests.length).toBe(before);
    expect((await get("/off/ok")).status).toBe(200);
  });

  test.each(["502", "503", "504"])("are answers with %s", async (status) => {
    for (let i = 0; i < 3; i++) expect((await get(`/a/${status}`)).status).toBe(Number(status));
    expect((await get("/a/ok")).text).toContain("no healthy upstream");
  });

  test("are none with 500, and a success between them begins anew", async () => {
    for (let i = 0; i < 6; i++) expect((await get("/a/500")).status).toBe(500);
    for (let i = 0; i < 6; i++) {
      expect((await get("/a/502")).text).toContain("502 Bad Gateway");
      expect((await get("/a/502")).text).toContain("502 Bad Gateway");
      expect((await get("/a/ok")).status).toBe(200);
    }
  });

  test("are refused connections", async () => {
    const { port } = origin;
    origin.stop();
    // The kept connections that the origin has closed are not counted.
    await eventually(async () => expect((await get("/a/ok")).status).toBe(503));
    origin.listen(port);
  });

  test("are answers that do not come in time", async () => {
    for (let i = 0; i < 2; i++) expect((await get("/timed/silent")).status).toBe(504);
    expect((await get("/timed/ok")).status).toBe(503);
  });

  test("are answers that do not come within the total time", async () => {
    for (let i = 0; i < 2; i++) expect((await get("/total/silent")).status).toBe(504);
    expect((await get("/total/ok")).status).toBe(503);
  });
});

describe("an open breaker", () => {
  test("is told of in log, metrics and internal API, and so is its end", async () => {
    const trips = await metric("gateway_circuit_breaker_trips_total");
    const opened = gateway.logs.json.filter((line) => line.event === "breaker_open").length;
    await openBreaker();
    expect(await metric("gateway_circuit_breaker_state")).toBeGreaterThan(0);
    expect(await metric("gateway_upstream_healthy")).toBe(0);
    const routes = json<{ routes: { prefix: string; targets: { status: string }[] }[] }>(
      await get("/internal/api/routes"),
    ).routes;
    expect(routes.find((route) => route.prefix === "/a")!.targets[0]!.status).toBe("OPEN");
    expect(routes.find((route) => route.prefix === "/off")!.targets[0]!.status).toBe("CLOSED");
    await untilClosed();
    await eventually(() =>
      expect(gateway.logs.json.filter((line) => line.event === "breaker_open").length).toBe(opened + 1),
    );
    const line = gateway.logs.json.findLast((one) => one.event === "breaker_open");
    expect(line).toMatchObject({ upstream: origin.url, failures: 3, open_ms: OPEN_MS });
    const closed = await gateway.log("breaker_closed", (one) => one.event === "breaker_closed");
    expect(closed).toMatchObject({ upstream: origin.url, open_for_ms: expect.any(Number) });
    expect(await metric("gateway_circuit_breaker_trips_total")).toBe(trips + 1);
    // Another route's breaker to this origin may still be open.
    await eventually(async () => {
      await get("/timed/ok");
      await get("/total/ok");
    });
  });

  test("lets one request try, and closes on its success", async () => {
    await openBreaker();
    await Bun.sleep(OPEN_MS + 100);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    origin.on("/held", async (call) => {
      await held;
      call.reply("200 OK", [], "tried");
    });
    const trial = get("/a/held");
    await origin.until("the trial", () => origin.requestsFor("/held").length || undefined);
    const before = origin.requests.length;
    for (let i = 0; i < 6; i++) expect((await get("/a/ok")).status).toBe(503);
    expect(origin.requests.length).toBe(before);
    release();
    expect((await trial).text).toBe("tried");
    for (let i = 0; i < 6; i++) expect((await get("/a/ok")).status).toBe(200);
  });

  test("opens again when the trial fails", async () => {
    await openBreaker();
    await Bun.sleep(OPEN_MS + 100);
    expect((await get("/a/502")).text).toContain("502 Bad Gateway");
    const before = origin.requests.length;
    for (let i = 0; i < 4; i++) expect((await get("/a/ok")).status).toBe(503);
    expect(origin.requests.length).toBe(before);
  });

  test("gives the trial to another request when its client goes away", async () => {
    await openBreaker();
    await Bun.sleep(OPEN_MS + 100);
    const client = await gateway.connect();
    client.send(request("GET /a/silent?given-up"));
    await origin.until("the trial", () => origin.requestsFor("/silent").find((r) => r.target.endsWith("given-up")));
    expect((await get("/a/ok")).status).toBe(503);
    client.reset();
    // Well before the time of another trial.
    await eventually(async () => expect((await get("/a/ok")).status).toBe(200), OPEN_MS / 2);
  });

  test("stays open over a reload", async () => {
    await openBreaker();
    const reloads = gateway.logs.json.filter((line) => line.event === "config_reload").length;
    gateway.signal("SIGHUP");
    await eventually(() =>
      expect(gateway.logs.json.filter((line) => line.event === "config_reload").length).toBe(reloads + 1),
    );
    await untilClosed();
  });
});

test("requests to upstreams are counted and timed", async () => {
  const before = sumOf(parseMetrics((await get("/metrics")).text), "gateway_upstream_requests_total", { code: "200" });
  for (let i = 0; i < 5; i++) await get("/off/ok");
  const samples = parseMetrics((await get("/metrics")).text);
  expect(sumOf(samples, "gateway_upstream_requests_total", { upstream: origin.url, code: "200" })).toBe(before + 5);
  expect(sumOf(samples, "gateway_upstream_requests_total", { upstream: origin.url, code: "504" })).toBeGreaterThan(0);
  expect(sumOf(samples, "gateway_upstream_request_duration_seconds_count")).toBeGreaterThan(5);
});
