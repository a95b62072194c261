import { COUNTERS } from "../../../src/memory/counter-rows.ts";
import { type CounterBuffers, type CounterLabels, WorkerCounters } from "../../../src/memory/counter-table.ts";

/** A worker thread that counts requests as told, then reports; it leaves one connection open, as if it had died. */
declare const self: Worker;

interface Order {
  readonly buffers: CounterBuffers;
  readonly labels: CounterLabels;
  readonly requests: number;
}

self.onmessage = ({ data }: MessageEvent<Order>) => {
  const counters = new WorkerCounters(data.buffers, data.labels);
  counters.add(COUNTERS.acceptedConnections);
  counters.add(COUNTERS.activeConnections);
  counters.requestEntered();
  for (let i = 0; i < data.requests; i++) {
    const route = counters.routeId(i % 2 === 0 ? "/even" : "/odd");
    counters.requestEnded(route, counters.requestSlot(route, 1, 200 + (i % 100)), 1, 2);
    counters.requestTook(route, i % 20);
  }
  self.postMessage("done");
};
