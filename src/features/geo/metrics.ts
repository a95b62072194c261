import type { MetricRows } from "../../core/metric-row.ts";

/** What is shown of databases of addresses. docs/guards.md#countries-and-networks */
export const GEO_METRICS = {
  gateway_geo_reloads_total: {
    kind: "counter",
    help: "Databases of addresses found changed, by result.",
    labels: ["result"],
    group: "Firewall and guards",
    title: "Databases of addresses reloaded",
    advice:
      "`failed`: the new file cannot be read, the one before stays. Find `geo_reload` in your log for the reason.",
  },
  gateway_geo_database_built_seconds: {
    kind: "gauge",
    help: "When a database of addresses was made, in seconds since the epoch.",
    labels: ["database"],
    group: "Firewall and guards",
    title: "Databases of addresses, built",
    advice: "If it is older than two months, addresses have moved. Check your program that fetches the file.",
  },
} as const satisfies MetricRows;
