import { describe, expect, test } from "bun:test";
import { ENGINE, VERSION } from "../../../../src/core/version.ts";
import { internalResponses } from "../../../../src/features/admin/internal-responses.ts";
import { COUNTERS } from "../../../../src/memory/counter-rows.ts";
import { createIncidentRing, IncidentReader, IncidentWriter } from "../../../../src/memory/incident-ring.ts";
import { Method } from "../../../../src/message/request-head.ts";
import { routeList } from "../../../../src/routes/route-list.ts";
import { configOf } from "../../loading/any-config.ts";
import { fakeTelemetry } from "../telemetry/telemetry-fake.ts";

const CONFIG = `
server:
  waf: {enabled: true, mode: detection, allowed_ips: [10.0.0.0/8]}
  security_headers: {enabled: true}
`;

function setUp(configText = CONFIG) {
  const telemetry = fakeTelemetry(["/node"], ["http://10.0.0.1:9000"]);
  const ring = createIncidentRing();
  const config = configOf(configText);
  const answers = internalResponses({
    config: () => config,
    state: () => ({
      operations: { log_level: "info", drained: [], maintenance: [] },
      startedAtMs: Date.parse("2026-01-31T12:00:00.000Z"),
      nowMs: Date.parse("2026-01-31T13:02:03.900Z"),
      uptimeMs: 3_723_900,
      draining: false,
      pid: 42,
      listeners: [],
      port: 8080,
      workers: 2,
      generation: 1,
      configSource: null,
      wafRules: 17,
      cpus: 4,
      memory: { rss: 3, heapUsed: 1, heapTotal: 2 },
    }),
    routes: () => routeList(config, () => ({ status: "CLOSED", drained: false })),
    probeTargets: async () => [],
    totals: telemetry.totals,
    incidents: new IncidentReader(ring),
    exposition: async () => ({ contentType: "text/plain; version=0.0.4", text: "metrics\n" }),
  });
  const get = async (what: string, query = "") => {
    const { status, contentType, body } = await answers[what as keyof typeof answers](query, 0);
    return { status, contentType, body: contentType === "application/json" ? JSON.parse(body) : body };
  };
  return { ...telemetry, writer: new IncidentWriter(ring, 0), get };
}

const NO_TRAFFIC = {
  total_requests: 0,
  active_quic_streams: 0,
  active_tcp_connections: 0,
  circuit_breaker_trips: 0,
  waf: { enabled: true, mode: "detection", inspected: 0, blocked: 0, detected: 0, by_category: {} },
  status_breakdown: {},
  method_breakdown: {},
};

describe("/internal/api/metrics", () => {
  test("zeros before the first request", async () => {
    const { get } = setUp();
    expect(await get("metrics")).toEqual({ status: 200, contentType: "application/json", body: NO_TRAFFIC });
  });

  test("adds up", async () => {
    const { counters, get } = setUp();
    const route = counters.routeId("/node");
    const count = (method: Method, status: number) =>
      counters.requestEnded(route, counters.requestSlot(route, method, status), 0, 0);
    count(Method.Get, 200);
    count(Method.Get, 404);
    count(Method.Post, 200);
    counters.add(COUNTERS.acceptedConnections);
    counters.add(COUNTERS.activeConnections);
    counters.add(COUNTERS.activeQuicStreams);
    counters.add(COUNTERS.wafInspected);
    counters.wafBlocked("traversal");
    counters.wafDetected("traversal");
    counters.wafDetected("sqli");
    counters.breakerTripped(counters.upstreamId("http://10.0.0.1:9000"));
    expect((await get("metrics")).body).toEqual({
      total_requests: 3,
      active_quic_streams: 1,
      active_tcp_connections: 1,
      circuit_breaker_trips: 1,
      waf: {
        enabled: true,
        mode: "detection",
        inspected: 1,
        blocked: 1,
        detected: 2,
        by_category: { traversal: 2, sqli: 1 },
      },
      status_breakdown: { "200": 2, "404": 1 },
      method_breakdown: { GET: 2, POST: 1 },
    });
  });
});

describe("/internal/api/status", () => {
  test("has every field with its type", async () => {
    const { get } = setUp();
    expect((await get("status")).body).toEqual({
      status: "ok",
      server: "edge",
      version: VERSION,
      uptime: "1h2m3s",
      uptime_seconds: 3723,
      started_at: "2026-01-31T12:00:00.000Z",
      pid: 42,
      port: 8080,
      listeners: [],
      worker_pool_size: 2,
      generation: 1,
      config_source: null,
      operations: { log_level: "info", drained: [], maintenance: [] },
      runtime: {
        engine: "bun",
        engine_version: ENGINE.slice("bun/".length),
        platform: process.platform,
        arch: process.arch,
        cpus: 4,
        memory: { rss_bytes: 3, heap_used_bytes: 1, heap_total_bytes: 2 },
      },
      telemetry: NO_TRAFFIC,
      waf_enabled: true,
      waf_mode: "detection",
      waf_rules_count: 17,
      waf_allowed_ips: ["10.0.0.0/8"],
      cors_enabled: false,
      security_headers: true,
      mtls_enabled: false,
    });
  });

  test("with everything off, lists are empty and switches false", async () => {
    const { get } = setUp("server: {port: 8080}\n");
    expect((await get("status")).body).toMatchObject({
      waf_enabled: false,
      waf_allowed_ips: [],
      cors_enabled: false,
      mtls_enabled: false,
    });
  });
});

describe("/internal/api/security/incidents", () => {
  const record = (writer: IncidentWriter, count: number) => {
    for (let i = 0; i < count; i++) {
      writer.record({
        timestampMs: Date.parse("2026-01-31T12:00:00.000Z") + i * 1000,
        clientIp: "192.0.2.1",
        method: "GET",
        path: `/../${i}`,
        category: "traversal",
        ruleId: "TRAVERSAL-001",
        anomalyScore: 5,
        action: "blocked",
        payloadSnippet: "/../",
        location: "url",
      });
    }
  };

  test("empty, it is an empty list", async () => {
    const { get } = setUp();
    expect((await get("incidents")).body).toEqual({ total_incidents: 0, incidents: [] });
  });

  test("newest first, a hundred when nothing is said", async () => {
    const { writer, get } = setUp();
    record(writer, 150);
    const { body } = await get("incidents");
    expect(body.total_incidents).toBe(150);
    expect(body.incidents.length).toBe(100);
    expect(body.incidents[0]).toEqual({
      timestamp: "2026-01-31T12:02:29.000Z",
      client_ip: "192.0.2.1",
      method: "GET",
      path: "/../149",
      category: "traversal",
      rule_id: "TRAVERSAL-001",
      anomaly_score: 5,
      action: "blocked",
      payload_snippet: "/../",
    });
  });

  test("limit and since", async () => {
    const { writer, get } = setUp();
    record(writer, 150);
    const paths = async (query: string) =>
      (await get("incidents", query)).body.incidents.map((one: { path: string }) => one.path);
    expect(await paths("limit=2")).toEqual(["/../149", "/../148"]);
    expect((await paths("limit=1000")).length).toBe(150);
    expect(await paths("since=2026-01-31T12:02:28Z")).toEqual(["/../149", "/../148"]);
    expect(await paths(`since=${Date.parse("2026-01-31T12:02:29Z")}`)).toEqual(["/../149"]);
    expect(await paths("since=2026-01-31T12%3A02%3A29%2B00%3A00&limit=1")).toEqual(["/../149"]);
  });

  test.each(["limit=0", "limit=1001", "limit=x", "limit=-1", "since=yesterday", "limit=1e2"])(
    "%s is a 400",
    async (query) => {
      const { get } = setUp();
      const { status, body } = await get("incidents", query);
      expect(status).toBe(400);
      expect(body.error).toBe("400 Bad Request");
    },
  );
});

test("/metrics is the exposition as it is", async () => {
  const { get } = setUp();
  expect(await get("exposition")).toEqual({
    status: 200,
    contentType: "text/plain; version=0.0.4",
    body: "metrics\n",
  });
});
