import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { Fault, FaultKind } from "../../../../src/core/fault.ts";
import { CountersTap } from "../../../../src/features/telemetry/counters-tap.ts";
import { COUNTERS } from "../../../../src/memory/counter-rows.ts";
import { Verdict } from "../../../../src/message/exchange.ts";
import { METHOD_COUNT, Method, methodOf } from "../../../../src/message/request-head.ts";
import { COUNTED_STATUSES } from "../../../../src/message/route.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";
import { fakeExchange, fakeRoute } from "./exchange-fake.ts";
import { fakeTelemetry, loggedLines } from "./telemetry-fake.ts";

function setUp() {
  const telemetry = fakeTelemetry(["/node"]);
  return { ...telemetry, telemetry, tap: new CountersTap(telemetry.counters, telemetry.refusals) };
}

describe("counters tap", () => {
  test("a request is in flight from the first phase to the end", () => {
    const { tap, totals } = setUp();
    const { ex } = fakeExchange({ status: 200 });
    expect(tap.run(ex)).toBe(Verdict.Next);
    expect(totals.sum(COUNTERS.requestsInFlight)).toBe(1);
    tap.onEnd(ex);
    expect(totals.sum(COUNTERS.requestsInFlight)).toBe(0);
  });

  test("it is counted by route, method and status, with bytes and time", () => {
    const { tap, totals } = setUp();
    const { ex } = fakeExchange({ method: "POST", route: fakeRoute("/node"), status: 201 });
    ex.bodyBytes = 12;
    ex.sentBytes = 34;
    tap.onEnd(ex);
    expect(totals.requests()).toEqual([{ label: "/node", method: Method.Post, status: 201, count: 1 }]);
    expect(totals.bodyBytes()).toEqual({ bytesIn: 12, bytesOut: 34 });
    expect(totals.requestLatency().count).toBe(1);
    expect(totals.requestLatency().sumMs).toBe(2.5);
  });

  test("a route remembers the slot, and another generation of it counts on", () => {
    const { tap, totals } = setUp();
    const route = fakeRoute("/node");
    for (const one of [route, route, fakeRoute("/node")]) tap.onEnd(fakeExchange({ route: one, status: 200 }).ex);
    expect(route.counterSlots[Method.Get * COUNTED_STATUSES + 100]).toBe(1);
    expect(totals.requests()).toEqual([{ label: "/node", method: Method.Get, status: 200, count: 3 }]);
  });

  test("without a route the path is `unmatched`, an unknown method is OTHER", () => {
    const { tap, totals } = setUp();
    tap.onEnd(fakeExchange({ method: "BREW", status: 404 }).ex);
    expect(totals.requests()).toEqual([{ label: "unmatched", method: Method.Other, status: 404, count: 1 }]);
  });

  test("a million requests of random methods and statuses fill the table at most, and each is counted", () => {
    const labels = Array.from({ length: 40 }, (_, i) => `/r${i}`);
    const telemetry = fakeTelemetry(labels);
    const tap = new CountersTap(telemetry.counters, telemetry.refusals);
    const routes = [null, ...labels.map(fakeRoute)];
    const random = new SeededRandom(5);
    const { ex } = fakeExchange({ status: 200 });
    Bun.gc(true);
    const heapBefore = heapStats().objectCount;
    for (let i = 0; i < 1_000_000; i++) {
      const name = random.bytes(random.integer(0, 1) + 3);
      ex.request.method = i % 2 === 0 ? random.integer(0, METHOD_COUNT - 1) : methodOf(name, 0, name.length);
      ex.response.status = random.integer(100, 599);
      ex.route = routes[random.integer(0, routes.length - 1)]!;
      tap.onEnd(ex);
    }
    Bun.gc(true);
    const grownBy = heapStats().objectCount - heapBefore;
    const series = telemetry.totals.requests();
    expect(series.length).toBeLessThanOrEqual(16_384);
    expect(series.reduce((sum, { count }) => sum + count, 0)).toBe(1_000_000);
    expect(grownBy).toBeLessThan(50_000);
  });

  const statuses: [number, Fault, number][] = [
    [200, Fault.None, 200],
    [0, Fault.Cancelled, 499],
    [0, Fault.BodyTimeout, 408],
    [0, Fault.None, 499],
    [799, Fault.None, 599],
    [101, Fault.Cancelled, 101],
  ];
  test.each(statuses)("status %d with fault %d counts as %d", (status, fault, counted) => {
    const { tap, totals } = setUp();
    const { ex } = fakeExchange({ status });
    ex.fault = fault;
    tap.onEnd(ex);
    expect(totals.requests()[0]!.status).toBe(counted);
  });

  test("a refused head counts as a request and a framing rejection, never as in flight or as a duration", () => {
    const { tap, totals, telemetry } = setUp();
    const { ex } = fakeExchange({ status: 400, client: "192.0.2.1" });
    ex.step = 0;
    ex.fault = Fault.SpaceBeforeColon;
    tap.onEnd(ex);
    expect(totals.requests()[0]!.count).toBe(1);
    expect(totals.faults(FaultKind.Framing).filter(({ count }) => count > 0)).toEqual([
      { label: "space_before_colon", count: 1 },
    ]);
    expect(totals.sum(COUNTERS.requestsInFlight)).toBe(0);
    expect(totals.requestLatency().count).toBe(0);
    expect(loggedLines(telemetry)).toEqual([
      {
        time: "2026-01-31T12:00:00.000Z",
        timestamp: "2026-01-31T12:00:00.000Z",
        event: "framing_reject",
        request_id: "",
        client_ip: "192.0.2.1",
        reason: "space_before_colon",
        status: 400,
      },
    ]);
  });

  test("a refusal that is not about framing is no framing rejection", () => {
    const { tap, telemetry } = setUp();
    const { ex } = fakeExchange({ status: 403 });
    ex.fault = Fault.WafBlocked;
    tap.onEnd(ex);
    expect(loggedLines(telemetry)).toEqual([]);
  });
});
