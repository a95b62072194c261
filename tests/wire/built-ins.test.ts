import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { runEdge, startGateway } from "../harness/gateway.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const gateway = await startGateway();
afterAll(() => stopAll(gateway));

async function metrics() {
  return gateway.samples();
}

describe("GET", () => {
  test("/health says ok", async () => {
    const reply = await gateway.once(request("GET /health"));
    expect([reply.status, reply.text]).toEqual([200, '{"status":"ok"}']);
    expect(reply.fields.get("content-type")).toBe("application/json");
    expect(reply.fields.get("cache-control")).toBe("no-store");
    expect(reply.fields.get("server")).toBe("edge");
    expect(Date.parse(reply.fields.get("date") ?? "")).toBeGreaterThan(0);
  });

  test("/api/status is four strings", async () => {
    const reply = await gateway.once(request("GET /api/status"));
    const status = json<Record<string, string>>(reply);
    expect(Object.keys(status).sort()).toEqual(["engine", "server", "uptime", "version"]);
    expect(status).toMatchObject({ server: "edge", engine: expect.stringMatching(/^bun\/\d/) });
    expect(status.uptime).toMatch(/^(\d+h)?(\d+m)?\d+s$/);
    expect(reply.fields.get("content-type")).toBe("application/json");
  });

  test("/internal/api/status never has more of the heap in use than there is", async () => {
    const { runtime } = json<{ runtime: { memory: Record<string, number> } }>(
      await gateway.once(request("GET /internal/api/status")),
    );
    const { rss_bytes: rss, heap_used_bytes: used, heap_total_bytes: total } = runtime.memory;
    expect([used! > 0, used! <= total!, total! <= rss!]).toEqual([true, true, true]);
  });

  test("/api/status and `edge version` name the same version", async () => {
    const { version } = json<Record<string, string>>(await gateway.once(request("GET /api/status")));
    expect(version).toMatch(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/);
    const run = await runEdge(["version"]);
    expect([run.code, run.stdout]).toEqual([0, expect.stringContaining(version!)]);
    expect(sumOf(await metrics(), "gateway_build_info", { version: version! })).toBe(1);
  });

  test("/metrics is a text exposition with counters and histograms", async () => {
    const reply = await gateway.once(request("GET /metrics"));
    expect(reply.fields.get("content-type")).toBe("text/plain; version=0.0.4");
    const names = new Set(parseMetrics(reply.text).map((sample) => sample.name));
    expect(names).toContain("gateway_requests_total");
    expect(names).toContain("gateway_request_duration_seconds_bucket");
    expect(names).toContain("gateway_active_tcp_connections");
    expect(names).toContain("process_resident_memory_bytes");
  });
});

describe("counters", () => {
  const count = async (labels: Record<string, string>) => sumOf(await metrics(), "gateway_requests_total", labels);

  test("count each request under its method, status and path", async () => {
    const labels = { method: "GET", code: "200", path: "/health" };
    const before = await count(labels);
    const client = await gateway.connect();
    for (let i = 0; i < 3; i++) await client.exchange(request("GET /health"));
    client.close();
    await eventually(async () => expect(await count(labels)).toBe(before + 3));
  });

  test("count unknown paths and methods under one name, never the raw one", async () => {
    const before = await count({ path: "unmatched", code: "404" });
    await gateway.once(request("GET /never/heard/of"));
    await gateway.once(request("FROBNICATE /health"), "FROBNICATE");
    await eventually(async () => expect(await count({ path: "unmatched", code: "404" })).toBe(before + 1));
    await eventually(async () => expect(await count({ method: "OTHER", code: "405" })).toBe(1));
    expect((await gateway.once(request("GET /metrics"))).text).not.toMatch(/never|FROBNICATE/);
  });

  test("count refused framing by its reason", async () => {
    const of = async () => sumOf(await metrics(), "gateway_framing_rejections_total");
    const before = await of();
    await gateway.once(request("GET /health", ["X : 1"]));
    await eventually(async () => expect(await of()).toBe(before + 1));
  });
});

describe("methods", () => {
  test.each(["/health", "/api/status", "/metrics"])("HEAD %s is GET without the body", async (path) => {
    const client = await gateway.connect();
    const head = await client.exchange(request(`HEAD ${path}`));
    expect([head.status, Number(head.fields.get("content-length")) > 0]).toEqual([200, true]);
    const get = await client.exchange(request(`GET ${path}`));
    expect(head.fields.get("content-type")).toBe(get.fields.get("content-type"));
    expect(get.body.byteLength).toBeGreaterThan(0);
    client.close();
  });

  test.each(["POST", "PUT", "DELETE", "TRACE", "FROB"])(
    "%s is 405 with Allow, on a connection that goes on",
    async (method) => {
      const client = await gateway.connect();
      const reply = await client.exchange(request(`${method} /health`));
      expect(reply.status).toBe(405);
      expect(reply.fields.get("allow")?.split(", ").sort()).toEqual(["GET", "HEAD"]);
      expect(json(reply)).toEqual({ error: "405 Method Not Allowed", message: expect.any(String) });
      expect((await client.exchange(request("GET /health"))).status).toBe(200);
      client.close();
    },
  );

  test("CONNECT is 405", async () => {
    const reply = await gateway.once("CONNECT gw.test:443 HTTP/1.1\r\nHost: gw.test:443\r\n\r\n");
    expect(reply.status).toBe(405);
  });
});

describe("a path without a route", () => {
  test("is 404 and says which, on a connection that goes on", async () => {
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /nowhere"));
    expect([reply.status, reply.fields.get("content-type")]).toEqual([404, "application/json"]);
    expect(json(reply)).toEqual({ error: "404 Not Found", message: "no route matches /nowhere" });
    expect((await client.exchange(request("GET /health"))).status).toBe(200);
    client.close();
  });

  test.each(['/a"b', "/a\\b", "/%22%00%0a", "/</script>"])("gives well-formed JSON for %s", async (path) => {
    const reply = await gateway.once(request(`GET ${path}`));
    expect([400, 404]).toContain(reply.status);
    expect(json(reply)).toEqual({ error: expect.any(String), message: expect.any(String) });
  });

  test("is not the prefix of a built-in", async () => {
    for (const path of ["/healthz", "/health/x", "/HEALTH", "/api", "/metrics/"]) {
      expect((await gateway.once(request(`GET ${path}`))).status).toBe(404);
    }
  });
});
