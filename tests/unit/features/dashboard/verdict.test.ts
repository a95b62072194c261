import { describe, expect, test } from "bun:test";
import type { LiveState } from "../../../../src/features/dashboard/live-state.ts";
import { targetState, verdict } from "../../../../src/features/dashboard/verdict.ts";
import { liveState, module, target } from "./live-states.ts";

const { gateway, totals, workers, at } = liveState();
const DAY_MS = 86_400_000;
const certificate = (domain: string, days: number) => ({ domain, notAfterS: (at + days * DAY_MS) / 1000 });
/** So many requests, and 5xx among them, in the last minute. */
const minute = (requests: number, failed: number): Partial<LiveState> => ({
  totals: { ...totals, classes: [0, 0, 100 + requests - failed, 0, 0, failed] },
  history: [
    [at - 90_000, [0, 0, 0, 0, 0, 0], null, 0, 0, 0],
    [at - 50_000, [0, 0, 100, 0, 0, 0], null, 0, 0, 0],
  ],
});

test("a gateway that is well has nothing to say", () => {
  const { verdict: found } = liveState({
    certificates: [certificate("a.test", 7)],
    workers: [{ ...workers[0]!, load: 0.9 }],
    ...minute(1000, 9),
  });
  expect(found).toEqual({ word: "well", isWell: true, errorShare: 0.009, findings: [] });
});

describe("what is wrong is said", () => {
  const cases: [string, Partial<LiveState>][] = [
    ["the gateway is draining", { gateway: { ...gateway, status: "draining" } }],
    [
      "the last reload failed: still serving the previous configuration",
      { gateway: { ...gateway, lastReloadOk: false } },
    ],
    ["the access log cannot be written: /var/log/x", { gateway: { ...gateway, failedLogs: ["/var/log/x"] } }],
    [
      "hardly a descriptor is left (RLIMIT_NOFILE): requests get 503, connections wait",
      { gateway: { ...gateway, lacksDescriptors: true } },
    ],
    [
      "40 connections of 40 (server.max_connections): others wait",
      { gateway: { ...gateway, connectionLimit: 40 }, totals: { ...totals, connections: 40 } },
    ],
    ["1 worker of 2 stalled or starting: 1", { workers: [workers[0]!, { ...workers[0]!, moves: false }] }],
    ["1 of 2 targets out: http://b", { targets: [target(), target({ upstream: "http://b", breaker: "open" })] }],
    ["1 module without a thread: shop.ts", { modules: [module(), module({ name: "shop.ts", threads: 0 })] }],
    ["/api has no target left", { targets: [target({ drained: true }), target({ healthy: false })] }],
    [
      "2 routes have no target left: /api, /b",
      { targets: [target({ healthy: false }), target({ route: "/b", healthy: false })] },
    ],
    ["1 certificate near the end: a.test in 6d", { certificates: [certificate("a.test", 6)] }],
    [
      "2 certificates expired: b.test, a.test",
      { certificates: [certificate("a.test", 0), certificate("b.test", -1), certificate("c.test", 8)] },
    ],
    ["10 % of the requests of the last minute got 5xx", minute(100, 10)],
    ["5 % of the requests of the last minute got 5xx", minute(20, 1)],
  ];
  test.each(cases)("%s", (text, change) => {
    const found = liveState(change).verdict;
    expect(found.findings).toContainEqual(expect.objectContaining({ isBad: true, text }));
    expect([found.word, found.isWell]).toEqual(["not well", false]);
  });

  const notes: [string, Partial<LiveState>][] = [
    ["under maintenance: /a, /b, /c and 1 more", { gateway: { ...gateway, maintenance: ["/a", "/b", "/c", "/d"] } }],
    ["drained: http://b", { targets: [target(), target({ upstream: "http://b", drained: true })] }],
    [
      "on trial after failures: http://b",
      { targets: [target(), target({ upstream: "http://b", breaker: "half-open" })] },
    ],
    ["2 lines of the log dropped", { totals: { ...totals, logDropped: 2 } }],
    ["the log level is warn", { gateway: { ...gateway, logLevel: "warn" } }],
    ["1 worker of 2 uses over 90 % of a CPU: 1", { workers: [workers[0]!, { ...workers[0]!, load: 0.91 }] }],
    ["2 % of the requests of the last minute got 5xx", minute(100, 2)],
  ];
  test.each(notes)("%s, and it is well all the same", (text, change) => {
    const found = liveState(change).verdict;
    expect(found.findings.map((one) => [one.isBad, one.text])).toEqual([[false, text]]);
    expect([found.word, found.isWell]).toEqual(["well, with notes", true]);
  });
});

test("a route whose target is out has one left if another stands in", () => {
  const out = target({ upstream: "http://new", breaker: "open", hasStandIn: true });
  expect(liveState({ targets: [out] }).verdict.findings.map(({ text }) => text)).toEqual([
    "1 of 1 target out: http://new",
  ]);
});

test("few requests, and those of before, say nothing about errors", () => {
  expect(liveState(minute(19, 19)).verdict).toMatchObject({ errorShare: 1, findings: [] });
  expect(liveState(minute(0, 0)).verdict.errorShare).toBe(null);
  const old = liveState({ history: [[at - 61_000, [0, 0, 0, 0, 0, 0], null, 0, 0, 0]] });
  expect([verdict(old, []).findings, old.verdict.findings]).toEqual([[], []]);
});

test("the bad comes first, and a verdict is short however much is wrong", () => {
  const many = Array.from({ length: 5000 }, (_, i) => i);
  const found = liveState({
    gateway: { ...gateway, logLevel: "debug", maintenance: many.map((i) => `/${i}`) },
    targets: many.map((i) => target({ route: `/${i}`, upstream: `http://${i}`, healthy: false, drained: true })),
    certificates: many.map((i) => certificate(`${i}.test`, (i % 9) - 3)),
    modules: many.map((i) => module({ name: `${i}.ts`, threads: 0 })),
    workers: many.map((i) => ({ ...workers[0]!, moves: i % 2 === 0, load: 1 })),
  }).verdict.findings;
  expect(found.map(({ isBad }) => isBad)).toEqual(
    found.map(({ isBad }) => isBad).sort((a, b) => Number(b) - Number(a)),
  );
  expect(Math.max(...found.map(({ text }) => text.length))).toBeLessThan(120);
  expect(found.length).toBeLessThan(12);
});

test("a target has one state, in words that the dashboard, status and top share", () => {
  const states = [target(), target({ breaker: "open" }), target({ breaker: "half-open" })].map(targetState);
  expect(states).toEqual(["in use", "breaker open", "breaker half-open"]);
  expect(targetState(target({ healthy: false, breaker: "open" }))).toBe("unhealthy");
  expect(targetState(target({ healthy: false, drained: true }))).toBe("drained");
});
