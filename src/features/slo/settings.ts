import { block } from "../../config/row.ts";
import { decimal, duration } from "../../config/scalars.ts";

const DAY_MS = 86_400_000;
const MAX_WINDOW_MS = 366 * DAY_MS;

const latency = block({
  p: { type: decimal(1, 99.9999), default: 99, doc: "this many percent of the requests" },
  under: {
    type: duration(1),
    required: "the time within which responses are complete, such as under: 250ms",
    example: "250ms",
    doc: "take at most this time",
  },
});

/** `slo` of a route: how many of its requests go well. docs/pressure.md#objectives */
export const slo = block(
  {
    availability: { type: decimal(1, 99.9999), absent: null, example: 99.9, doc: "percent of requests without 5xx" },
    latency: { type: latency, absent: null, doc: "the latency that you promise" },
    window: {
      type: duration(3_600_000, MAX_WINDOW_MS),
      default: "30d",
      doc: "the time over which the objective counts",
    },
  },
  {
    check(values, { log, path }) {
      if (values.availability === null && values.latency === null)
        log.fault(path, "an objective needs availability, latency or both, such as availability: 99.9", true);
    },
  },
);
