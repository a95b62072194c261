import { type Metric, metricOf } from "../core/metric-row.ts";
import { VERSION } from "../core/version.ts";
import { GATEWAY_METRICS } from "../facts/gateway-metrics.ts";
import { processFactMetrics } from "../facts/process-metrics.ts";
import { gatewayMetrics } from "../facts/worker-metrics.ts";
import type { TelemetryExport } from "../features/telemetry/control/telemetry-export.ts";
import { Exposition } from "../features/telemetry/exposition.ts";
import type { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import type { CounterTotals } from "../memory/counter-totals.ts";
import { BreakerState } from "../memory/node-table.ts";
import type { NodeRegistry, NodeStanding } from "./node-registry.ts";

/** What the control thread has to tell in metrics. */
interface MetricPorts {
  readonly totals: CounterTotals;
  readonly nodes: NodeRegistry;
  readonly labels: TelemetryLabels;
  readonly telemetry: TelemetryExport;
  /** Those of all services. */
  readonly ofServices: readonly Metric[];
  lastReloadSuccessful(): boolean;
  lastReloadSeconds(): number;
  droppedLogLines(): number;
}

/** All metrics of the gateway. docs/operations.md#metrics */
export function controlExposition(sources: MetricPorts): Exposition {
  const { totals, nodes, labels, ofServices, lastReloadSuccessful, lastReloadSeconds, droppedLogLines } = sources;
  const metrics = [
    ...gatewayMetrics(totals),
    ...listenerMetrics(() => totals.listeners(labels.listeners)),
    ...nodeMetrics(
      () => nodes.standings(),
      (originKey) => labels.upstreams.labelOf(labels.upstreams.idOf(originKey)),
    ),
    ...ofServices,
    ...processFactMetrics({ version: VERSION, lastReloadSuccessful, lastReloadSeconds, droppedLogLines }),
  ];
  return new Exposition(metrics, sources.telemetry.exemplars);
}

/** Those of listeners. @param all asked at every scrape */
function listenerMetrics(all: () => ReturnType<CounterTotals["listeners"]>): readonly Metric[] {
  const of = (count: "accepted" | "open") => () =>
    all().map((one) => ({ value: one[count], labels: { listener: one.label } }));
  return [
    metricOf(GATEWAY_METRICS, "gateway_listener_connections_total", of("accepted")),
    metricOf(GATEWAY_METRICS, "gateway_listener_active_connections", of("open")),
  ];
}

/**
 * The gauges of upstream nodes. Where settings differ from route to route an origin has several breakers: the worst is
 * shown. docs/operations.md#metrics
 * @param standings asked at every scrape
 * @param labelOf the label of an origin: its key, or the one for all beyond the limit of labels
 */
function nodeMetrics(
  standings: () => readonly NodeStanding[],
  labelOf: (originKey: string) => string,
): readonly Metric[] {
  const worst = (standingOf: (node: NodeStanding) => number, worse: (a: number, b: number) => number) => () => {
    const values = new Map<string, number>();
    for (const node of standings()) {
      const label = labelOf(node.originKey);
      const value = standingOf(node);
      values.set(label, worse(values.get(label) ?? value, value));
    }
    return [...values].map(([upstream, value]) => ({ value, labels: { upstream } }));
  };
  return [
    metricOf(
      GATEWAY_METRICS,
      "gateway_circuit_breaker_state",
      worst(({ breaker }) => STATE_VALUES[breaker], Math.max),
    ),
    metricOf(
      GATEWAY_METRICS,
      "gateway_upstream_healthy",
      worst(({ breaker, healthy }) => (healthy && breaker === BreakerState.Closed ? 1 : 0), Math.min),
    ),
  ];
}

const STATE_VALUES: Readonly<Record<BreakerState, number>> = {
  [BreakerState.Closed]: 0,
  [BreakerState.HalfOpen]: 1,
  [BreakerState.Trial]: 1,
  [BreakerState.Open]: 2,
};
