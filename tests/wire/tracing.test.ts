import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE, shopRoute } from "../harness/grpc-shop.ts";
import { OtlpCollector } from "../harness/otlp-collector.ts";
import { freePort } from "../harness/ports.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const TOLD = `traceparent: 00-${TRACE}-${CALLER}-01`;
const UNSAMPLED = `traceparent: 00-${TRACE}-${CALLER}-00`;
const PARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-(0[0-3])$/;

const origin = EchoOrigin.start();
const shop = await GrpcShop.start();
const collector = new OtlpCollector();
const deadPort = await freePort();
const routes = [
  upstream("/node", origin),
  upstream("/dead", { url: `http://127.0.0.1:${deadPort}` }),
  { type: "respond", path: "/own", body: "own" },
];
const server = { trusted_proxies: ["127.0.0.1/32"] };
const otlp = { endpoint: collector.url, traces: { sample: 1 }, metrics_interval: "1s", logs: true };
const transcoder = {
  enabled: true,
  routes: [{ ...shopRoute("GET", "/items/:id", "GetItem", shop.url), descriptor_set: SHOP_FILE }],
};
const all = await startGateway({
  config: {
    server: { ...server, waf: { enabled: true } },
    transcoder,
    telemetry: { otlp: { ...otlp, headers: { "X-Team": "blue" } }, service_name: "shop-edge", resource: { zone: "b" } },
  },
  routes,
});
const strangers = await startGateway({ config: { telemetry: { otlp: { ...otlp, traces: { sample: 0 } } } }, routes });
const told = await startGateway({ config: { server, telemetry: {} }, routes });
const recorded = await startGateway({ config: { server, telemetry: { otlp, propagate: false } }, routes });
const off = await startGateway({ config: { server }, routes });
afterAll(async () => {
  await stopAll(all, strangers, told, recorded, off, origin, shop);
  collector.stop();
});

async function fieldsAtOrigin(gateway: Gateway, lines: readonly string[] = []): Promise<Record<string, unknown>> {
  return json<{ headers: Record<string, unknown> }>(await gateway.once(request("GET /node/echo", lines))).headers;
}

describe("what origins are told", () => {
  test("the trace of a trusted caller goes on, with its state", async () => {
    const seen = await fieldsAtOrigin(all, [TOLD, "tracestate: a=1,b=2"]);
    const [, trace, span, flags] = PARENT.exec(String(seen.traceparent))!;
    expect([trace, flags, seen.tracestate]).toEqual([TRACE, "01", "a=1,b=2"]);
    expect(span).not.toBe(CALLER);
  });

  test("a caller's decision not to record is respected, and passed on", async () => {
    const seen = await fieldsAtOrigin(all, [UNSAMPLED]);
    expect(
      PARENT.exec(String(seen.traceparent))!
        .slice(1)
        .filter((_, i) => i !== 1),
    ).toEqual([TRACE, "00"]);
  });

  test.each([
    ["none", []],
    ["one that is not valid", [`traceparent: 00-${TRACE}-${CALLER}-0`, "tracestate: a=1"]],
    ["two", [TOLD, TOLD, "tracestate: a=1"]],
    ["one of zeros", [`traceparent: 00-${"0".repeat(32)}-${CALLER}-01`, "tracestate: a=1"]],
  ])("a new trace begins where there is %s", async (_, lines) => {
    const seen = await fieldsAtOrigin(all, lines);
    const [, trace, , flags] = PARENT.exec(String(seen.traceparent))!;
    expect(trace).not.toBe(TRACE);
    expect([flags, seen.tracestate]).toEqual(["03", undefined]);
  });

  test("a state that is not valid does not go on, the trace does", async () => {
    const seen = await fieldsAtOrigin(all, [TOLD, "tracestate: a=1,A=2"]);
    expect([PARENT.exec(String(seen.traceparent))![1], seen.tracestate]).toEqual([TRACE, undefined]);
  });

  test("clients that are not trusted cannot name a trace", async () => {
    const seen = await fieldsAtOrigin(strangers, [TOLD, "TraceState: a=1", "TRACEPARENT: x"]);
    const [, trace, , flags] = PARENT.exec(String(seen.traceparent))!;
    expect(trace).not.toBe(TRACE);
    expect([flags, seen.tracestate]).toEqual(["02", undefined]);
  });

  test("without a collector too", async () => {
    const seen = await fieldsAtOrigin(told, [TOLD]);
    expect(PARENT.exec(String(seen.traceparent))![1]).toBe(TRACE);
  });

  test.each([
    ["propagate: false", recorded],
    ["no telemetry", off],
  ])("with %s the fields go on as they came", async (_, gateway) => {
    const seen = await fieldsAtOrigin(gateway, [TOLD, "tracestate: a=1"]);
    expect([seen.traceparent, seen.tracestate]).toEqual([TOLD.slice(13), "a=1"]);
  });

  test("gRPC services too", async () => {
    await all.once(request("GET /items/7", [TOLD]));
    expect(PARENT.exec(shop.calls.at(-1)!.metadata.traceparent!)![1]).toBe(TRACE);
  });
});

describe("spans", () => {
  test("one of the request and one of the request to the origin, which the origin's caller is", async () => {
    const traceId = "11111111111111111111111111111111";
    const lines = [`traceparent: 00-${traceId}-${CALLER}-01`, "User-Agent: probe/1", "Host: shop.test:81"];
    const reply = await all.once(request("POST /node/echo?secret=1", lines, "hello"));
    const atOrigin = json<{ headers: Record<string, string> }>(reply).headers;
    const spans = await collector.spansOf((span) => span.traceId === traceId, 2);
    const [server, client] = [spans.find(({ kind }) => kind === 2)!, spans.find(({ kind }) => kind === 3)!];
    expect(server).toMatchObject({ name: "POST /node", parentId: CALLER, status: 0 });
    expect(server.attributes).toMatchObject({
      "http.request.method": "POST",
      "http.route": "/node",
      "http.response.status_code": 200,
      "url.scheme": "http",
      "url.path": "/node/echo",
      "server.address": "shop.test",
      "server.port": 81,
      "client.address": "127.0.0.1",
      "network.protocol.version": "1.1",
      "user_agent.original": "probe/1",
      "http.request.body.size": 5,
      "edge.request_id": reply.fields.get("x-request-id"),
    });
    expect(JSON.stringify(server.attributes)).not.toContain("secret");
    expect(server.resource).toMatchObject({ "service.name": "shop-edge", zone: "b" });
    expect(client).toMatchObject({ name: "POST", parentId: server.spanId, status: 0 });
    expect(client.attributes).toMatchObject({ "server.address": "127.0.0.1", "http.response.status_code": 200 });
    expect(atOrigin.traceparent).toBe(`00-${traceId}-${client.spanId}-01`);
    expect(server.startNs <= client.startNs && client.endNs <= server.endNs).toBe(true);
    expect(Math.abs(Number(server.endNs / 1_000_000n) - Date.now())).toBeLessThan(60_000);
  });

  test("of a response of the gateway's own there is no second one", async () => {
    const traceId = "22222222222222222222222222222222";
    await all.once(request("GET /own", [`traceparent: 00-${traceId}-${CALLER}-01`]));
    const spans = await collector.spansOf((span) => span.traceId === traceId, 1);
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([["GET /own", 2]]);
  });

  test("what was refused and what failed says why", async () => {
    const [blocked, dead] = ["3".repeat(32), "4".repeat(32)];
    await all.once(
      request("GET /own?q=%3Cscript%3Ealert(1)%3C/script%3E", [`traceparent: 00-${blocked}-${CALLER}-01`]),
    );
    await all.once(request("GET /dead", [`traceparent: 00-${dead}-${CALLER}-01`]));
    const [refused] = await collector.spansOf((span) => span.traceId === blocked, 1);
    expect(refused!.attributes).toMatchObject({ "error.type": "waf_blocked", "http.response.status_code": 403 });
    const failed = await collector.spansOf((span) => span.traceId === dead, 2);
    expect(failed.map(({ kind, status }) => [kind, status]).sort()).toEqual([
      [2, 2],
      [3, 2],
    ]);
    for (const { attributes } of failed) expect(attributes["error.type"]).toBe("upstream_unavailable");
  });

  test("a made-up method names no span", async () => {
    const traceId = "5".repeat(32);
    await all.once(request("BREW /node/echo", [`traceparent: 00-${traceId}-${CALLER}-01`]));
    const spans = await collector.spansOf((span) => span.traceId === traceId, 2);
    for (const { name, attributes } of spans) {
      expect(name).toStartWith("HTTP");
      expect(attributes["http.request.method_original"]).toBe("BREW");
    }
  });

  test("are not recorded where the caller has decided so, nor beyond the sample", async () => {
    const marked = collector.spans.length;
    await all.once(request("GET /own", [UNSAMPLED]));
    for (let i = 0; i < 20; i++) await strangers.once(request("GET /own", []));
    await all.once(request("GET /own", [`traceparent: 00-${"6".repeat(32)}-${CALLER}-01`]));
    await collector.spansOf((span) => span.traceId === "6".repeat(32), 1);
    expect(collector.spans.slice(marked).map(({ traceId }) => traceId)).toEqual(["6".repeat(32)]);
  });

  test("the access log names the trace", async () => {
    await all.once(request("GET /own", [`traceparent: 00-${"7".repeat(32)}-${CALLER}-01`]));
    expect(await all.log("the trace", ({ trace_id }) => trace_id === "7".repeat(32))).toMatchObject({ status: 200 });
    const line = await off
      .once(request("GET /own"))
      .then(() => off.log("an access", ({ event }) => event === "access"));
    expect(line).not.toHaveProperty("trace_id");
  });
});

describe("metrics and lines", () => {
  test("are those of /metrics and of the log", async () => {
    await all.once(request("GET /own", [`traceparent: 00-${"8".repeat(32)}-${CALLER}-01`]));
    const labels = { path: "/own", code: "200", method: "GET" };
    await eventually(async () => {
      const shown = await all.metric("gateway_requests_total", labels);
      const sent = collector.points.filter(
        ({ metric, attributes }) =>
          metric === "gateway_requests_total" && attributes.path === "/own" && attributes.code === "200",
      );
      expect(sent.at(-1)).toMatchObject({ kind: "sum", value: shown });
    });
    const took = collector.points.find(({ metric }) => metric === "gateway_request_duration_seconds")!;
    expect([took.kind, took.unit]).toEqual(["histogram", "s"]);
    expect(took.buckets.reduce((sum, n) => sum + n, 0)).toBe(took.value);
    await eventually(() => {
      const line = collector.lines.find(({ traceId }) => traceId === "8".repeat(32))!;
      expect([line?.event, line?.severity, line?.attributes.path]).toEqual(["access", "INFO", "/own"]);
    });
  });

  test("fields of the configuration reach the collector", () => {
    expect(collector.requests.some(({ headers }) => headers.get("x-team") === "blue")).toBe(true);
  });

  test("exemplars name traces to those who read OpenMetrics", async () => {
    await all.once(request("GET /own", [`traceparent: 00-${"9".repeat(32)}-${CALLER}-01`]));
    await collector.spansOf((span) => span.traceId === "9".repeat(32), 1);
    const { text, fields } = await all.once(
      request("GET /metrics", ["Accept: application/openmetrics-text;version=1.0.0"]),
    );
    expect(fields.get("content-type")).toStartWith("application/openmetrics-text; version=1.0.0");
    expect(text).toMatch(
      /gateway_request_duration_seconds_bucket\{le="[^"]+"\} \d+ # \{trace_id="[0-9a-f]{32}"\} [\d.e-]+ \d/,
    );
    expect(text).toMatch(/# TYPE gateway_requests counter\ngateway_requests_total\{/);
    expect(text).toEndWith("# EOF\n");
    const plain = await all.once(request("GET /metrics"));
    expect([plain.fields.get("content-type"), plain.text.includes("trace_id=")]).toEqual([
      "text/plain; version=0.0.4",
      false,
    ]);
  });
});

describe("a collector that is away", () => {
  test("costs spans, which are counted, and no request; it is told once, and what comes later is sent", async () => {
    const port = await freePort();
    const gateway = await startGateway({
      config: {
        telemetry: { otlp: { endpoint: `http://127.0.0.1:${port}`, traces: { sample: 1 }, timeout: "300ms" } },
      },
      routes,
    });
    for (let i = 0; i < 30; i++) expect((await gateway.once(request("GET /own"))).status).toBe(200);
    const line = await gateway.log(
      "telemetry_failed",
      ({ event, signal }) => event === "telemetry_failed" && signal === "traces",
    );
    expect(String(line.error)).not.toBe("");
    const dropped = () => gateway.metric("gateway_telemetry_items_total", { signal: "traces", result: "dropped" });
    await eventually(async () => expect(await dropped()).toBeGreaterThanOrEqual(30));
    const late = new OtlpCollector(port);
    await eventually(async () => {
      await gateway.once(request("GET /own"));
      expect(late.spans.length).toBeGreaterThan(0);
    });
    await gateway.stop();
    late.stop();
  });

  test("one that takes nothing and one that is silent likewise", async () => {
    const moody = new OtlpCollector();
    const gateway = await startGateway({
      config: { telemetry: { otlp: { endpoint: moody.url, traces: { sample: 1 }, timeout: "300ms" } } },
      routes,
    });
    const dropped = () => gateway.metric("gateway_telemetry_items_total", { signal: "traces", result: "dropped" });
    for (const mood of ["refuses", "silent"] as const) {
      const before = await dropped();
      moody.mood = mood;
      for (let i = 0; i < 10; i++) expect((await gateway.once(request("GET /own"))).status).toBe(200);
      await eventually(async () => expect(await dropped()).toBeGreaterThanOrEqual(before + 10));
    }
    await gateway.stop();
    moody.stop();
  });
});

describe("reloads and the end", () => {
  test("a reload switches it on, and what is left is sent at the end", async () => {
    const own = new OtlpCollector();
    const gateway = await startGateway({ routes });
    expect(await fieldsAtOrigin(gateway)).not.toHaveProperty("traceparent");
    const file = join(gateway.folder, "config.yaml");
    const more = { telemetry: { otlp: { endpoint: own.url, traces: { sample: 1 } } } };
    const { ...before } = parse(readFileSync(file, "utf8")) as object;
    writeFileSync(file, `${stringify({ ...before, ...more })}...\n`);
    expect((await gateway.reload()).ok).toBe(true);
    expect(await fieldsAtOrigin(gateway)).toHaveProperty("traceparent");
    await gateway.stop();
    expect(own.spans.map(({ kind }) => kind).sort()).toEqual([2, 3]);
    own.stop();
  });
});
