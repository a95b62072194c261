import type { MetricRows } from "../../core/metric-row.ts";

const GROUP = "Under pressure";

/** Counts of `concurrency`. docs/pressure.md#concurrency */
export const CONCURRENCY_METRICS = {
  gateway_concurrency_limit: {
    kind: "gauge",
    help: "Requests that may be under way at once, by route and target.",
    labels: ["route", "target"],
    group: GROUP,
    title: "Concurrency limit",
    advice: "With `limit: auto` it falls as the origin gets slower. If it stays low, see why your origin is slow.",
  },
  gateway_concurrency_in_flight: {
    kind: "gauge",
    help: "Requests that have a place, by route and target.",
    labels: ["route", "target"],
    group: GROUP,
    title: "Places taken",
    advice: "At the limit, further requests wait in the queue.",
  },
  gateway_concurrency_queued: {
    kind: "gauge",
    help: "Requests that wait for a place.",
    labels: ["route"],
    group: GROUP,
    title: "Waiting requests",
    advice: "A queue that does not empty only makes everyone late: add capacity, or lower `queue_timeout`.",
  },
  gateway_concurrency_refusals_total: {
    kind: "counter",
    help: "Requests that got no place (503), by reason: queue_full or queue_timeout.",
    labels: ["route", "reason"],
    group: GROUP,
    title: "Refused for concurrency",
    advice: "More requests come than your origin takes. Add capacity, or raise the limit if your origin has room.",
  },
} as const satisfies MetricRows;
