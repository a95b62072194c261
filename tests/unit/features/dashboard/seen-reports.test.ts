import { expect, test } from "bun:test";
import { ShownAddresses } from "../../../../src/core/address-mask.ts";
import { TICK_MS } from "../../../../src/core/timer-wheel.ts";
import { SeenReports } from "../../../../src/features/dashboard/seen-reports.ts";
import { type SeenTraffic, TrafficObserver } from "../../../../src/features/dashboard/traffic-observer.ts";
import { fakeExchange, fakeRoute } from "../telemetry/exchange-fake.ts";

test("a worker says once a second what it has seen, however many requests there are, and nothing once it is told to stop", async () => {
  const observer = new TrafficObserver({
    clock: { nowMs: 5 },
    unmatched: "unmatched",
    addresses: new ShownAddresses(),
  });
  const told: SeenTraffic[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const shown: boolean[] = [];
  const tell = (seen: string): void => {
    told.push(JSON.parse(seen) as SeenTraffic);
    if (told.length === 2) resolve();
  };
  const reports = new SeenReports(observer, tell, (one) => shown.push(one === observer));
  const { ex } = fakeExchange({});
  Object.assign(ex, { route: fakeRoute("/a"), step: 1, startedMs: 1, endedMs: 3 });
  observer.ended(ex, 200);
  const startedMs = performance.now();
  reports.observe(true);
  let requests = 0;
  const load = setInterval(() => {
    for (let i = 0; i < 1000; i++) observer.ended(ex, i % 2 === 0 ? 200 : 503);
    requests += 1000;
    reports.tick();
  }, TICK_MS);
  await promise;
  clearInterval(load);
  reports.observe(false);
  expect([reports.isOn, shown]).toEqual([false, [true, false]]);
  expect((performance.now() - startedMs) / 1000).toBeGreaterThan(1.9);
  const counted = told.reduce((sum, { rows, rowsLeftOut }) => sum + rows.length + rowsLeftOut, 0);
  // What was seen before the start is not told.
  expect(counted).toBe(requests);
  expect(told.map(({ rows }) => rows.length <= 40)).toEqual([true, true]);
  expect(told.every(({ vitals }) => vitals.heap > 0 && vitals.lagMs >= 0)).toBe(true);
  reports.tick();
  expect(told).toHaveLength(2);
});
