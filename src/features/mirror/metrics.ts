import type { MetricRows } from "../../core/metric-row.ts";

/** The counts of mirrors. docs/upstreams.md#mirroring */
export const MIRROR_METRICS = {
  gateway_mirrored_requests_total: {
    kind: "counter",
    help: "Copies of requests for mirrors, by route and what became of them.",
    labels: ["route", "result"],
    group: "Traffic",
    title: "Mirrored requests",
    advice:
      "`failed` and `skipped`: your mirror is down or too slow, and misses copies. `different`: its responses differ from the target's (`compare`). Your clients do not notice.",
  },
} as const satisfies MetricRows;
