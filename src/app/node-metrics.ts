import type { Metric } from "../features/telemetry/metric.ts";
import { BreakerState } from "../shared/node-table.ts";
import type { NodeStanding } from "./node-keeper.ts";

/**
 * The gauges of upstream nodes. Where settings differ from route to route an origin has several breakers: the worst is
 * shown. docs/operations.md#metrics
 * @param standings asked at every scrape
 * @param labelOf the label of an origin: its key, or the one that stands for all beyond the limit of labels
 */
export function nodeMetrics(
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
    {
      name: "gateway_circuit_breaker_state",
      help: "State of the circuit breaker, by upstream: 0 closed, 1 half-open, 2 open.",
      type: "gauge",
      read: worst(({ breaker }) => STATE_VALUES[breaker], Math.max),
    },
    {
      name: "gateway_upstream_healthy",
      help: "1 while the breaker of the upstream is closed and its health check passes, else 0.",
      type: "gauge",
      read: worst(({ breaker, healthy }) => (healthy && breaker === BreakerState.Closed ? 1 : 0), Math.min),
    },
  ];
}

const STATE_VALUES: Readonly<Record<BreakerState, number>> = {
  [BreakerState.Closed]: 0,
  [BreakerState.HalfOpen]: 1,
  [BreakerState.Trial]: 1,
  [BreakerState.Open]: 2,
};
