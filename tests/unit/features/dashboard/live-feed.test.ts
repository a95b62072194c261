import { expect, test } from "bun:test";
import { LiveFeed } from "../../../../src/features/dashboard/live-feed.ts";
import type { LiveState } from "../../../../src/features/dashboard/live-state.ts";
import type { SeenTraffic } from "../../../../src/features/dashboard/traffic-observer.ts";
import { createIncidentRing, IncidentReader } from "../../../../src/memory/incident-ring.ts";
import { fakeTelemetry } from "../telemetry/telemetry-fake.ts";
import { liveState, target } from "./live-states.ts";

const NOTHING_SEEN: SeenTraffic = {
  refused: [],
  rows: [],
  rowsLeftOut: 0,
  vitals: { cpuMicros: 0, lagMs: 0, heap: 0 },
};

function setUp(targets: LiveState["targets"] = []) {
  const sent: { worker: number; state: LiveState }[] = [];
  const observed: boolean[] = [];
  const feed = new LiveFeed({
    totals: fakeTelemetry().totals,
    incidents: new IncidentReader(createIncidentRing()),
    workers: 1,
    moves: () => true,
    gateway: () => liveState().gateway,
    targets: () => targets,
    certificates: () => [],
    cache: () => null,
    modules: () => [],
    objectives: () => [],
    canaries: () => [],
    rooms: () => [],
    bans: () => [],
    sources: () => ({ counts: {}, losers: [], loserCount: 0 }),
    exclusionOf: () => "",
    observe: (isWatched) => observed.push(isWatched),
    send: (worker, text) => sent.push({ worker, state: JSON.parse(text) }),
  });
  return { feed, sent, observed };
}

test("workers look at their traffic from the first watcher to the last, and only those with watchers get events", () => {
  const { feed, sent, observed } = setUp();
  feed.tick(1000);
  expect([observed, sent]).toEqual([[], []]);
  expect(feed.watch(0).status).toBe(200);
  feed.watch(0);
  feed.tick(2000);
  expect(sent.map(({ worker }) => worker)).toEqual([0]);
  feed.setWatchers(0, 0);
  feed.tick(3000);
  expect([observed, sent.length]).toEqual([[true, false], 1]);
});

test("a worker that dies takes its watchers along", () => {
  const { feed, observed } = setUp();
  for (let i = 0; i < 32; i++) expect(feed.watch(0).status).toBe(200);
  expect(feed.watch(0).status).toBe(503);
  feed.workerDied(0);
  expect(observed).toEqual([true, false]);
  expect(feed.watch(0).status).toBe(200);
});

test("rows are told once, in the order of their ends, and those that are too many are counted", () => {
  const { feed, sent } = setUp();
  feed.watch(0);
  const rows = Array.from({ length: 100 }, (_, i) => ({ at: 1000 - i }) as SeenTraffic["rows"][number]);
  feed.seen(0, { ...NOTHING_SEEN, rows, rowsLeftOut: 5 });
  feed.tick(1000);
  feed.tick(2000);
  const [first, second] = sent.map(({ state }) => state);
  expect([first!.rows.length, first!.rowsLeftOut, second!.rows, second!.rowsLeftOut]).toEqual([60, 45, [], 0]);
  expect(first!.rows.map(({ at }) => at)).toEqual(first!.rows.map(({ at }) => at).toSorted((a, b) => a - b));
});

test("changes are kept, whatever flaps meanwhile", () => {
  const { feed, sent } = setUp();
  feed.changed("config_reload", { ok: false, faults: ["a", "b"] });
  for (let i = 0; i < 500; i++) feed.changed("breaker_open", { upstream: `http://${i}` });
  feed.changed("start", { note: "nothing" });
  feed.watch(0);
  feed.tick(1000);
  const { changes } = sent[0]!.state;
  expect(changes).toHaveLength(16);
  expect(changes[0]).toMatchObject({ event: "breaker_open", text: "upstream: http://499", bad: true });
  expect(changes.at(-1)).toMatchObject({ event: "config_reload", text: "ok: false, faults: a; b", bad: true });
});

test("an action with an event of its own is one change, with who wanted it, whichever is told first", () => {
  const { feed, sent } = setUp();
  feed.changed("config_reload", { ok: true, generation: 2 });
  feed.changed("audit", { action: "reload", by: "signal", from: "SIGHUP", ok: true, generation: 2 });
  feed.changed("audit", { action: "log_reopen", by: "signal", from: "SIGUSR1" });
  feed.changed("log_reopen", { ok: true });
  feed.changed("audit", { action: "drain", by: "ann", from: "10.0.0.1", ok: true });
  feed.watch(0);
  feed.tick(1000);
  expect(sent[0]!.state.changes.map(({ event, text }) => [event, text])).toEqual([
    ["audit", "action: drain, by: ann, from: 10.0.0.1, ok: true"],
    ["log_reopen", "ok: true, by: signal, from: SIGUSR1"],
    ["config_reload", "ok: true, generation: 2, by: signal, from: SIGHUP"],
  ]);
});

test("a clock that is set back begins a new past", () => {
  const { feed } = setUp();
  feed.watch(0);
  for (const at of [10_000, 11_000, 5000, 6000]) feed.tick(at);
  const { history } = JSON.parse(feed.watch(0).body) as LiveState;
  expect(history!.map(([at]) => at)).toEqual([5000, 6000]);
});

test("the verdict goes with the event, and is of all targets, not only of those that there is room for", () => {
  const targets = Array.from({ length: 1000 }, (_, i) => target({ upstream: `http://${i}`, healthy: i >= 300 }));
  const { feed, sent } = setUp(targets);
  const { verdict } = JSON.parse(feed.watch(0).body) as LiveState;
  expect(verdict.findings.map(({ text }) => text)).toEqual([
    "300 of 1,000 targets out: http://0, http://1, http://2 and 297 more",
  ]);
  feed.tick(1000);
  expect([sent[0]!.state.verdict, sent[0]!.state.targets.length]).toEqual([verdict, 200]);
});
