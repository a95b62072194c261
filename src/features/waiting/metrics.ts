import type { MetricRows } from "../../core/metric-row.ts";

const GROUP = "Under pressure";

/** Counts of `waiting_room`. docs/waiting-room.md */
export const WAITING_METRICS = {
  gateway_waiting_room_active: {
    kind: "gauge",
    help: "Visitors that are in a waiting room's route, by route.",
    labels: ["route"],
    group: GROUP,
    title: "Visitors in",
    advice: "At `active`, further visitors wait.",
  },
  gateway_waiting_room_waiting: {
    kind: "gauge",
    help: "Visitors that wait, by route.",
    labels: ["route"],
    group: GROUP,
    title: "Visitors that wait",
    advice:
      "If your origin has room, raise `active`. A shorter `session` frees the places of visitors that have left sooner.",
  },
  gateway_waiting_room_visitors_total: {
    kind: "counter",
    help: "Visitors by what became of them: admitted, queued, left (while they waited), full (no place in the queue), address (too many of one address).",
    labels: ["route", "result"],
    group: GROUP,
    title: "Visitors of waiting rooms",
    advice:
      "full: raise `queue`. address: one network sends many visitors, or a program that keeps no cookies; raise `per_address` for a network that many people share.",
  },
} as const satisfies MetricRows;
