import { STREAM_ENDS } from "../../memory/stream-counters.ts";
import type { CounterTotals } from "../../shared/counter-totals.ts";
import { labelled, type Metric } from "./metric.ts";

/** The metrics of forwarded connections, by the stream's label. docs/streams.md#metrics */
export function streamMetrics(totals: CounterTotals): readonly Metric[] {
  return [
    labelled(
      "counter",
      "gateway_stream_connections_total",
      "Forwarded connections that have begun, refused ones included, by stream.",
      "route",
      () => totals.streams().map(({ label, begun }) => ({ label, count: begun })),
    ),
    labelled(
      "gauge",
      "gateway_stream_open_connections",
      "Forwarded connections that are open, by stream.",
      "route",
      () => totals.streams().map(({ label, open }) => ({ label, count: open })),
    ),
    {
      name: "gateway_stream_bytes_total",
      help: "Bytes forwarded, by stream and direction: in from clients, out to them.",
      type: "counter",
      read: () =>
        totals.streams().flatMap(({ label: route, bytesIn, bytesOut }) => [
          { value: bytesIn, labels: { route, direction: "in" } },
          { value: bytesOut, labels: { route, direction: "out" } },
        ]),
    },
    {
      name: "gateway_stream_ended_total",
      help: "Forwarded connections that are over, by stream and why.",
      type: "counter",
      read: () =>
        totals
          .streams()
          .flatMap(({ label: route, ends }) =>
            ends.flatMap((value, i) => (value === 0 ? [] : [{ value, labels: { route, reason: STREAM_ENDS[i]! } }])),
          ),
    },
    labelled(
      "counter",
      "gateway_stream_connect_failures_total",
      "Connections to targets of streams that did not come about, by upstream.",
      "upstream",
      () => totals.connectFailures(),
    ),
  ];
}
