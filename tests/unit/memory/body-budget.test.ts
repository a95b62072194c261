import { describe, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { AddressTally, clearTallyOf, createAddressTally } from "../../../src/memory/address-tally.ts";
import { BodyBudget, createBodyBudget, returnBudgetOf } from "../../../src/memory/body-budget.ts";
import type { BodyHold } from "../../../src/memory/body-hold.ts";

const KIB = 1024;

/** Several workers with one budget of 64 KiB in memory, half of it for one address, and 64 KiB on the disk. */
function setUp(workers = 2) {
  const turn = { nowMs: 1000 };
  const buffers = createBodyBudget(workers, [7, 9]);
  const limits = { memoryBytes: 64 * KIB, share: 0.5, diskBytes: 64 * KIB };
  const budgets = Array.from({ length: workers }, (_, i) => new BodyBudget(buffers, i, turn, limits));
  const evicted: string[] = [];
  const open = (name: string, clientIp: string, budget = budgets[0]!): BodyHold => {
    const owner = {
      onCounted: () => {},
      onEvicted: (key: string) => void evicted.push(`${name} ${key.split("_").at(-1)}`),
    };
    return budget.open(owner, { clientIp });
  };
  /** A body that has come some time ago and stands still. */
  const stalled = (name: string, clientIp: string, bytes: number, budget = budgets[0]!): BodyHold => {
    const hold = open(name, clientIp, budget);
    hold.progress(bytes);
    expect(hold.growTo(bytes)).toBe(Fault.None);
    return hold;
  };
  return { turn, buffers, budgets, evicted, open, stalled };
}

describe("the budget for bodies", () => {
  test("does not count a body that was let go before the next one began", () => {
    const { budgets, open } = setUp();
    for (let i = 0; i < 3; i++) open("whole", "192.0.2.1").release();
    const [budget] = budgets;
    expect(budget!.memory.ownBytes).toBe(0);
  });

  test("gives one address its share: the slowest of its own bodies ends", () => {
    const { turn, evicted, stalled, open } = setUp();
    stalled("old", "192.0.2.1", 10 * KIB);
    turn.nowMs += 5000;
    stalled("new", "192.0.2.1", 20 * KIB);
    stalled("other", "192.0.2.2", 10 * KIB);
    const asking = open("asking", "192.0.2.1");
    expect(asking.growTo(10 * KIB)).toBe(Fault.None);
    expect(evicted).toEqual(["old share"]);
  });

  test("ends the slowest of all when it is full, whoever asks", () => {
    const { turn, evicted, stalled, open } = setUp();
    stalled("a", "192.0.2.1", 30 * KIB);
    const fast = stalled("b", "192.0.2.2", 30 * KIB);
    turn.nowMs += 4000;
    fast.progress(500 * KIB);
    expect(open("c", "192.0.2.3").growTo(20 * KIB)).toBe(Fault.None);
    expect(evicted).toEqual(["a bytes"]);
  });

  test("tells one that comes slowest itself so, and one that nobody makes room for", () => {
    const { turn, stalled, open, budgets } = setUp();
    const slow = stalled("slow", "192.0.2.1", 1 * KIB);
    turn.nowMs += 4000;
    const fast = stalled("fast", "192.0.2.1", 30 * KIB);
    fast.progress(100 * KIB);
    expect([slow.growTo(8 * KIB), slow.refusedBy]).toEqual([Fault.BodyEvicted, "proxy.transport.max_buffered_share"]);
    slow.release();
    fast.settle();
    const late = open("late", "192.0.2.1");
    expect(late.growTo(8 * KIB)).toBe(Fault.BuffersFull);
    late.release();
    fast.release();
    expect(budgets[0]!.memory.ownBytes).toBe(0);
  });

  test("spares a body that has just begun", () => {
    const { turn, evicted, stalled, open } = setUp();
    stalled("old", "192.0.2.1", 31 * KIB);
    turn.nowMs += 900;
    expect(open("newcomer", "192.0.2.1").growTo(2 * KIB)).toBe(Fault.None);
    expect(evicted).toEqual(["old share"]);
  });

  test("is one for all workers: what one holds the others lack, until they make room", () => {
    const { turn, budgets, evicted, stalled, open } = setUp(3);
    const [, second, third] = budgets;
    stalled("a", "192.0.2.1", 30 * KIB, second);
    stalled("b", "192.0.2.2", 30 * KIB, second);
    turn.nowMs += 2000;
    const hold = open("c", "192.0.2.3", third);
    expect(hold.growTo(10 * KIB)).toBe(Fault.BuffersFull);
    hold.release();
    // The next tick of the others makes room: whoever stands longest goes.
    expect(evicted).toEqual([]);
    stalled("d", "192.0.2.4", 4 * KIB, third);
    second!.tick();
    expect(evicted).toEqual([]);
    const again = open("e", "192.0.2.5", third);
    again.growTo(10 * KIB);
  });

  test("takes back what a worker held that ended", () => {
    const { buffers, budgets, stalled, open } = setUp();
    stalled("a", "192.0.2.1", 32 * KIB, budgets[1]);
    expect(open("b", "192.0.2.1", budgets[0]).growTo(KIB)).toBe(Fault.BuffersFull);
    returnBudgetOf(buffers, 1);
    expect(open("c", "192.0.2.1", budgets[0]).growTo(KIB)).toBe(Fault.None);
  });

  test("counts files by themselves, and ends the slowest there", () => {
    const { turn, evicted, stalled } = setUp();
    const first = stalled("first", "192.0.2.1", KIB);
    expect(first.spool(40 * KIB)).toBe(Fault.None);
    turn.nowMs += 3000;
    const second = stalled("second", "192.0.2.2", KIB);
    second.progress(900 * KIB);
    expect(second.spool(40 * KIB)).toBe(Fault.None);
    expect(evicted).toEqual(["first bytes"]);
  });
});

describe("the tally of addresses", () => {
  test("keeps IPv4 addresses apart, and takes a /64 of IPv6 for one", () => {
    const tally = new AddressTally(createAddressTally(1, [1, 2]), 0);
    const ids = ["192.0.2.1", "192.0.2.2", "2001:db8:0:1::1", "2001:db8:0:2::1", ""].map((one) => tally.idOf(one));
    expect(new Set(ids).size).toBe(ids.length);
    expect(tally.idOf("2001:db8:0:1:ffff::9")).toBe(ids[2]!);
    expect(tally.idOf("::ffff:192.0.2.1")).toBe(ids[0]!);
  });

  test("adds up all workers, and forgets one that has ended", () => {
    const buffer = createAddressTally(3, [1, 2]);
    const tallies = [0, 1, 2].map((worker) => new AddressTally(buffer, worker));
    const id = tallies[0]!.idOf("192.0.2.1");
    for (const [i, tally] of tallies.entries()) tally.add(id, i + 1);
    expect(tallies[1]!.total(id)).toBe(6);
    clearTallyOf(buffer, 2);
    expect(tallies[0]!.total(id)).toBe(3);
  });
});
