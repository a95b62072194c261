import type { MetricRows } from "../../core/metric-row.ts";

/** The counts of maintenance. docs/pages.md#maintenance */
export const PAGE_METRICS = {
  gateway_maintenance_refusals_total: {
    kind: "counter",
    help: "Requests refused because of maintenance.",
    labels: [],
    group: "Traffic",
    title: "Refused for maintenance",
    advice:
      "It rises only under maintenance. If you have planned none, check `maintenance` in `edge status` and switch it off.",
  },
} as const satisfies MetricRows;
