import { expect, test } from "bun:test";
import { ShownAddresses } from "../../../../src/core/address-mask.ts";
import { Fault } from "../../../../src/core/fault.ts";
import { TrafficObserver } from "../../../../src/features/dashboard/traffic-observer.ts";
import { fakeExchange, fakeRoute } from "../telemetry/exchange-fake.ts";

const VITALS = { cpuMicros: 1, lagMs: 0, heap: 0 };

function setUp() {
  return new TrafficObserver({ clock: { nowMs: 5 }, unmatched: "unmatched", addresses: new ShownAddresses() });
}

function ended(observer: TrafficObserver, route: string, client: string, status = 200, fault = Fault.None): void {
  const { ex } = fakeExchange({ client });
  ex.route = fakeRoute(route);
  ex.fault = fault;
  ex.step = 1;
  ex.startedMs = 1;
  ex.endedMs = 3;
  observer.ended(ex, status);
}

test("a flood of addresses and requests takes no more room than there is", () => {
  const observer = setUp();
  for (let i = 0; i < 2000; i++) ended(observer, `/route/${i}`, `2001:db8::${i.toString(16)}`, 403, Fault.WafBlocked);
  const seen = observer.take(VITALS);
  expect([seen.refused.length, seen.rows.length]).toEqual([256, 40]);
  expect(seen.rowsLeftOut).toBe(1960);
  const next = observer.take(VITALS);
  expect([next.refused, next.rows, next.rowsLeftOut]).toEqual([[], [], 0]);
});

test("requests that went well leave room for those that did not, and are fewer where there are many", () => {
  const observer = setUp();
  const shownOf = (requests: number): number => {
    for (let i = 0; i < requests; i++) ended(observer, "/", "192.0.2.1");
    return observer.take(VITALS).rows.length;
  };
  expect([shownOf(100), shownOf(1000), shownOf(1000), shownOf(100)]).toEqual([20, 20, 6, 6]);
  expect(shownOf(100)).toBe(20);
});

test("what a worker tells a second is bounded, however many requests there were", () => {
  const observer = setUp();
  const told = (requests: number): number => {
    for (let i = 0; i < requests; i++) ended(observer, `/route/${i % 3}`, `192.0.2.${i % 50}`);
    return JSON.stringify(observer.take(VITALS)).length;
  };
  const few = told(100);
  expect(told(20_000)).toBeLessThan(few + 200);
});

test("every request is a row, or is counted among those left out", () => {
  const observer = setUp();
  for (const requests of [1, 20, 256, 1000]) {
    for (let i = 0; i < requests; i++) ended(observer, "/a", "192.0.2.1", i % 2 === 0 ? 200 : 503);
    const { rows, rowsLeftOut } = observer.take(VITALS);
    expect(rows.length + rowsLeftOut).toBe(requests);
  }
});

test("who watches is not among what is watched", () => {
  const observer = setUp();
  ended(observer, "/internal/api/stream", "127.0.0.1");
  expect(observer.take(VITALS)).toMatchObject({ refused: [], rows: [], rowsLeftOut: 0 });
});

test("a refusal is the gateway's own, and the client's fault", () => {
  const refused = (status: number, fault: Fault) => {
    const observer = setUp();
    ended(observer, "/", "192.0.2.1", status, fault);
    return observer.take(VITALS).refused.map(({ reason }) => reason);
  };
  expect(refused(403, Fault.WafBlocked)).toEqual(["waf_blocked"]);
  expect(refused(400, Fault.BadHost)).toEqual(["bad_host"]);
  expect(refused(413, Fault.BodyTooLarge)).toEqual(["body_too_large"]);
  expect(refused(429, Fault.None)).toEqual(["rate_limited"]);
  expect(refused(401, Fault.None)).toEqual(["unauthenticated"]);
  expect(refused(404, Fault.NotFound)).toEqual([]);
  expect(refused(502, Fault.UpstreamUnavailable)).toEqual([]);
});
