import { FaultKind } from "../../core/fault.ts";
import { CACHE_RESULT_NAMES } from "../../message/cache-result.ts";
import { methodName } from "../../message/request-head.ts";
import { COUNTERS, LATENCY_BOUNDS_MS, MIRROR_COUNTS } from "../../shared/counter-rows.ts";
import { PeerRole } from "../../shared/counter-table.ts";
import type { CounterTotals, LabelledCount, LatencyTotals } from "../../shared/counter-totals.ts";
import { labelled, type Metric, type Sample } from "./metric.ts";
import { streamMetrics } from "./stream-metrics.ts";

/** The histogram of how long requests take. */
export const REQUEST_SECONDS = "gateway_request_duration_seconds";

/**
 * The metrics that come from the workers' counters.
 * @param totals read at every scrape
 */
export function gatewayMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    ...plainMetrics(totals),
    ...byteMetrics(totals),
    ...labelledMetrics(totals),
    ...seriesMetrics(totals),
    ...meshMetrics(totals),
    ...streamMetrics(totals),
  ];
}

/** Those of COUNTERS: the rows of one name are one metric. */
function plainMetrics(totals: CounterTotals): readonly Metric[] {
  const shown = Object.values(COUNTERS).filter(({ metric }) => metric !== "");
  const rowsByName = Map.groupBy(shown, ({ metric }) => metric);
  return [...rowsByName].map(([name, rows]) => ({
    name,
    help: rows[0]!.help,
    type: rows[0]!.isGauge ? "gauge" : "counter",
    read: () => rows.map((row) => ({ value: totals.sum(row), labels: row.labels })),
  }));
}

/** Bytes are counted with the traffic of each route. */
function byteMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    {
      name: "gateway_request_body_bytes_total",
      help: "Bytes of request bodies, decoded.",
      type: "counter",
      read: () => [{ value: totals.bodyBytes().bytesIn, labels: {} }],
    },
    {
      name: "gateway_response_body_bytes_total",
      help: "Bytes of response bodies.",
      type: "counter",
      read: () => [{ value: totals.bodyBytes().bytesOut, labels: {} }],
    },
  ];
}

/** Those with a count for each of a fixed list of things. */
function labelledMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    counted("gateway_tls_handshake_failures_total", "Failed TLS handshakes, by reason.", "reason", () =>
      totals.faults(FaultKind.Tls),
    ),
    counted("gateway_framing_rejections_total", "Malformed requests that were refused, by reason.", "reason", () =>
      totals.faults(FaultKind.Framing),
    ),
    counted(
      "gateway_limit_refusals_total",
      "Requests and connections ended by a limit of size, time, memory or number, by reason.",
      "reason",
      () => totals.faults(FaultKind.Limit),
    ),
    counted("gateway_rate_limited_requests_total", "Requests refused by a rate limit, by route.", "route", () =>
      totals.rateLimited(),
    ),
    counted("gateway_waf_blocked_requests_total", "Requests refused by the firewall, by category.", "category", () =>
      totals.wafBlocked(),
    ),
    counted(
      "gateway_waf_detected_requests_total",
      "Requests that matched the firewall's rules in detection mode and passed, by category.",
      "category",
      () => totals.wafDetected(),
    ),
    counted("gateway_cache_requests_total", "Cache lookups, by result.", "result", () =>
      CACHE_RESULT_NAMES.map((label, i) => ({ label, count: totals.cachePassed(i) })).slice(1),
    ),
    counted(
      "gateway_circuit_breaker_trips_total",
      "Times that a circuit breaker opened, by upstream.",
      "upstream",
      () => totals.breakerTrips(),
    ),
  ];
}

/** Those whose series appear as they are counted, and the histograms. */
function seriesMetrics(totals: CounterTotals): readonly Metric[] {
  const upstreamSeconds = "gateway_upstream_request_duration_seconds";
  return [
    {
      name: "gateway_requests_total",
      help: "Requests that ended, by method, status code and path of the route.",
      type: "counter",
      read: () =>
        totals.requests().map(({ label, method, status, count }) => ({
          value: count,
          labels: { method: methodName(method), code: codeText(status), path: label },
        })),
    },
    {
      name: REQUEST_SECONDS,
      help: "Time from the first byte of a request to the end of its response; without malformed heads, and without `/metrics` and `/internal/`.",
      type: "histogram",
      read: () => histogram(REQUEST_SECONDS, {}, totals.requestLatency()),
    },
    {
      name: "gateway_upstream_requests_total",
      help: "Requests sent to upstreams, by upstream and status code.",
      type: "counter",
      read: () =>
        totals.upstreamRequests().map(({ label, status, count }) => ({
          value: count,
          labels: { upstream: label, code: codeText(status) },
        })),
    },
    {
      name: "gateway_mirrored_requests_total",
      help: "Copies of requests for mirrors, by route and what became of them.",
      type: "counter",
      read: () =>
        totals.mirrored().map(({ label, method, count }) => ({
          value: count,
          labels: { route: label, result: MIRROR_COUNTS[method]! },
        })),
    },
    {
      name: upstreamSeconds,
      help: "Time that upstreams took to respond, by upstream.",
      type: "histogram",
      read: () =>
        totals
          .upstreamLatency()
          .flatMap(({ label, latency }) => histogram(upstreamSeconds, { upstream: label }, latency)),
    },
  ];
}

/** Those of a sidecar. docs/sidecar.md#who-asks */
function meshMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    {
      name: "gateway_sidecar_peer_requests_total",
      help: "Inbound requests of a sidecar, by the SPIFFE id of the client and status code; none: without an id, other: beyond the first 255.",
      type: "counter",
      read: () =>
        totals.peers().map(({ label, status, count }) => ({
          value: count,
          labels: { peer: label, code: codeText(status) },
        })),
    },
    {
      name: "gateway_sidecar_server_requests_total",
      help: "Outbound requests of a sidecar, by the SPIFFE id of the server that responded and status code; none: without an id or a response, other: beyond the first 255.",
      type: "counter",
      read: () =>
        totals.peers(PeerRole.Server).map(({ label, status, count }) => ({
          value: count,
          labels: { server: label, code: codeText(status) },
        })),
    },
  ];
}

function counted(name: string, help: string, label: string, read: () => readonly LabelledCount[]): Metric {
  return labelled("counter", name, help, label, read);
}

/** The samples of one histogram, cumulative as the format wants them, in seconds. */
function histogram(name: string, labels: Readonly<Record<string, string>>, latency: LatencyTotals): readonly Sample[] {
  const samples: Sample[] = [];
  let atMost = 0;
  for (let i = 0; i < LATENCY_BOUNDS_MS.length; i++) {
    atMost += latency.buckets[i]!;
    const le = String(LATENCY_BOUNDS_MS[i]! / 1000);
    samples.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: atMost });
  }
  samples.push(
    { metricName: `${name}_bucket`, labels: { ...labels, le: "+Inf" }, value: latency.count },
    { metricName: `${name}_sum`, labels, value: latency.sumMs / 1000 },
    { metricName: `${name}_count`, labels, value: latency.count },
  );
  return samples;
}

/** Status 0 is that of the series beyond the table's capacity. */
function codeText(status: number): string {
  return status === 0 ? "other" : String(status);
}
