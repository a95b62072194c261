import { describe, expect, test } from "bun:test";
import { BreakerState } from "../../../src/shared/node-table.ts";
import { anyExchange, type FakeNodes, fakeNodes } from "../balance/balance-fake.ts";
import { MALFORMED, REFUSED, STALE, TIMED_OUT } from "../balance/failures.ts";

function setUp() {
  const fake = fakeNodes(1);
  return { ...fake, fake, node: fake.nodes[0]! };
}

/** One attempt, ended by `end`. */
function attempt(fake: FakeNodes, end: (ex: ReturnType<typeof anyExchange>) => void) {
  const ex = anyExchange();
  const entered = fake.nodes[0]!.enter(ex);
  if (entered) end(ex);
  return { ex, entered };
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
    const early = anyExchange();
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
