import { expect, test } from "bun:test";
import type { LiveState, LiveTarget } from "../../../../../src/features/dashboard/live-state.ts";
import { Model } from "../../../../../src/features/dashboard/page/model.ts";
import { findings, isUnderAttack, slowest } from "../../../../../src/features/dashboard/page/verdict.ts";

const START = 1_800_000_000_000;
const DAY_S = 86_400;

function stateAt(second: number, change: Partial<LiveState> = {}, classes = [0, 0, second * 100, 0, 0, 0]): LiveState {
  return {
    at: START + second * 1000,
    gateway: {
      version: "1",
      host: "gw",
      pid: 1,
      startedAt: START,
      status: "ok",
      generation: 1,
      lastReloadOk: true,
      failedLogs: [],
      waf: "enforce",
      maintenance: [],
      logLevel: "info",
      rssBytes: 0,
    },
    totals: {
      requests: classes.reduce((sum, one) => sum + one, 0),
      classes,
      bytesIn: 0,
      bytesOut: second * 1000,
      inFlight: 0,
      connections: 1,
      accepted: 1,
      wafInspected: 0,
      wafBlocked: 0,
      wafDetected: 0,
      refusals: {},
      breakerTrips: 0,
      logDropped: 0,
    },
    latency: [1, 2, 3],
    routes: [],
    routeCount: 0,
    upstreams: [],
    targets: [],
    targetCount: 0,
    hits: [],
    attackers: [],
    cache: null,
    certificates: [],
    workers: [],
    changes: [],
    modules: [],
    rows: [],
    rowsLeftOut: 0,
    ...change,
  };
}

function textsOf(...states: LiveState[]): string[] {
  const model = new Model();
  for (const state of states) model.take(state);
  return findings(model, states.at(-1)!).map(({ grade, text }) => `${grade}: ${text}`);
}

const target = (change: Partial<LiveTarget>): LiveTarget => ({
  route: "/",
  upstream: "http://a",
  breaker: "closed",
  healthy: true,
  checked: false,
  failures: 0,
  drained: false,
  ...change,
});

test("all is well where nothing is wrong", () => {
  expect(textsOf(stateAt(1), stateAt(2, { targets: [target({})], targetCount: 1 }))).toEqual([]);
});

test("what is wrong is said, the worst first", () => {
  const targets = [target({ breaker: "open" }), target({ drained: true })];
  const certificates = [
    { domain: "a", notAfterS: START / 1000 + 3 * DAY_S },
    { domain: "b", notAfterS: START / 1000 - 1 },
    { domain: "c", notAfterS: START / 1000 + 30 * DAY_S },
  ];
  const worker = { requests: 0, connections: 0, lagMs: 0, heap: 0 };
  const workers = [
    { ...worker, load: 0.95, moves: true },
    { ...worker, load: 0.1, moves: false },
  ];
  const module = { name: "shop.ts", calls: 0, failed: 0, latency: null, queued: 0, threads: 0, ends: 0, heap: 0 };
  const change = { targets, targetCount: 2, certificates, workers, modules: [module] };
  expect(textsOf(stateAt(1), stateAt(2, change, [0, 0, 100, 0, 0, 10]))).toEqual([
    "bad: 1 of 2 targets down",
    "bad: 100 % of responses are 5xx",
    "bad: Worker 1 does not respond",
    "bad: 1 module without a thread",
    "bad: Certificate of b has expired",
    "warn: 1 target drained",
    "warn: Worker 0 uses 95 % of a processor",
    "warn: Certificate of a ends in 3 days",
  ]);
});

test("rates are those of the last seconds, and begin anew when the gateway does", () => {
  const model = new Model();
  for (let second = 1; second <= 30; second++) model.take(stateAt(second, {}, [0, 0, second * second, 0, 0, 0]));
  expect(model.rateOf(({ totals }) => totals.requests)).toBe((30 ** 2 - 20 ** 2) / 10);
  expect(model.moments).toHaveLength(29);
  expect(model.moments.at(-1)).toMatchObject({ classes: [0, 0, 59, 0, 0, 0], bytesOut: 1000 });
  const again = stateAt(1);
  model.take({ ...again, at: START + 60_000, gateway: { ...again.gateway, startedAt: START + 59_000 } });
  expect([model.moments.length, model.rateOf(({ totals }) => totals.requests)]).toEqual([0, 0]);
});

test("an attack is what is refused more often than now and then; slow is what its slowest requests are", () => {
  const model = new Model();
  const { totals } = stateAt(1);
  const route = (label: string, p99: number) => ({
    label,
    requests: 1,
    classes: [0, 0, 1, 0, 0, 0],
    latency: [1, 1, p99] as const,
    bytesPerSecond: [0, 0] as const,
  });
  const routes = [route("/a", 5), route("/b", 50), route("/internal/api/status", 900)];
  model.take(stateAt(1, { routes }));
  model.take(stateAt(11, { routes, totals: { ...totals, wafBlocked: 15, refusals: { malformed: 10 } } }));
  expect(isUnderAttack(model)).toBe(true);
  expect(slowest(model.busy((state) => state.routes))?.label).toBe("/b");
});
