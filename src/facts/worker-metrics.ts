import { FaultKind } from "../core/fault.ts";
import { labelled, type Metric, type MetricRows, metricOf, type Sample } from "../core/metric-row.ts";
import { REQUEST_SECONDS } from "../features/telemetry/exemplars.ts";
import { COUNTERS, HEDGE_COUNTS, LATENCY_BOUNDS_MS, MIRROR_COUNTS } from "../memory/counter-rows.ts";
import { PeerRole } from "../memory/counter-table.ts";
import type { CounterTotals, LatencyTotals } from "../memory/counter-totals.ts";
import { CACHE_RESULT_NAMES } from "../message/cache-result.ts";
import { methodName } from "../message/request-head.ts";
import { METRICS } from "./metrics.ts";
import { streamMetrics } from "./stream-metrics.ts";

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
  return [...rowsByName].map(([name, rows]) =>
    metricOf<MetricRows, string>(METRICS, name, () =>
      rows.map((row) => ({ value: totals.sum(row), labels: row.labels })),
    ),
  );
}

/** Bytes are counted with the traffic of each route. */
function byteMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    metricOf(METRICS, "gateway_request_body_bytes_total", () => [{ value: totals.bodyBytes().bytesIn, labels: {} }]),
    metricOf(METRICS, "gateway_response_body_bytes_total", () => [{ value: totals.bodyBytes().bytesOut, labels: {} }]),
  ];
}

/** Those with a count for each of a fixed list of things. */
function labelledMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    labelled(METRICS, "gateway_tls_handshake_failures_total", () => totals.faults(FaultKind.Tls)),
    labelled(METRICS, "gateway_framing_rejections_total", () => totals.faults(FaultKind.Framing)),
    labelled(METRICS, "gateway_limit_refusals_total", () => totals.faults(FaultKind.Limit)),
    labelled(METRICS, "gateway_rate_limited_requests_total", () => totals.rateLimited()),
    labelled(METRICS, "gateway_waf_blocked_requests_total", () => totals.wafBlocked()),
    labelled(METRICS, "gateway_waf_detected_requests_total", () => totals.wafDetected()),
    labelled(METRICS, "gateway_cache_requests_total", () =>
      CACHE_RESULT_NAMES.map((label, i) => ({ label, count: totals.cachePassed(i) })).slice(1),
    ),
    labelled(METRICS, "gateway_circuit_breaker_trips_total", () => totals.breakerTrips()),
  ];
}

/** Those whose series appear as they are counted, and the histograms. */
function seriesMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    metricOf(METRICS, "gateway_requests_total", () =>
      totals.requests().map(({ label, method, status, count }) => ({
        value: count,
        labels: { method: methodName(method), code: codeText(status), path: label },
      })),
    ),
    metricOf(METRICS, REQUEST_SECONDS, () => histogram(REQUEST_SECONDS, {}, totals.requestLatency())),
    metricOf(METRICS, "gateway_upstream_requests_total", () =>
      totals.upstreamRequests().map(({ label, status, count }) => ({
        value: count,
        labels: { upstream: label, code: codeText(status) },
      })),
    ),
    metricOf(METRICS, "gateway_mirrored_requests_total", () =>
      totals.mirrored().map(({ label, method, count }) => ({
        value: count,
        labels: { route: label, result: MIRROR_COUNTS[method]! },
      })),
    ),
    metricOf(METRICS, "gateway_hedged_requests_total", () =>
      totals.hedged().map(({ label, method, count }) => ({
        value: count,
        labels: { route: label, result: HEDGE_COUNTS[method]! },
      })),
    ),
    metricOf(METRICS, UPSTREAM_SECONDS, () =>
      totals
        .upstreamLatency()
        .flatMap(({ label, latency }) => histogram(UPSTREAM_SECONDS, { upstream: label }, latency)),
    ),
  ];
}

/** Those of a sidecar. docs/sidecar.md#who-asks */
function meshMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    metricOf(METRICS, "gateway_sidecar_peer_requests_total", () =>
      totals.peers().map(({ label, status, count }) => ({
        value: count,
        labels: { peer: label, code: codeText(status) },
      })),
    ),
    metricOf(METRICS, "gateway_sidecar_server_requests_total", () =>
      totals.peers(PeerRole.Server).map(({ label, status, count }) => ({
        value: count,
        labels: { server: label, code: codeText(status) },
      })),
    ),
  ];
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

const UPSTREAM_SECONDS = "gateway_upstream_request_duration_seconds";

/** Status 0 is that of the series beyond the table's capacity. */
function codeText(status: number): string {
  return status === 0 ? "other" : String(status);
}
