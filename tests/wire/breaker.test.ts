import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { namedOrigins } from "./named-origins.ts";

const failure_statuses = [502, 503, 504];
const BREAKER = { failure_threshold: 3, open_duration: "1h", failure_statuses };
const SLOW = { failure_threshold: 3, failure_statuses, open_duration: "20h", slow_start: "1h" };
/** The states of a breaker in the metrics. */
const [CLOSED, OPEN] = [0, 2];
const [origin, dead, away] = [ScriptedOrigin.start(), ScriptedOrigin.start(), ScriptedOrigin.start()];
const [spare] = namedOrigins("spare") as [ScriptedOrigin];
/** What the health check of /checked gets. */
let health = "200 OK";
const route = (prefix: string, targets: readonly string[], more: Record<string, unknown> = {}) => ({
  type: "upstream",
  prefix,
  targets: targets.map((url, i) => ({ url, backup: i > 0 })),
  circuit_breaker: BREAKER,
  retries: { attempts: 0 },
  ...more,
});
const gateway = await startGateway({
  config: { server: { workers: 2 } },
  routes: [
    route("/a", [origin.url, spare.url]),
    route("/checked", [dead.url, spare.url], { health_check: { path: "/health", interval: "1h" } }),
    route("/sole", [dead.url]),
    route("/same", [dead.url]),
    route("/plain", [dead.url], { circuit_breaker: { failure_threshold: 3 } }),
    route("/away", [away.url], {
      circuit_breaker: { failure_threshold: 3, open_duration: "2h" },
      retries: { attempts: 3 },
    }),
    route("/timed", [origin.url, spare.url], {
      circuit_breaker: { failure_threshold: 2, open_duration: "2h" },
      timeouts: { response_header: "100ms" },
    }),
    route("/total", [origin.url, spare.url], {
      timeouts: { total: "100ms" },
      circuit_breaker: { failure_threshold: 2, open_duration: "3h" },
    }),
    route("/upload", [origin.url, spare.url], {
      timeouts: { total: "100ms" },
      circuit_breaker: { failure_threshold: 2, open_duration: "6h" },
    }),
    route("/malformed", [origin.url, spare.url], { circuit_breaker: { failure_threshold: 2, open_duration: "4h" } }),
    route("/reset", [origin.url, spare.url], { circuit_breaker: { failure_threshold: 2, open_duration: "5h" } }),
    route("/rated", [origin.url, spare.url], {
      circuit_breaker: {
        failure_threshold: 3,
        failure_statuses,
        open_duration: "8h",
        success_rate: 80,
        success_rate_requests: 20,
      },
    }),
    route("/off", [origin.url], { circuit_breaker: { enabled: false } }),
    { ...route("/slow", [dead.url], {}), targets: [{ url: dead.url }, { url: spare.url }], circuit_breaker: SLOW },
    {
      type: "upstream",
      prefix: "/drained",
      targets: [
        { url: origin.url, weight: 0 },
        { url: spare.url, weight: 0 },
      ],
    },
  ],
});
afterAll(() => stopAll(gateway, origin, dead, away, spare));

for (const one of [origin, dead, away]) {
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
  one.on("/garbage", (call) => call.sendAndFinish("HTTP/1.1 two hundred\r\n\r\n"));
  one.on("/reset", (call) => call.takeOver().reset());
  one.on("/health", (call) => call.reply(health));
}

const get = (path: string, at: Gateway = gateway): Promise<Reply> => at.once(request(`GET ${path}`));

async function metric(name: string, of: ScriptedOrigin): Promise<number> {
  return sumOf(parseMetrics((await get("/metrics")).text), name, { upstream: of.url });
}

/** Opens the breaker of a route, each failure on a connection of its own, so that both workers see some. */
async function openBreaker(prefix: string): Promise<void> {
  for (let i = 0; i < BREAKER.failure_threshold; i++) expect((await get(`${prefix}/502`)).status).toBe(502);
}

const untilClosed = (prefix: string): Promise<void> =>
  eventually(async () => expect((await get(`${prefix}/ok`)).text).toBe("fine"));

/** What the internal API says of the breaker of each route's first target. */
async function states(): Promise<Map<string, string>> {
  const { routes } = json<{ routes: { prefix: string; targets: { status: string }[] }[] }>(
    await get("/internal/api/routes"),
  );
  return new Map(routes.map((one) => [one.prefix, one.targets[0]!.status]));
}

const told = (event: string, of: ScriptedOrigin) =>
  gateway.logs.json.filter((line) => line.event === event && line.upstream === of.url);

beforeEach(async () => {
  health = "200 OK";
  await untilClosed("/a");
  await untilClosed("/checked");
  await untilClosed("/sole");
});

describe("failures in a row open it", () => {
  test.each(["502", "503", "504"])("answers with %s, where failure_statuses names them", async (status) => {
    for (let i = 0; i < 3; i++) expect((await get(`/a/${status}`)).status).toBe(Number(status));
    expect((await states()).get("/a")).toBe("OPEN");
  });

  test("but answers are no failures of themselves, and a success between them begins anew", async () => {
    for (let i = 0; i < 4; i++) {
      for (const status of ["502", "503", "504"]) {
        expect((await get(`/plain/${status}`)).status).toBe(Number(status));
      }
      expect((await get("/a/500")).status).toBe(500);
    }
    for (let i = 0; i < 4; i++) {
      for (let j = 0; j < 2; j++) expect((await get("/a/502")).status).toBe(502);
      expect((await get("/a/ok")).status).toBe(200);
    }
    const found = await states();
    expect([found.get("/plain"), found.get("/a")]).toEqual(["CLOSED", "CLOSED"]);
  });

  test("and so do too many in a number of requests, though others between them succeed", async () => {
    for (let i = 0; i < 4; i++) for (const status of ["502", "ok"]) await get(`/rated/${status}`);
    expect((await states()).get("/rated")).toBe("CLOSED");
    await get("/rated/503");
    expect((await states()).get("/rated")).toBe("OPEN");
    const line = await gateway.log("the breaker", (one) => one.event === "breaker_open" && one.recent_requests === 9);
    expect(line).toMatchObject({ recent_failures: 5 });
    expect((await get("/rated/ok")).text).not.toBe("fine");
  });

  test.each([
    ["answers that do not come in time", "/timed", "/silent", 504],
    ["answers that do not come within the total time", "/total", "/silent", 504],
    ["malformed answers", "/malformed", "/garbage", 502],
    ["resets before an answer", "/reset", "/reset", 502],
  ])("%s", async (_name, prefix, path, status) => {
    // A reset on a kept connection says nothing of the origin.
    await eventually(async () => {
      expect((await get(prefix + path)).status).toBe(status);
      expect((await states()).get(prefix)).toBe("OPEN");
    });
    for (let i = 0; i < 4; i++) expect((await get(`${prefix}/ok`)).status).toBe(200);
  });

  test("but not clients that send slowly: the origin waits for them", async () => {
    for (let i = 0; i < 4; i++) {
      const client = await gateway.connect();
      client.send("POST /upload/silent HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nx");
      expect((await client.reply("POST")).status).toBe(504);
      client.close();
    }
    expect((await states()).get("/upload")).toBe("CLOSED");
  });

  test("for all workers and routes with the same settings", async () => {
    await openBreaker("/sole");
    const found = await states();
    expect([found.get("/sole"), found.get("/same"), found.get("/plain")]).toEqual(["OPEN", "OPEN", "CLOSED"]);
  });
});

describe("an origin that is away", () => {
  test("answers 502 each time where it is the only one, is logged as open once, and back with its first answer", async () => {
    await untilClosed("/away");
    const before = [told("breaker_open", away).length, told("breaker_closed", away).length] as const;
    const { port, url } = away;
    away.stop();
    // Each is tried four times.
    for (let i = 0; i < 2; i++) expect((await get("/away/ok")).status).toBe(502);
    expect((await states()).get("/away")).toBe("CLOSED");
    for (let i = 0; i < 6; i++) {
      const reply = await get("/away/ok");
      expect([reply.status, json<{ message: string }>(reply).message]).toEqual([502, "upstream unavailable"]);
    }
    expect((await states()).get("/away")).toBe("OPEN");
    away.listen(port);
    expect((await get("/away/ok")).text).toBe("fine");
    const closed = await eventually(() => {
      const lines = gateway.logs.json.filter((line) => line.event === "breaker_closed" && line.upstream === url);
      expect(lines.length).toBe(before[1] + 1);
      return lines.at(-1)!;
    });
    expect(closed).toMatchObject({ open_for_ms: expect.any(Number) });
    const opened = told("breaker_open", away);
    expect([opened.length - before[0], opened.at(-1)!.failures]).toEqual([1, 3]);
    expect((await states()).get("/away")).toBe("CLOSED");
  });

  test("is tried every time although its breaker is open", async () => {
    await openBreaker("/sole");
    const before = dead.requestsFor("/503").length;
    for (let i = 0; i < 8; i++) expect((await get(i % 2 === 0 ? "/sole/503" : "/same/503")).status).toBe(503);
    expect(dead.requestsFor("/503").length).toBe(before + 8);
  });
});

test("a route whose targets are all drained is 503 with Retry-After", async () => {
  const reply = await get("/drained/ok");
  expect([reply.status, json(reply)]).toEqual([
    503,
    { error: "503 Service Unavailable", message: "no healthy upstream" },
  ]);
  expect(Number(reply.fields.get("retry-after"))).toBeGreaterThan(0);
});

describe("an open breaker with another target beside it", () => {
  beforeEach(async () => {
    health = "500 Internal Server Error";
    await openBreaker("/checked");
  });

  test("keeps requests away, and is told of in log, metrics and internal API", async () => {
    const trips = await metric("gateway_circuit_breaker_trips_total", dead);
    const opened = told("breaker_open", dead).length;
    const before = dead.requestsFor("/ok").length;
    for (let i = 0; i < 8; i++) expect((await get("/checked/ok")).text).toBe("spare");
    expect(dead.requestsFor("/ok").length).toBe(before);
    expect(await metric("gateway_circuit_breaker_state", dead)).toBe(OPEN);
    expect(await metric("gateway_upstream_healthy", dead)).toBe(0);
    expect((await states()).get("/checked")).toBe("OPEN");
    expect(told("breaker_open", dead).at(-1)).toMatchObject({ failures: 3, open_ms: 3_600_000 });
    health = "200 OK";
    await untilClosed("/checked");
    await eventually(() => expect(told("breaker_closed", dead).length).toBe(told("breaker_open", dead).length));
    expect(await metric("gateway_circuit_breaker_trips_total", dead)).toBe(trips);
    expect(told("breaker_open", dead).length).toBe(opened);
    expect(await metric("gateway_circuit_breaker_state", dead)).toBe(CLOSED);
  });

  test("asks the health check every second, and not the next request but its answer opens the way", async () => {
    const before = dead.requestsFor("/health").length;
    await eventually(() => expect(dead.requestsFor("/health").length).toBeGreaterThan(before + 1));
    expect((await get("/checked/ok")).text).toBe("spare");
    health = "200 OK";
    const startedMs = performance.now();
    await untilClosed("/checked");
    // open_duration is an hour.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  test("lets one request try, and closes on its success", async () => {
    health = "200 OK";
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    dead.on("/held", async (call) => {
      await held;
      call.reply("200 OK", [], "tried");
    });
    await eventually(async () => expect(await metric("gateway_circuit_breaker_state", dead)).toBe(1));
    const trial = get("/checked/held");
    await dead.until("the trial", () => dead.requestsFor("/held").length || undefined);
    const before = dead.requestsFor("/ok").length;
    for (let i = 0; i < 6; i++) expect((await get("/checked/ok")).text).toBe("spare");
    expect(dead.requestsFor("/ok").length).toBe(before);
    release();
    expect((await trial).text).toBe("tried");
    for (let i = 0; i < 6; i++) expect((await get("/checked/ok")).text).toBe("fine");
  });

  test("opens again when the trial fails", async () => {
    health = "200 OK";
    await eventually(async () => expect(await metric("gateway_circuit_breaker_state", dead)).toBe(1));
    health = "500 Internal Server Error";
    expect((await get("/checked/502")).text).toContain("502 Bad Gateway");
    for (let i = 0; i < 4; i++) expect((await get("/checked/ok")).text).toBe("spare");
  });

  test("gives the trial to another request when its client goes away", async () => {
    health = "200 OK";
    await eventually(async () => expect(await metric("gateway_circuit_breaker_state", dead)).toBe(1));
    const tried = dead.requestsFor("/silent").length;
    const client = await gateway.connect();
    client.send(request("GET /checked/silent"));
    await dead.until("the trial", () => dead.requestsFor("/silent")[tried]);
    expect((await get("/checked/ok")).text).toBe("spare");
    client.reset();
    await untilClosed("/checked");
  });

  test("stays open over a reload", async () => {
    const reloads = gateway.logs.json.filter((line) => line.event === "config_reload").length;
    gateway.signal("SIGHUP");
    await eventually(() =>
      expect(gateway.logs.json.filter((line) => line.event === "config_reload").length).toBe(reloads + 1),
    );
    for (let i = 0; i < 4; i++) expect((await get("/checked/ok")).text).toBe("spare");
  });
});

test("slow_start: a target that is back gets next to nothing at first", async () => {
  for (let i = 0; i < 3; i++) expect((await get("/slow/502")).status).toBeOneOf([200, 502]);
  while ((await states()).get("/slow") !== "OPEN") await get("/slow/502");
  await eventually(async () => {
    await get("/slow/ok");
    expect((await states()).get("/slow")).toBe("CLOSED");
  });
  const answers = [];
  for (let i = 0; i < 40; i++) answers.push((await get("/slow/ok")).text);
  expect(answers.filter((text) => text === "fine").length).toBeLessThan(8);
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
