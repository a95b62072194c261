import type { MetricRows } from "../../core/metric-row.ts";

const GROUP = "Under pressure";

/** Counts of shedding. docs/pressure.md#shedding */
export const OVERLOAD_METRICS = {
  gateway_shed_requests_total: {
    kind: "counter",
    help: "Requests shed while the gateway was overloaded (503), by priority (low, normal, signed_in) and reason (cpu, memory, descriptors, loop_delay).",
    labels: ["priority", "reason"],
    group: GROUP,
    title: "Shed requests",
    advice: "The gateway runs out of the resource in `reason`: give it more, or add a gateway.",
  },
  gateway_overload_level: {
    kind: "gauge",
    help: "How much the busiest worker sheds: 0 nothing, 1 all of low priority, 2 normal, too, 3 signed-in users, too.",
    labels: [],
    group: GROUP,
    title: "Overload",
    advice: "Above 0, `gateway_overload_pressure` names the shortage.",
  },
  gateway_overload_pressure: {
    kind: "gauge",
    help: "How much the gateway uses, as a share of the threshold in server.overload, by reason; above 1 it sheds requests.",
    labels: ["reason"],
    group: GROUP,
    title: "Pressure",
    advice: "Near 1 your gateway has no reserve left.",
  },
} as const satisfies MetricRows;
