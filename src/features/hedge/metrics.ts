import type { MetricRows } from "../../core/metric-row.ts";

/** Counts of second requests. docs/upstreams.md#hedging */
export const HEDGE_METRICS = {
  gateway_hedged_requests_total: {
    kind: "counter",
    help: "Second requests of routes with hedge, by route and what became of them.",
    labels: ["route", "result"],
    group: "Traffic",
    title: "Hedged requests",
    advice:
      "`won` beside `sent` says how often the second target was faster. If `sent` is a large share of your requests, raise `hedge.after`; `skipped` counts requests beyond the budget, or without another target.",
  },
} as const satisfies MetricRows;
