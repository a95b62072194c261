import { describe, expect, test } from "bun:test";
import { Fault, FaultKind } from "../../../src/core/fault.ts";
import {
  COUNTERS,
  LATENCY_BOUNDS_MS,
  MAX_UPSTREAM_LABELS,
  ROW_PLACES,
  TRIPS_AT,
} from "../../../src/memory/counter-rows.ts";
import { type CounterLabels, createCounterBuffers, WorkerCounters } from "../../../src/memory/counter-table.ts";
import { CounterTotals } from "../../../src/memory/counter-totals.ts";
import { LabelRegistry } from "../../../src/memory/label-registry.ts";

const GET = 1;

function setUp(workers: number) {
  const routes = new LabelRegistry(["unmatched"], 100);
  const upstreams = new LabelRegistry([], MAX_UPSTREAM_LABELS);
  for (const label of ["/a", "/b"]) routes.idOf(label);
  upstreams.idOf("http://one:1");
  const labels: CounterLabels = { routes: routes.ids(), upstreams: upstreams.ids() };
  const buffers = Array.from({ length: workers }, createCounterBuffers);
  const counters = buffers.map((one) => new WorkerCounters(one, labels));
  return { routes, upstreams, labels, buffers, counters, totals: new CounterTotals(buffers, routes, upstreams) };
}

function ended(counters: WorkerCounters, label: string, status: number, bytesIn = 0, bytesOut = 0): void {
  const route = counters.routeId(label);
  counters.requestEnded(route, counters.requestSlot(route, GET, status), bytesIn, bytesOut);
}

describe("counters", () => {
  test("requests of all workers add up by label, method and status", () => {
    const { counters, totals } = setUp(2);
    for (const one of counters) ended(one, "/a", 200, 10, 100);
    ended(counters[1]!, "/b", 404, 0, 7);
    expect(totals.requests()).toEqual([
      { label: "/a", method: GET, status: 200, count: 2 },
      { label: "/b", method: GET, status: 404, count: 1 },
    ]);
    expect(totals.bodyBytes()).toEqual({ bytesIn: 20, bytesOut: 207 });
  });

  test("a reload keeps the counts of a label and takes new ones", () => {
    const { routes, upstreams, counters, totals } = setUp(1);
    const worker = counters[0]!;
    ended(worker, "/a", 200);
    routes.idOf("/new");
    worker.useLabels({ routes: routes.ids(), upstreams: upstreams.ids() });
    ended(worker, "/a", 200);
    ended(worker, "/new", 200);
    expect(totals.requests().map(({ label, count }) => [label, count])).toEqual([
      ["/a", 2],
      ["/new", 1],
    ]);
  });

  test("a label without a number is counted as overflow", () => {
    const { counters, totals } = setUp(1);
    const worker = counters[0]!;
    ended(worker, "/unknown", 200);
    expect(totals.requests()).toEqual([{ label: "overflow", method: GET, status: 200, count: 1 }]);
  });

  test("the table never has more than its capacity", () => {
    const { routes, upstreams, buffers } = setUp(1);
    for (let i = 0; i < 90; i++) routes.idOf(`/route-${i}`);
    const worker = new WorkerCounters(buffers[0]!, { routes: routes.ids(), upstreams: upstreams.ids() });
    const totals = new CounterTotals(buffers, routes, upstreams);
    let made = 0;
    for (const label of routes.all()) {
      for (let status = 100; status < 600; status++, made++) {
        ended(worker, label, status);
      }
    }
    const found = totals.requests();
    expect(found.length).toBe(16384);
    expect(found.reduce((sum, one) => sum + one.count, 0)).toBe(made);
    expect(found.find((one) => one.status === 0)).toEqual({
      label: "overflow",
      method: 0,
      status: 0,
      count: made - 16383,
    });
  });

  test("a worker that died keeps its counts and loses its gauges", () => {
    const { labels, buffers, counters, totals } = setUp(2);
    for (const one of counters) {
      one.add(COUNTERS.acceptedConnections);
      one.add(COUNTERS.activeConnections);
      one.requestEntered();
      one.add(COUNTERS.activeQuicStreams);
      ended(one, "/a", 200);
    }
    totals.workerDied(0);
    expect(totals.sum(COUNTERS.activeConnections)).toBe(1);
    const successor = new WorkerCounters(buffers[0]!, labels);
    ended(successor, "/a", 200);
    successor.add(COUNTERS.acceptedConnections);
    successor.add(COUNTERS.activeConnections);
    expect(totals.requests()).toEqual([{ label: "/a", method: GET, status: 200, count: 3 }]);
    expect(totals.sum(COUNTERS.acceptedConnections)).toBe(3);
    expect(totals.sum(COUNTERS.activeConnections)).toBe(2);
    expect(totals.sum(COUNTERS.requestsInFlight)).toBe(1);
    expect(totals.sum(COUNTERS.activeQuicStreams)).toBe(1);
  });

  test("durations fall into the bucket whose bound they do not exceed", () => {
    const { counters, totals } = setUp(1);
    for (const [i, bound] of LATENCY_BOUNDS_MS.entries()) counters[0]!.requestTook(i % 3, bound);
    counters[0]!.requestTook(0, 0);
    counters[0]!.requestTook(1, 10_001);
    const { buckets, count, sumMs } = totals.requestLatency();
    expect(buckets).toEqual([2, ...new Array(LATENCY_BOUNDS_MS.length - 1).fill(1), 1]);
    expect(count).toBe(LATENCY_BOUNDS_MS.length + 2);
    expect(sumMs).toBeCloseTo(10_001 + LATENCY_BOUNDS_MS.reduce((sum, bound) => sum + bound, 0), 6);
  });

  test("protection and upstream counters", () => {
    const { counters, totals } = setUp(1);
    const worker = counters[0]!;
    worker.refused(Fault.LengthAndEncoding);
    worker.add(COUNTERS.wafInspected);
    worker.wafBlocked("traversal");
    worker.wafBlocked("something else");
    worker.wafDetected("sqli");
    const id = worker.upstreamId("http://one:1");
    worker.upstreamEnded(id, worker.upstreamSlot(id, 502), 3);
    worker.breakerTripped(id);
    const nonZero = (counts: readonly { label: string; count: number }[]) => counts.filter(({ count }) => count > 0);
    expect(nonZero(totals.faults(FaultKind.Framing))).toEqual([{ label: "length_and_encoding", count: 1 }]);
    expect(nonZero(totals.wafBlocked())).toEqual([
      { label: "traversal", count: 1 },
      { label: "other", count: 1 },
    ]);
    expect(nonZero(totals.wafDetected())).toEqual([{ label: "sqli", count: 1 }]);
    expect(totals.upstreamRequests()).toEqual([{ label: "http://one:1", method: 0, status: 502, count: 1 }]);
    expect(totals.breakerTrips()).toEqual([{ label: "http://one:1", count: 1 }]);
    expect(totals.upstreamLatency().map(({ label, latency }) => [label, latency.sumMs])).toEqual([["http://one:1", 3]]);
  });

  test("an upstream without a number shares the overflow's, within the row", () => {
    const { counters, totals, buffers } = setUp(1);
    const id = counters[0]!.upstreamId("http://unknown:1");
    counters[0]!.breakerTripped(id);
    counters[0]!.breakerTripped(MAX_UPSTREAM_LABELS - 1);
    expect(totals.breakerTrips()).toContainEqual({ label: "overflow", count: 1 });
    expect(buffers[0]!.rows.byteLength).toBe(ROW_PLACES * 8);
    expect(new Float64Array(buffers[0]!.rows)[TRIPS_AT + MAX_UPSTREAM_LABELS - 1]).toBe(1);
    counters[0]!.notConnected(MAX_UPSTREAM_LABELS - 1);
    expect(new Float64Array(buffers[0]!.rows).at(-1)).toBe(1);
  });

  test("the log's backlog is what was sent and not taken, and a successor starts without one", () => {
    const { labels, buffers, counters, totals } = setUp(1);
    counters[0]!.logSent(100);
    totals.logTaken(0, 30);
    expect(counters[0]!.logBacklogChars()).toBe(70);
    expect(new WorkerCounters(buffers[0]!, labels).logBacklogChars()).toBe(0);
  });
});
