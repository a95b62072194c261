import type { MetricRows } from "../../core/metric-row.ts";

/** Counts of forward proxies. docs/forward-proxy.md */
export const CONNECT_METRICS = {
  gateway_forward_proxy_tunnels: {
    kind: "gauge",
    help: "Open tunnels of forward proxies (CONNECT).",
    labels: [],
    group: "Traffic",
    title: "Tunnels",
    advice: "Near `max_tunnels` you can raise it, or find the clients that keep tunnels open.",
  },
} as const satisfies MetricRows;
