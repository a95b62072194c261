import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const OPEN_MS = 1200;
const BREAKER = { failure_threshold: 3, open_duration: `${OPEN_MS}ms` };
/** Long enough for what is asked while it is open, on a machine that stands still now and then too. */
const LONGER_MS = 3000;
const LONGER = { failure_threshold: 3, open_duration: `${LONGER_MS}ms` };
/** The state of a breaker that lets one request try, in the metrics. */
const HALF_OPEN = 1;
/** Opens once, and stays so. */
const FOR_GOOD = { failure_threshold: 3, open_duration: "1h" };
const [origin, trying, dead] = [ScriptedOrigin.start(), ScriptedOrigin.start(), ScriptedOrigin.start()];
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    { type: "upstream", prefix: "/a", target: origin.url, circuit_breaker: BREAKER, retries: { attempts: 0 } },
    { type: "upstream", prefix: "/b", target: trying.url, circuit_breaker: LONGER, retries: { attempts: 0 } },
    { type: "upstream", prefix: "/dead", target: dead.url, circuit_breaker: FOR_GOOD, retries: { attempts: 0 } },
    { type: "upstream", prefix: "/same", target: dead.url, circuit_breaker: FOR_GOOD, retries: { attempts: 0 } },
    {
      type: "upstream",
      prefix: "/timed",
      target: origin.url,
      circuit_breaker: { failure_threshold: 2, open_duration: "1h" },
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
afterAll(() => stopAll(gateway, origin, trying, dead));

for (const one of [origin, trying, dead]) {
  one.on("/ok", (call) => call.reply("200 OK", [], "fine"));
  for (const status of [
    "502 Bad Gateway",
    "503 Service Unavailable",
    "504 Gateway Timeout",
    "500 Internal Server Error",
  ]) {
    one.on(`/${status.slice(0, 3)}`, (call) => call.reply(status, [], status));
  }
  one.on("/silent", (call) => {
    call.takeOver();
  });
}

const get = (path: string, at: Gateway = gateway): Promise<Reply> => at.once(request(`GET ${path}`));

async function metric(name: string, of = trying): Promise<number> {
  return sumOf(parseMetrics((await get("/metrics")).text), name, { upstream: of.url });
}

/** Opens the breaker of a route, each failure on a connection of its own, so that both workers see some. */
async function openBreaker(prefix: string): Promise<void> {
  for (let i = 0; i < BREAKER.failure_threshold; i++) expect((await get(`${prefix}/502`)).status).toBe(502);
  expect((await get(`${prefix}/ok`)).status).toBe(503);
}

async function untilClosed(prefix: string): Promise<void> {
  await eventually(async () => expect((await get(`${prefix}/ok`)).status).toBe(200));
}

/** What the internal API says of the breaker of each route. */
async function states(): Promise<Map<string, string>> {
  const { routes } = json<{ routes: { prefix: string; targets: { status: string }[] }[] }>(
    await get("/internal/api/routes"),
  );
  return new Map(routes.map((route) => [route.prefix, route.targets[0]!.status]));
}

/** Opens the breaker of /b and waits until it lets one request try. */
async function untilHalfOpen(): Promise<void> {
  await openBreaker("/b");
  await eventually(async () => expect(await metric("gateway_circuit_breaker_state")).toBe(HALF_OPEN));
}

beforeEach(async () => {
  await untilClosed("/a");
  await untilClosed("/b");
});

describe("failures in a row", () => {
  test("open it for all workers and routes with the same settings: 503 with Retry-After, unasked", async () => {
    await openBreaker("/dead");
    const before = dead.requests.length;
    for (let i = 0; i < 8; i++) {
      const reply = await get(i % 2 === 0 ? "/dead/ok" : "/same/ok");
      expect([reply.status, json(reply)]).toEqual([
        503,
        { error: "503 Service Unavailable", message: "no healthy upstream" },
      ]);
      expect(Number(reply.fields.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(dead.requests.length).toBe(before);
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
    const told = (event: string) =>
      gateway.logs.json.filter((line) => line.event === event && line.upstream === trying.url);
    const opened = told("breaker_open").length;
    await openBreaker("/b");
    expect(await metric("gateway_circuit_breaker_state")).toBeGreaterThan(0);
    expect(await metric("gateway_upstream_healthy")).toBe(0);
    const found = await states();
    expect([found.get("/b"), found.get("/off")]).toEqual(["OPEN", "CLOSED"]);
    await untilClosed("/b");
    await eventually(() => expect(told("breaker_open").length).toBe(opened + 1));
    expect(told("breaker_open").at(-1)).toMatchObject({ failures: 3, open_ms: LONGER_MS });
    await eventually(() => expect(told("breaker_closed").length).toBeGreaterThan(0));
    expect(told("breaker_closed").at(-1)).toMatchObject({ open_for_ms: expect.any(Number) });
    expect(await metric("gateway_circuit_breaker_trips_total")).toBe(trips + 1);
  });

  test("lets one request try, and closes on its success", async () => {
    await untilHalfOpen();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    trying.on("/held", async (call) => {
      await held;
      call.reply("200 OK", [], "tried");
    });
    const trial = get("/b/held");
    await trying.until("the trial", () => trying.requestsFor("/held").length || undefined);
    const before = trying.requests.length;
    for (let i = 0; i < 6; i++) expect((await get("/b/ok")).status).toBe(503);
    expect(trying.requests.length).toBe(before);
    release();
    expect((await trial).text).toBe("tried");
    for (let i = 0; i < 6; i++) expect((await get("/b/ok")).status).toBe(200);
  });

  test("opens again when the trial fails", async () => {
    await untilHalfOpen();
    expect((await get("/b/502")).text).toContain("502 Bad Gateway");
    const before = trying.requests.length;
    for (let i = 0; i < 4; i++) expect((await get("/b/ok")).status).toBe(503);
    expect(trying.requests.length).toBe(before);
  });

  test("gives the trial to another request when its client goes away", async () => {
    // The time of another trial comes as well: whoever stood still until then tries again.
    await eventually(async () => {
      await untilHalfOpen();
      const tried = trying.requestsFor("/silent").length;
      const client = await gateway.connect();
      const nextTrialMs = performance.now() + LONGER_MS;
      client.send(request("GET /b/silent"));
      await trying.until("the trial", () => trying.requestsFor("/silent")[tried]);
      const meanwhile = (await get("/b/ok")).status;
      client.reset();
      await untilClosed("/b");
      expect(performance.now()).toBeLessThan(nextTrialMs);
      expect(meanwhile).toBe(503);
    });
  });

  test("stays open over a reload", async () => {
    expect((await get("/dead/ok")).status).toBe(503);
    const reloads = gateway.logs.json.filter((line) => line.event === "config_reload").length;
    gateway.signal("SIGHUP");
    await eventually(() =>
      expect(gateway.logs.json.filter((line) => line.event === "config_reload").length).toBe(reloads + 1),
    );
    const before = dead.requests.length;
    for (let i = 0; i < 4; i++) expect((await get("/dead/ok")).status).toBe(503);
    expect(dead.requests.length).toBe(before);
  });
});

test("requests to upstreams are counted and timed", async () => {
  const before = sumOf(parseMetrics((await get("/metrics")).text), "gateway_upstream_requests_total", { code: "200" });
  for (let i = 0; i < 5; i++) await get("/off/ok");
  const samples = await eventually(async () => {
    const found = parseMetrics((await get("/metrics")).text);
    expect(sumOf(found, "gateway_upstream_requests_total", { code: "200" })).toBe(before + 5);
    return found;
  });
  expect(sumOf(samples, "gateway_upstream_requests_total", { upstream: origin.url, code: "504" })).toBeGreaterThan(0);
  expect(sumOf(samples, "gateway_upstream_request_duration_seconds_count")).toBeGreaterThan(5);
});
