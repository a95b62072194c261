import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { VERSION } from "../../../../src/core/version.ts";
import { processFactMetrics } from "../../../../src/facts/process-metrics.ts";
import { gatewayMetrics } from "../../../../src/facts/worker-metrics.ts";
import { EXPOSITION_TYPE, Exposition } from "../../../../src/features/telemetry/exposition.ts";
import { COUNTERS } from "../../../../src/memory/counter-rows.ts";
import { lintExposition } from "./exposition-lint.ts";
import { fakeTelemetry } from "./telemetry-fake.ts";

const GET = 1;
const UPSTREAM = "http://10.0.0.1:9000";

function setUp() {
  const telemetry = fakeTelemetry(["/health", 'odd"label\\\n'], [UPSTREAM]);
  const facts = {
    version: VERSION,
    lastReloadSuccessful: () => false,
    lastReloadSeconds: () => 1_700_000_000,
    droppedLogLines: () => 7,
  };
  const exposition = new Exposition([...gatewayMetrics(telemetry.totals), ...processFactMetrics(facts)]);
  const scrape = async () => {
    const linted = lintExposition(await exposition.text());
    const value = (name: string, labels: Record<string, string> = {}) =>
      linted.samples.find((one) => one.name === name && Bun.deepEquals(one.labels, labels))?.value;
    return { ...linted, value };
  };
  return { ...telemetry, scrape };
}

describe("exposition", () => {
  test("is clean before the first request", async () => {
    const { scrape } = setUp();
    expect((await scrape()).problems).toEqual([]);
  });

  test("the memory of the heaps is resident, not only reserved", async () => {
    const { scrape } = setUp();
    const { value } = await scrape();
    const [heap, resident] = ["process_heap_bytes", "process_resident_memory_bytes"].map((name) => value(name));
    if (process.platform !== "linux") return expect(heap).toBeUndefined();
    expect(heap).toBeGreaterThan(1024 * 1024);
    expect(heap).toBeLessThanOrEqual(resident!);
  });

  test("shows what was counted, and is clean", async () => {
    const { counters, scrape } = setUp();
    for (const label of ["/health", "unmatched", 'odd"label\\\n', "/unknown"]) {
      const route = counters.routeId(label);
      counters.requestEnded(route, counters.requestSlot(route, GET, 200), 1, 2);
    }
    for (const ms of [0.05, 3, 20_000]) counters.requestTook(1, ms);
    counters.add(COUNTERS.acceptedConnections);
    counters.add(COUNTERS.activeConnections);
    counters.refused(Fault.LengthAndEncoding);
    counters.wafBlocked("traversal");
    const id = counters.upstreamId(UPSTREAM);
    counters.upstreamEnded(id, counters.upstreamSlot(id, 200), 40);
    counters.breakerTripped(id);
    const { problems, value } = await scrape();
    expect(problems).toEqual([]);
    expect(value("gateway_requests_total", { method: "GET", code: "200", path: "/health" })).toBe(1);
    expect(value("gateway_requests_total", { method: "GET", code: "200", path: 'odd"label\\\n' })).toBe(1);
    expect(value("gateway_requests_total", { method: "GET", code: "200", path: "overflow" })).toBe(1);
    expect(value("gateway_request_duration_seconds_bucket", { le: "0.0001" })).toBe(1);
    expect(value("gateway_request_duration_seconds_bucket", { le: "10" })).toBe(2);
    expect(value("gateway_request_duration_seconds_bucket", { le: "+Inf" })).toBe(3);
    expect(value("gateway_request_duration_seconds_sum")).toBeCloseTo(20.00305, 6);
    expect(value("gateway_active_tcp_connections")).toBe(1);
    expect(value("gateway_quic_active_streams")).toBe(0);
    expect(value("gateway_framing_rejections_total", { reason: "length_and_encoding" })).toBe(1);
    expect(value("gateway_framing_rejections_total", { reason: "bad_host" })).toBe(0);
    expect(value("gateway_waf_blocked_requests_total", { category: "traversal" })).toBe(1);
    expect(value("gateway_upstream_requests_total", { upstream: UPSTREAM, code: "200" })).toBe(1);
    expect(value("gateway_upstream_request_duration_seconds_count", { upstream: UPSTREAM })).toBe(1);
    expect(value("gateway_circuit_breaker_trips_total", { upstream: UPSTREAM })).toBe(1);
    expect(value("gateway_log_lines_dropped_total")).toBe(7);
  });

  test("shows the process", async () => {
    const { scrape } = setUp();
    const { value, samples } = await scrape();
    expect(value("gateway_build_info", { version: VERSION })).toBe(1);
    expect(value("gateway_config_last_reload_successful")).toBe(0);
    expect(value("process_resident_memory_bytes")).toBeGreaterThan(1e6);
    const { user, system } = process.cpuUsage();
    expect(value("process_cpu_seconds_total")).toBeGreaterThan(((user + system) / 1e6) * 0.5);
    expect(samples.filter(({ name }) => name.startsWith("nodejs_"))).toEqual([]);
  });

  test("a second scrape shows new numbers and the same families", async () => {
    const { counters, scrape } = setUp();
    const first = await scrape();
    const route = counters.routeId("/health");
    counters.requestEnded(route, counters.requestSlot(route, GET, 200), 0, 0);
    const second = await scrape();
    expect(second.problems).toEqual([]);
    expect(second.value("gateway_requests_total", { method: "GET", code: "200", path: "/health" })).toBe(1);
    expect(second.samples.length).toBe(first.samples.length + 1);
  });

  test("has the content type of the text format, to the letter", () => {
    expect(EXPOSITION_TYPE).toBe("text/plain; version=0.0.4");
  });
});

test("the lint finds what it looks for", () => {
  const bad = [
    "# HELP a_count help\n# TYPE a_count gauge\na_count 1\n",
    "# HELP a help\n# TYPE a counter\na 1\n",
    "# HELP a_total help\n# TYPE a_total gauge\na_total 1\n",
    "# HELP a help\n# TYPE a gauge\na 1\na 2\n",
    "# HELP a help\n# HELP a help\n# TYPE a gauge\na 1\n",
    "# HELP a_milliseconds help\n# TYPE a_milliseconds gauge\na_milliseconds 1\n",
    "# TYPE a gauge\na 1\n",
    "a 1\n",
    '# HELP h x\n# TYPE h histogram\nh_bucket{le="2"} 1\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
    '# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n',
    "# HELP a help\n# TYPE a gauge\na 1",
  ];
  for (const text of bad) expect(lintExposition(text).problems).not.toEqual([]);
});
