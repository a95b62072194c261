import { describe, expect, test } from "bun:test";
import { BreakerWatch } from "../../../src/control/breaker-watch.ts";
import { BreakerState, createNodeTable, NodeTable } from "../../../src/memory/node-table.ts";
import { NodeList } from "../../../src/worker/node-list.ts";
import { configOf } from "../loading/any-config.ts";
import { FakeTime } from "../upstream/fake-time.ts";

const ROUTES = `
- {type: upstream, prefix: /a, target: "http://10.0.0.1:1", circuit_breaker: {failure_threshold: 3, open_duration: 30s}}
- {type: upstream, prefix: /b, target: "http://10.0.0.1:2"}
`;

function setUp() {
  const time = new FakeTime();
  const events: Record<string, unknown>[] = [];
  const list = new NodeList(configOf("", ROUTES));
  const table = new NodeTable(createNodeTable(list.nodes.length));
  const event = (name: string, fields: object) => void events.push({ name, ...fields });
  /** The probes: when they were made, and what each is told. */
  const probes: { atMs: number; done: (succeeded: boolean) => void }[] = [];
  const probe = (_node: unknown, done: (succeeded: boolean) => void) => void probes.push({ atMs: time.nowMs, done });
  const watch = new BreakerWatch({ now: () => time.nowMs, after: time.after, event, probe }, list, table);
  const { key } = list.nodes[0]!;
  const open = () => {
    for (let i = 0; i < 3; i++) table.failed(0, 3);
    watch.onChange(key, "opened");
  };
  return { time, events, list, table, watch, key, open, probes };
}

describe("the watch over breakers", () => {
  test("ends the open time, and writes what happened once", () => {
    const { time, events, table, watch, key, open } = setUp();
    open();
    time.pass(29_999);
    expect(table.state(0)).toBe(BreakerState.Open);
    time.pass(1);
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
    table.takeTrial(0, 0);
    watch.onChange(key, "trial");
    table.endTrial(0, false);
    watch.onChange(key, "reopened");
    time.pass(30_000);
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
    table.takeTrial(0, 0);
    watch.onChange(key, "trial");
    table.endTrial(0, true);
    watch.onChange(key, "closed");
    time.pass(100_000);
    expect(table.state(0)).toBe(BreakerState.Closed);
    expect(events).toEqual([
      { name: "breaker_open", upstream: "http://10.0.0.1:1", failures: 3, open_ms: 30_000 },
      { name: "breaker_closed", upstream: "http://10.0.0.1:1", open_for_ms: 60_000 },
    ]);
  });

  test("asks every second while it is open, and lets one request try as soon as a probe succeeds", () => {
    const { time, table, watch, key, open, probes } = setUp();
    open();
    time.pass(1000);
    expect(probes.length).toBe(1);
    // A slow one is not overtaken by the next.
    time.pass(3000);
    expect(probes.length).toBe(1);
    probes[0]!.done(false);
    time.pass(0);
    expect(probes.length).toBe(2);
    time.pass(400);
    probes[1]!.done(false);
    time.pass(599);
    expect(probes.length).toBe(2);
    time.pass(1);
    expect(probes.length).toBe(3);
    expect(table.state(0)).toBe(BreakerState.Open);
    probes[2]!.done(true);
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
    time.pass(100_000);
    expect(probes.length).toBe(3);
    table.takeTrial(0, 0);
    watch.onChange(key, "trial");
    table.endTrial(0, false);
    watch.onChange(key, "reopened");
    time.pass(1000);
    expect(probes.length).toBe(4);
    // What was asked before open_duration was over comes late.
    time.pass(29_000);
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
    table.takeTrial(0, 0);
    watch.onChange(key, "trial");
    probes[3]!.done(true);
    expect(table.state(0)).toBe(BreakerState.Trial);
  });

  test("asks no more once it is closed, and takes over what a dead worker has opened", () => {
    const { time, table, watch, key, open, probes, events } = setUp();
    open();
    table.close(0);
    watch.onChange(key, "closed");
    time.pass(100_000);
    expect([probes.length, time.waiting]).toEqual([0, 0]);
    for (let i = 0; i < 3; i++) table.failed(0, 3);
    watch.adopt();
    watch.adopt();
    time.pass(1000);
    expect([probes.length, events.filter(({ name }) => name === "breaker_open").length]).toEqual([1, 2]);
  });

  test("stays over a breaker that another worker has opened again before this one told of its end", () => {
    const { time, table, watch, key, open, probes } = setUp();
    open();
    table.close(0);
    open();
    watch.onChange(key, "closed");
    expect(table.state(0)).toBe(BreakerState.Open);
    time.pass(1000);
    expect(probes.length).toBe(1);
  });

  test("takes a trial back that nobody ends", () => {
    const { time, table, watch, key, open } = setUp();
    open();
    time.pass(30_000);
    table.takeTrial(0, 0);
    watch.onChange(key, "trial");
    time.pass(29_999);
    expect(table.state(0)).toBe(BreakerState.Trial);
    time.pass(1);
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
  });

  test("goes on over a reload, on the new table, and forgets what is gone", () => {
    const { time, list, table, watch, key, open } = setUp();
    open();
    time.pass(10_000);
    const next = new NodeTable(createNodeTable(2));
    next.copyFrom(table, 0, 0);
    watch.use(list, next);
    time.pass(20_000);
    expect([table.state(0), next.state(0)]).toEqual([BreakerState.Open, BreakerState.HalfOpen]);
    watch.onChange(key, "reopened");
    watch.use(new NodeList(configOf("", "[]")), new NodeTable(createNodeTable(0)));
    expect(time.waiting).toBe(0);
    watch.onChange(key, "opened");
    expect(time.waiting).toBe(0);
  });

  test("opens what a worker saw open on the table of a moment ago", () => {
    const { table, watch, key } = setUp();
    watch.onChange(key, "opened");
    expect(table.state(0)).toBe(BreakerState.Open);
  });
});

describe("nodes", () => {
  test("are shared by routes with the same origin and settings, and by no others", () => {
    const { nodes } = new NodeList(
      configOf(
        "",
        `
- {type: upstream, prefix: /a, targets: [{url: "http://10.0.0.1:1/x"}, {url: "http://10.0.0.1:2"}]}
- {type: upstream, prefix: /b, targets: [{url: "http://10.0.0.1:2/y"}, {url: "http://10.0.0.1:1"}]}
- {type: upstream, prefix: /c, target: "http://10.0.0.1:1", circuit_breaker: {open_duration: 1s}}
- {type: upstream, prefix: /d, target: "http://10.0.0.1:1", health_check: {path: /h}}
- {type: upstream, prefix: /e, target: "http://10.0.0.1:1", health_check: {path: /i}}
- {type: upstream, prefix: /f, target: "http://10.0.0.1:1", retries: {attempts: 3}}
`,
      ),
    );
    expect(nodes.map(({ route, target }) => `${route.prefix} ${target.originKey}`)).toEqual([
      "/a http://10.0.0.1:1",
      "/a http://10.0.0.1:2",
      "/c http://10.0.0.1:1",
      "/d http://10.0.0.1:1",
      "/e http://10.0.0.1:1",
    ]);
  });

  test("are none while the proxy is off", () => {
    expect(new NodeList(configOf("proxy: {enabled: false}\n", ROUTES)).nodes).toEqual([]);
  });
});
