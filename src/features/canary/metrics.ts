import type { MetricRows } from "../../core/metric-row.ts";

const GROUP = "Under pressure";

/** Metrics of rollouts. docs/pressure.md#canaries */
export const CANARY_METRICS = {
  gateway_canary_share: {
    kind: "gauge",
    help: "Share of a route's requests that its new version gets, 0 to 1.",
    labels: ["route"],
    group: GROUP,
    title: "Share of the new version",
    advice: "0 after it was aborted: the log names the reason (`canary_aborted`).",
  },
  gateway_canary_requests_total: {
    kind: "counter",
    help: "Requests to the targets of a route with a canary, by version (new, old) and result (ok, error).",
    labels: ["route", "version", "result"],
    group: GROUP,
    title: "Requests by version",
    advice: "Compare the share of errors of your two versions.",
  },
} as const satisfies MetricRows;
