import { describe, expect, test } from "bun:test";
import { BreakerState, createNodeTable, NodeTable } from "../../../src/memory/node-table.ts";

const THRESHOLD = 3;

function tableOf(nodes = 2): NodeTable {
  return new NodeTable(createNodeTable(nodes));
}

function opened(): NodeTable {
  const table = tableOf();
  for (let i = 0; i < THRESHOLD; i++) table.failed(0, THRESHOLD);
  return table;
}

describe("a breaker", () => {
  test("begins closed and usable", () => {
    const table = tableOf();
    expect([table.state(0), table.failures(0), table.isUsable(0), table.isClosed(0)]).toEqual([
      BreakerState.Closed,
      0,
      true,
      true,
    ]);
  });

  test("opens once, at the threshold, and leaves its neighbours alone", () => {
    const table = tableOf();
    const trips = Array.from({ length: 6 }, () => table.failed(0, THRESHOLD));
    expect(trips).toEqual([false, false, true, false, false, false]);
    expect([table.state(0), table.isUsable(0), table.failures(0)]).toEqual([BreakerState.Open, false, 3]);
    expect([table.state(1), table.isUsable(1), table.failures(1)]).toEqual([BreakerState.Closed, true, 0]);
  });

  test("counts failures in a row only", () => {
    const table = tableOf();
    for (let i = 0; i < 10; i++) {
      table.failed(0, THRESHOLD);
      table.failed(0, THRESHOLD);
      table.succeeded(0);
    }
    expect([table.state(0), table.failures(0)]).toEqual([BreakerState.Closed, 0]);
  });

  test("is not moved by what comes late: neither by a success nor by a failure", () => {
    const table = opened();
    table.succeeded(0);
    expect(table.state(0)).toBe(BreakerState.Open);
    table.halfOpen(0);
    table.succeeded(0);
    expect(table.failed(0, THRESHOLD)).toBe(false);
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
  });

  test("gives its trial once", () => {
    const table = opened();
    expect(table.takeTrial(0, 0)).toBe(false);
    expect([table.halfOpen(0), table.halfOpen(0), table.isUsable(0)]).toEqual([true, false, true]);
    expect([table.takeTrial(0, 0), table.takeTrial(0, 1), table.isUsable(0)]).toEqual([true, false, false]);
  });

  test("closes with the trial's success and forgets the failures", () => {
    const table = opened();
    table.halfOpen(0);
    table.takeTrial(0, 0);
    expect([table.endTrial(0, true), table.state(0), table.failures(0)]).toEqual([true, BreakerState.Closed, 0]);
    expect(table.endTrial(0, true)).toBe(false);
  });

  test("opens again with its failure", () => {
    const table = opened();
    table.halfOpen(0);
    table.takeTrial(0, 0);
    expect([table.endTrial(0, false), table.state(0), table.failures(0)]).toEqual([true, BreakerState.Open, 4]);
  });

  test("takes a trial back that has no verdict, also one of a worker that died", () => {
    const table = opened();
    table.halfOpen(0);
    table.takeTrial(0, 2);
    table.returnTrial(0);
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
    table.takeTrial(0, 2);
    table.returnTrialsOf(1);
    expect(table.state(0)).toBe(BreakerState.Trial);
    table.returnTrialsOf(2);
    expect(table.state(0)).toBe(BreakerState.HalfOpen);
    // The verdict of a trial that was taken away counts no more.
    expect(table.endTrial(0, true)).toBe(false);
  });
});

test("an unhealthy node is not usable, whatever its breaker says", () => {
  const table = tableOf();
  table.setHealthy(0, false);
  expect([table.isHealthy(0), table.isUsable(0), table.isUsable(1)]).toEqual([false, false, true]);
  table.setHealthy(0, true);
  expect(table.isUsable(0)).toBe(true);
});

test("a new table takes the states over", () => {
  const old = opened();
  old.setHealthy(1, false);
  const table = tableOf(3);
  table.copyFrom(old, 0, 2);
  table.copyFrom(old, 1, 0);
  expect([table.state(2), table.failures(2), table.isHealthy(0), table.isUsable(1)]).toEqual([
    BreakerState.Open,
    3,
    false,
    true,
  ]);
});

test("what a worker saw on the old table is made true on the new one", () => {
  const table = tableOf();
  table.confirmOpen(0);
  expect(table.state(0)).toBe(BreakerState.Open);
  table.confirmClosed(0);
  expect(table.state(0)).toBe(BreakerState.Open);
  table.halfOpen(0);
  table.takeTrial(0, 0);
  table.confirmClosed(0);
  expect(table.state(0)).toBe(BreakerState.Closed);
});
