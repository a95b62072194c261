import { COUNTERS } from "../../memory/counter-rows.ts";
import type { CounterTotals, LabelledCount } from "../../memory/counter-totals.ts";
import { methodName } from "../../message/request-head.ts";

/** The body of `/internal/api/metrics`. docs/endpoints.md#traffic */
export interface TrafficSummary {
  readonly total_requests: number;
  readonly active_quic_streams: number;
  readonly active_tcp_connections: number;
  readonly circuit_breaker_trips: number;
  readonly waf: {
    readonly enabled: boolean;
    readonly mode: string;
    readonly inspected: number;
    readonly blocked: number;
    readonly detected: number;
    /** Blocked and detected together, categories without any left out. */
    readonly by_category: Readonly<Record<string, number>>;
  };
  readonly status_breakdown: Readonly<Record<string, number>>;
  readonly method_breakdown: Readonly<Record<string, number>>;
}

/** Adds up the workers' counters for people and dashboards. */
export function trafficSummary(
  totals: CounterTotals,
  waf: { readonly enabled: boolean; readonly mode: string },
): TrafficSummary {
  const requests = totals.requests();
  const blocked = totals.wafBlocked();
  const detected = totals.wafDetected();
  return {
    total_requests: requests.reduce((sum, one) => sum + one.count, 0),
    active_quic_streams: totals.sum(COUNTERS.activeQuicStreams),
    active_tcp_connections: totals.sum(COUNTERS.activeConnections),
    circuit_breaker_trips: total(totals.breakerTrips()),
    waf: {
      enabled: waf.enabled,
      mode: waf.mode,
      inspected: totals.sum(COUNTERS.wafInspected),
      blocked: total(blocked),
      detected: total(detected),
      by_category: breakdown([...blocked, ...detected].filter(({ count }) => count > 0)),
    },
    status_breakdown: breakdown(
      requests.map(({ status, count }) => ({ label: status === 0 ? "other" : String(status), count })),
    ),
    method_breakdown: breakdown(requests.map(({ method, count }) => ({ label: methodName(method), count }))),
  };
}

function total(counts: readonly LabelledCount[]): number {
  return counts.reduce((sum, { count }) => sum + count, 0);
}

function breakdown(counts: readonly LabelledCount[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { label, count } of counts) sums[label] = (sums[label] ?? 0) + count;
  return sums;
}
