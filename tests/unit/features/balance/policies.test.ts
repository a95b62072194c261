import { describe, expect, test } from "bun:test";
import type { BalancedTarget, Policy } from "../../../../src/features/balance/balancer.ts";
import { LeastConnections } from "../../../../src/features/balance/least-connections.ts";
import { SmoothRoundRobin } from "../../../../src/features/balance/smooth-round-robin.ts";
import { TwoChoices, WeightedRandom } from "../../../../src/features/balance/weighted-random.ts";
import { BreakerState } from "../../../../src/memory/node-table.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";
import { anyExchange, fakeNodes, fakeTargets, nameOf } from "./balance-fake.ts";

const ex = anyExchange();

function picks(policy: Policy, targets: readonly BalancedTarget[], count: number, tried = 0): string {
  const names = Array.from({ length: count }, () => {
    const target = policy.pick(ex, tried);
    return target === null ? "-" : nameOf(targets.indexOf(target));
  });
  return names.join("");
}

function opened(count: number, ...slots: readonly number[]) {
  const fake = fakeNodes(count);
  for (const slot of slots) for (let i = 0; i < 3; i++) fake.table.failed(slot, 3);
  return fake;
}

describe("smooth round robin", () => {
  test.each([
    [[1, 1, 1], "abcabc"],
    [[5, 1, 1], "aabacaa"],
    [[2, 1], "abaaba"],
    [[7], "aaa"],
  ] as const)("%p", (weights, expected) => {
    const targets = fakeTargets(weights);
    expect(picks(new SmoothRoundRobin(targets), targets, expected.length)).toBe(expected);
  });

  test("passes over what may not be used, and keeps the others' shares", () => {
    const targets = fakeTargets([2, 1, 1], opened(3, 0));
    expect(picks(new SmoothRoundRobin(targets), targets, 4)).toBe("bcbc");
    expect(picks(new SmoothRoundRobin(targets), targets, 2, targets[1]!.bit)).toBe("cc");
    expect(picks(new SmoothRoundRobin(targets), targets, 1, targets[1]!.bit | targets[2]!.bit)).toBe("-");
  });

  test("gives a target that comes back its own share, not what it missed", () => {
    const fake = opened(2, 0);
    const targets = fakeTargets([1, 1], fake);
    const policy = new SmoothRoundRobin(targets);
    expect(picks(policy, targets, 50)).toBe("b".repeat(50));
    fake.table.halfOpen(0);
    fake.table.takeTrial(0, 0);
    fake.table.endTrial(0, true);
    expect(fake.table.state(0)).toBe(BreakerState.Closed);
    expect(picks(policy, targets, 6)).toMatch(/^(ab){3}$|^(ba){3}$/);
  });
});

describe("least connections", () => {
  test("goes by exchanges under way for the weight", () => {
    const fake = fakeNodes(3);
    const targets = fakeTargets([1, 1, 4], fake);
    const policy = new LeastConnections(targets);
    fake.nodes[0]!.inFlight = 1;
    fake.nodes[1]!.inFlight = 2;
    fake.nodes[2]!.inFlight = 3;
    expect(picks(policy, targets, 3)).toBe("ccc");
    fake.nodes[2]!.inFlight = 6;
    expect(picks(policy, targets, 3)).toBe("aaa");
  });

  test("takes turns among equals, by weight", () => {
    const targets = fakeTargets([2, 1]);
    expect(picks(new LeastConnections(targets), targets, 6)).toBe("abaaba");
  });

  test("never takes the idle one that may not be used", () => {
    const fake = opened(2, 0);
    const targets = fakeTargets([1, 1], fake);
    fake.nodes[1]!.inFlight = 9;
    expect(picks(new LeastConnections(targets), targets, 3)).toBe("bbb");
    expect(picks(new LeastConnections(targets), targets, 1, targets[1]!.bit)).toBe("-");
  });
});

describe("by chance", () => {
  const random = new SeededRandom(20260101);
  const next = () => random.next();

  test.each([
    ["random", (targets: readonly BalancedTarget[]) => new WeightedRandom(targets, next)],
    ["p2c", (targets: readonly BalancedTarget[]) => new TwoChoices(targets, next)],
  ])("%s keeps to the weights among idle targets, and to what may be used", (_name, policyOf) => {
    const targets = fakeTargets([6, 3, 1, 5], opened(4, 3));
    const drawn = picks(policyOf(targets), targets, 10_000);
    const share = (name: string) => drawn.split(name).length - 1;
    expect(share("a")).toBeGreaterThan(5700);
    expect(share("a")).toBeLessThan(6300);
    expect(share("c")).toBeGreaterThan(850);
    expect(share("d") + share("-")).toBe(0);
    expect(picks(policyOf(targets), targets, 1, targets[0]!.bit | targets[1]!.bit | targets[2]!.bit)).toBe("-");
  });

  test("p2c takes the less busy of two", () => {
    const fake = fakeNodes(3);
    const targets = fakeTargets([1, 1, 1], fake);
    const policy = new TwoChoices(targets, next);
    fake.nodes[0]!.inFlight = 5;
    fake.nodes[1]!.inFlight = 2;
    const drawn = picks(policy, targets, 3000);
    expect(drawn).not.toContain("a");
    // Idle `c` wins two of the three pairs.
    expect(drawn.split("c").length - 1).toBeGreaterThan(1850);
  });

  test("the ends of the random range are served too", () => {
    const targets = fakeTargets([1, 2]);
    expect(picks(new WeightedRandom(targets, () => 0), targets, 1)).toBe("a");
    expect(picks(new WeightedRandom(targets, () => 1 - 2 ** -53), targets, 1)).toBe("b");
  });
});
