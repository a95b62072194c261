import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { BalancedTarget, type BreakerRules } from "../../../../src/features/balance/balancer.ts";
import { BreakerState } from "../../../../src/memory/node-table.ts";
import { Attempt, type Upstream } from "../../../../src/message/exchange.ts";
import { anyExchange, type FakeNodes, fakeNodes, fakeTargets } from "./balance-fake.ts";
import { MALFORMED, REFUSED, STALE, TIMED_OUT } from "./failures.ts";

/** Answers that count as failures in these tests. */
const failureStatuses = [502, 503, 504];

function setUp(more: Partial<BreakerRules> = { failureStatuses }) {
  const fake = fakeNodes(1, undefined, 0, more);
  return { ...fake, fake, node: fake.nodes[0]! };
}

/** One attempt, ended by `end`. */
function attempt(fake: FakeNodes, end: (one: Attempt) => void) {
  const one = new Attempt();
  const entered = fake.nodes[0]!.enter(one);
  if (entered) end(one);
  return { one, entered };
}

function answer(fake: FakeNodes, status: number): void {
  const node = fake.nodes[0]!;
  attempt(fake, (ex) => {
    ex.upstreamMs = 1;
    node.onAnswer(ex, status);
    node.leave(ex);
  });
}

function series(fake: FakeNodes): Record<number, number> {
  return Object.fromEntries(fake.telemetry.totals.upstreamRequests().map(({ status, count }) => [status, count]));
}

describe("a node's breaker", () => {
  test.each([502, 503, 504])("opens after three answers with %d", (status) => {
    const { fake, table, told } = setUp();
    for (let i = 0; i < 3; i++) answer(fake, status);
    expect([table.state(0), told]).toEqual([BreakerState.Open, ["a opened"]]);
    expect(fake.telemetry.totals.breakerTrips()).toEqual([{ label: "a", count: 1 }]);
  });

  test.each([502, 503, 504])("is closed however many answers have %d that are not configured as failures", (status) => {
    const { fake, table } = setUp({});
    for (let i = 0; i < 9; i++) answer(fake, status);
    expect([table.state(0), table.failures(0)]).toEqual([BreakerState.Closed, 0]);
  });

  test.each([200, 404, 429, 500, 501, 505])("is closed however many answers have %d", (status) => {
    const { fake, table } = setUp();
    for (let i = 0; i < 9; i++) answer(fake, status);
    expect([table.state(0), table.failures(0)]).toEqual([BreakerState.Closed, 0]);
  });

  test.each([
    ["refused connections", REFUSED],
    ["time-outs", TIMED_OUT],
    ["malformed answers", MALFORMED],
  ] as const)("opens after three %s", (_name, failure) => {
    const { fake, table, node } = setUp();
    for (let i = 0; i < 3; i++) attempt(fake, (ex) => void node.onFailure(ex, failure));
    expect(table.state(0)).toBe(BreakerState.Open);
  });

  test.each([
    ["descriptors", Fault.OutOfDescriptors],
    ["ports and memory", Fault.OutOfSockets],
    ["room in a queue", Fault.OriginQueueFull],
    ["our own mistakes", Fault.InternalError],
  ] as const)("does not count the want of %s", (_name, fault) => {
    const { fake, table, node } = setUp();
    for (let i = 0; i < 9; i++) attempt(fake, (ex) => void node.onFailure(ex, { ...REFUSED, fault }));
    expect([table.state(0), table.failures(0)]).toEqual([BreakerState.Closed, 0]);
  });

  test("opens where more of a number of requests fail than may, however many succeed between them", () => {
    const { fake, table, told } = setUp({ failureStatuses, rateRequests: 20, rateFailures: 4 });
    const fails = (count: number): void => {
      for (let i = 0; i < count; i++) for (const status of [503, 200, 200]) answer(fake, status);
    };
    // 4 of 12, and 8 more of the same 20.
    fails(4);
    for (let i = 0; i < 8; i++) answer(fake, 200);
    fails(4);
    expect([table.state(0), table.failures(0)]).toEqual([BreakerState.Closed, 0]);
    answer(fake, 503);
    expect([table.state(0), told]).toEqual([BreakerState.Open, ["a opened"]]);
    // What comes back begins anew.
    table.halfOpen(0);
    answer(fake, 200);
    fails(4);
    expect(table.state(0)).toBe(BreakerState.Closed);
  });

  test("counts one request once, however often it is tried there", () => {
    const fake = fakeNodes(2);
    const [target] = fakeTargets([1], fake);
    for (let requests = 1; requests <= 2; requests++) {
      const ex = anyExchange();
      for (let i = 0; i < 5; i++) {
        target!.enter(ex);
        target!.onFailure(ex, i === 0 ? STALE : REFUSED);
      }
      expect([fake.table.state(0), fake.table.failures(0)]).toEqual([BreakerState.Closed, requests]);
    }
  });

  test("two targets on one node count one request once", () => {
    const fake = fakeNodes(1);
    const targets = [0, 1].map((i) => {
      const init = { upstream: {} as Upstream, node: fake.nodes[0]!, weight: 1, backup: false, basePath: `/${i}` };
      return new BalancedTarget({ ...init, name: `a/${i}` }, i, 0);
    });
    const ex = anyExchange();
    for (const target of targets) {
      target.enter(ex);
      target.onFailure(ex, REFUSED);
    }
    expect(fake.table.failures(0)).toBe(1);
  });

  test("is closed by the first answer where requests were sent although it was open", () => {
    const { fake, table, node, told } = setUp();
    for (let i = 0; i < 3; i++) answer(fake, 503);
    const [lost, answered, late] = [new Attempt(), new Attempt(), new Attempt()];
    for (const ex of [lost, answered, late]) node.enterAnyway(ex);
    node.onFailure(lost, REFUSED);
    expect([table.state(0), lost.isForced]).toEqual([BreakerState.Open, false]);
    node.onAnswer(answered, 200);
    node.leave(answered);
    expect([table.state(0), table.failures(0)]).toEqual([BreakerState.Closed, 0]);
    node.onAnswer(late, 200);
    node.leave(late);
    expect([told, node.inFlight]).toEqual([["a opened", "a closed"], 0]);
  });

  test("holds most of its share back when it closes, where it starts slowly", () => {
    const { fake, table, node } = setUp({ slowStartMs: 1000 });
    expect(node.share()).toBe(1);
    for (let i = 0; i < 3; i++) attempt(fake, (ex) => void node.onFailure(ex, REFUSED));
    table.halfOpen(0);
    answer(fake, 200);
    expect([table.state(0), node.share()]).toEqual([BreakerState.Closed, expect.closeTo(0.01, 6)]);
  });

  test("does not count kept connections that the origin had closed, nor clients that go away", () => {
    const { fake, table, node } = setUp();
    for (let i = 0; i < 9; i++) attempt(fake, (ex) => node.onFailure(ex, STALE));
    for (let i = 0; i < 9; i++) attempt(fake, (ex) => node.leave(ex));
    expect([table.state(0), table.failures(0), node.inFlight]).toEqual([BreakerState.Closed, 0, 0]);
  });

  const trials: readonly [string, (fake: FakeNodes) => void, BreakerState, string][] = [
    ["closes", (fake) => answer(fake, 200), BreakerState.Closed, "closed"],
    ["opens again", (fake) => answer(fake, 503), BreakerState.Open, "reopened"],
    [
      "opens again on a time-out",
      (fake) => void attempt(fake, (ex) => fake.nodes[0]!.onFailure(ex, TIMED_OUT)),
      BreakerState.Open,
      "reopened",
    ],
  ];

  test.each(trials)("%s with its trial", (_name, run, state, word) => {
    const { fake, table, told } = setUp();
    for (let i = 0; i < 3; i++) answer(fake, 503);
    expect(attempt(fake, () => {}).entered).toBe(false);
    table.halfOpen(0);
    run(fake);
    expect([table.state(0), told]).toEqual([state, ["a opened", "a trial", `a ${word}`]]);
    expect(fake.telemetry.totals.breakerTrips()[0]!.count).toBe(1);
  });

  test("keeps the trial for another where its client goes away or its connection is stale", () => {
    const { fake, table, node } = setUp();
    for (let i = 0; i < 3; i++) answer(fake, 503);
    table.halfOpen(0);
    attempt(fake, (ex) => node.leave(ex));
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
    attempt(fake, (ex) => node.onFailure(ex, STALE));
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
    expect(node.inFlight).toBe(0);
  });

  test("is not closed by an answer to a request from before", () => {
    const { fake, table, node } = setUp();
    const early = new Attempt();
    node.enter(early);
    for (let i = 0; i < 3; i++) answer(fake, 503);
    node.onAnswer(early, 200);
    expect(table.state(0)).toBe(BreakerState.Open);
  });
});

describe("attempts are counted", () => {
  test("by status, once each, with the time to the answer's head", () => {
    const { fake, node, turn } = setUp();
    for (const status of [200, 200, 404, 200]) answer(fake, status);
    attempt(fake, (ex) => {
      turn.nowMs += 30;
      node.onFailure(ex, TIMED_OUT);
    });
    attempt(fake, (ex) => node.onFailure(ex, REFUSED));
    attempt(fake, (ex) => {
      turn.nowMs += 10;
      node.leave(ex);
    });
    expect(series(fake)).toEqual({ 200: 3, 404: 1, 499: 1, 502: 1, 504: 1 });
    const [latency] = fake.telemetry.totals.upstreamLatency();
    expect([latency!.label, latency!.latency.count, latency!.latency.sumMs]).toEqual(["a", 7, 44]);
  });

  test("beyond 599 as 599", () => {
    const { fake } = setUp();
    answer(fake, 799);
    expect(series(fake)).toEqual({ 599: 1 });
  });
});
