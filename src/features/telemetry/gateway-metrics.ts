import { CACHE_RESULT_NAMES } from "../../message/cache-result.ts";
import { methodName } from "../../message/method.ts";
import { LATENCY_BOUNDS_MS, Row } from "../../shared/counter-rows.ts";
import type { CounterTotals, LatencyTotals } from "../../shared/counter-totals.ts";
import { labelled, type Metric, type Sample, single } from "./metric.ts";

/**
 * The metrics that come from the workers' counters. docs/operations.md#metrics
 * @param totals read at every scrape
 */
export function gatewayMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    ...requestMetrics(totals),
    ...connectionMetrics(totals),
    ...protectionMetrics(totals),
    ...upstreamMetrics(totals),
  ];
}

function requestMetrics(totals: CounterTotals): readonly Metric[] {
  const sum = (row: Row) => () => totals.sum(row);
  return [
    {
      name: "gateway_requests_total",
      help: "Requests that are over, by method, status code and the path of the route.",
      type: "counter",
      read: () =>
        totals.requests().map(({ label, method, status, count }) => ({
          value: count,
          labels: { method: methodName(method), code: codeText(status), path: label },
        })),
    },
    {
      name: "gateway_request_duration_seconds",
      help: "Time from the first byte of a request to the end of its answer, refused heads left out.",
      type: "histogram",
      read: () => histogram("gateway_request_duration_seconds", {}, totals.requestLatency()),
    },
    single("gauge", "gateway_requests_in_flight", "Requests that are being served.", sum(Row.RequestsInFlight)),
    labelled("counter", "gateway_tls_handshakes_total", "TLS handshakes that were completed.", "resumed", () => [
      { label: "false", count: totals.sum(Row.FullHandshakes) },
      { label: "true", count: totals.sum(Row.ResumedHandshakes) },
    ]),
    labelled(
      "counter",
      "gateway_tls_handshake_failures_total",
      "Connections to a TLS port that came to nothing, by reason.",
      "reason",
      () => totals.tlsFailures(),
    ),
    labelled(
      "counter",
      "gateway_cache_requests_total",
      "Requests that passed the cache, by what it did.",
      "result",
      () => CACHE_RESULT_NAMES.map((label, i) => ({ label, count: totals.cachePassed(i) })).slice(1),
    ),
    single("gauge", "gateway_quic_active_streams", "Open HTTP/3 request streams.", sum(Row.ActiveQuicStreams)),
    single("counter", "gateway_request_body_bytes_total", "Bytes of request bodies, decoded.", sum(Row.BodyBytesIn)),
    single("counter", "gateway_response_body_bytes_total", "Bytes of response bodies.", sum(Row.BodyBytesOut)),
  ];
}

function connectionMetrics(totals: CounterTotals): readonly Metric[] {
  const sum = (row: Row) => () => totals.sum(row);
  return [
    single("gauge", "gateway_active_tcp_connections", "Open client connections.", sum(Row.ActiveConnections)),
    single(
      "counter",
      "gateway_accepted_tcp_connections_total",
      "Client connections accepted.",
      sum(Row.AcceptedConnections),
    ),
    single("gauge", "gateway_unsent_bytes", "Memory that waits for peers that do not read.", sum(Row.UnsentBytes)),
    single(
      "counter",
      "gateway_abandoned_connections_total",
      "Connections cut because too much waited for peers that do not read.",
      sum(Row.ConnectionsAbandoned),
    ),
    labelled(
      "counter",
      "gateway_accept_pauses_total",
      "Times that a worker accepted no more connections for a while, by reason.",
      "reason",
      () => [
        { label: "max_connections", count: totals.sum(Row.AcceptPausedFull) },
        { label: "descriptors", count: totals.sum(Row.AcceptPausedDescriptors) },
      ],
    ),
    single(
      "counter",
      "gateway_idle_connections_closed_total",
      "Idle client connections closed for others that waited.",
      sum(Row.IdleClosed),
    ),
  ];
}

function protectionMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    labelled(
      "counter",
      "gateway_framing_rejections_total",
      "Requests refused for their framing, by reason.",
      "reason",
      () => totals.framingRejections(),
    ),
    labelled(
      "counter",
      "gateway_limit_refusals_total",
      "Requests and connections that a limit of size, time, room or number ended, by reason.",
      "reason",
      () => totals.limitRefusals(),
    ),
    labelled(
      "counter",
      "gateway_rate_limited_requests_total",
      "Requests that came too often for the limit of their route.",
      "route",
      () => totals.rateLimited(),
    ),
    single("counter", "gateway_waf_inspected_requests_total", "Requests that the WAF looked at.", () =>
      totals.sum(Row.WafInspected),
    ),
    single(
      "counter",
      "gateway_waf_budget_exhausted_total",
      "Inspections that the WAF gave up because they took more steps than any honest request does.",
      () => totals.sum(Row.WafBudgetExhausted),
    ),
    labelled("counter", "gateway_waf_blocked_requests_total", "Requests that the WAF refused.", "category", () =>
      totals.wafBlocked(),
    ),
    labelled(
      "counter",
      "gateway_waf_detected_requests_total",
      "Requests that the WAF let through in detection mode although they matched.",
      "category",
      () => totals.wafDetected(),
    ),
  ];
}

function upstreamMetrics(totals: CounterTotals): readonly Metric[] {
  const durations = "gateway_upstream_request_duration_seconds";
  return [
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
      name: durations,
      help: "Time that upstreams took for their answers.",
      type: "histogram",
      read: () =>
        totals.upstreamLatency().flatMap(({ label, latency }) => histogram(durations, { upstream: label }, latency)),
    },
    labelled(
      "counter",
      "gateway_circuit_breaker_trips_total",
      "Times that a circuit breaker went from closed to open.",
      "upstream",
      () => totals.breakerTrips(),
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

/** Status 0 is that of the series beyond the table's capacity. */
function codeText(status: number): string {
  return status === 0 ? "other" : String(status);
}
