import type { MetricRows } from "../../core/metric-row.ts";

/** The counts of rate limits. docs/guards.md#rate-limits */
export const LIMIT_METRICS = {
  gateway_rate_limited_requests_total: {
    kind: "counter",
    help: "Requests refused by a rate limit, by route.",
    labels: ["route"],
    group: "Firewall and guards",
    title: "Rate limited",
    advice:
      "Some clients ask too often. If it is your users, the limit is too low or many share one address (`key: user`, `ipv6_prefix`).",
  },
} as const satisfies MetricRows;
