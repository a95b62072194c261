import type { MetricRows } from "../../core/metric-row.ts";

const GROUP = "Under pressure";

/** Metrics of objectives. docs/pressure.md#objectives */
export const SLO_METRICS = {
  gateway_slo_burn_rate: {
    kind: "gauge",
    help: "Bad requests as a share of all, divided by the share that the objective allows, by route, slo (availability, latency) and window (5m, 1h, 6h); 0 without traffic.",
    labels: ["route", "slo", "window"],
    group: GROUP,
    title: "Burn rate",
    advice:
      "At 1 your error budget lasts just as long as the window of the objective. Far above it, check the errors and times of the route.",
  },
  gateway_slo_objective: {
    kind: "gauge",
    help: "Share of requests that go well, as the route's slo says.",
    labels: ["route", "slo"],
    group: GROUP,
    title: "Objective",
    advice: "You do not need to do anything: the configuration says it.",
  },
  gateway_slo_window_seconds: {
    kind: "gauge",
    help: "Time for which the objective of a route holds.",
    labels: ["route", "slo"],
    group: GROUP,
    title: "Window of the objective",
    advice: "You do not need to do anything: the configuration says it.",
  },
} as const satisfies MetricRows;
