import { labelled, type Metric, metricOf } from "../core/metric-row.ts";
import type { CounterTotals } from "../memory/counter-totals.ts";
import { STREAM_ENDS } from "../memory/stream-counters.ts";
import { METRICS } from "./metrics.ts";

/** The metrics of forwarded connections, by the stream's label. docs/streams.md#metrics */
export function streamMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    labelled(METRICS, "gateway_stream_connections_total", () =>
      totals.streams().map(({ label, begun }) => ({ label, count: begun })),
    ),
    labelled(METRICS, "gateway_stream_open_connections", () =>
      totals.streams().map(({ label, open }) => ({ label, count: open })),
    ),
    metricOf(METRICS, "gateway_stream_bytes_total", () =>
      totals.streams().flatMap(({ label: route, bytesIn, bytesOut }) => [
        { value: bytesIn, labels: { route, direction: "in" } },
        { value: bytesOut, labels: { route, direction: "out" } },
      ]),
    ),
    metricOf(METRICS, "gateway_stream_ended_total", () =>
      totals
        .streams()
        .flatMap(({ label: route, ends }) =>
          ends.flatMap((value, i) => (value === 0 ? [] : [{ value, labels: { route, reason: STREAM_ENDS[i]! } }])),
        ),
    ),
    labelled(METRICS, "gateway_stream_connect_failures_total", () => totals.connectFailures()),
  ];
}
