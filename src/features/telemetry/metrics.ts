import type { MetricRows } from "../../core/metric-row.ts";

/** The counts of refusals for their bytes or by a limit, and of telemetry itself. */
export const TELEMETRY_METRICS = {
  gateway_framing_rejections_total: {
    kind: "counter",
    help: "Malformed requests that were refused, by reason.",
    labels: ["reason"],
    group: "Firewall and guards",
    title: "Malformed requests",
    advice:
      "Scanners and request smuggling. If they come from your own load balancer, it has a bug: `reason` names it.",
  },
  gateway_limit_refusals_total: {
    kind: "counter",
    help: "Requests and connections ended by a limit of size, time, memory or number, by reason.",
    labels: ["reason"],
    group: "Firewall and guards",
    title: "Ended by a limit",
    advice:
      "The line `limit_reject` names the setting as `key`. `out_of_descriptors` and `buffers_full` are shortages of your machine, the others are clients beyond their limits.",
  },
  gateway_telemetry_items_total: {
    kind: "counter",
    help: "Telemetry items, by signal and outcome.",
    labels: ["signal", "result"],
    group: "Process",
    title: "Sent to the collector",
    advice: "Dropped ones: your collector is down or too slow. Your users do not notice.",
  },
} as const satisfies MetricRows;
