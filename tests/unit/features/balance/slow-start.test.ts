import { describe, expect, test } from "bun:test";
import { SlowStart } from "../../../../src/control/node-registry.ts";
import type { Policy } from "../../../../src/features/balance/balancer.ts";
import { LeastConnections } from "../../../../src/features/balance/least-connections.ts";
import { Rendezvous } from "../../../../src/features/balance/rendezvous.ts";
import { SmoothRoundRobin } from "../../../../src/features/balance/smooth-round-robin.ts";
import { TwoChoices, WeightedRandom } from "../../../../src/features/balance/weighted-random.ts";
import { createNodeTable, NodeTable } from "../../../../src/memory/node-table.ts";
import { NodeList } from "../../../../src/worker/node-list.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";
import { configOf } from "../../loading/any-config.ts";
import { FakeTime } from "../../upstream/fake-time.ts";
import { anyExchange, fakeNodes, fakeTargets } from "./balance-fake.ts";

function setUp(routes: string) {
  const time = new FakeTime();
  const list = new NodeList(configOf("", routes));
  const table = new NodeTable(createNodeTable(list.nodes.length));
  const slow = new SlowStart({ now: () => time.nowMs, after: time.after }, list, table);
  return { time, list, table, slow, key: list.nodes[0]!.key };
}

const SLOW = '[{type: upstream, prefix: /a, target: "http://10.0.0.1:1", circuit_breaker: {slow_start: 10s}}]';

describe("slow_start", () => {
  test("gives a recovered node its share back evenly over that time", () => {
    const { time, table, slow, key } = setUp(SLOW);
    slow.begin(key);
    const shares = [1 - table.heldBack(0) / 1000];
    for (let i = 0; i < 4; i++) {
      time.pass(2500);
      shares.push(1 - table.heldBack(0) / 1000);
    }
    const expected = [0.01, 0.2575, 0.505, 0.7525, 1];
    shares.forEach((share, i) => void expect(share).toBeCloseTo(expected[i]!, 1));
    expect([table.heldBack(0), time.waiting]).toEqual([0, 0]);
  });

  test("begins anew where the node fails and recovers again, and goes on over a reload", () => {
    const { time, table, slow, key, list } = setUp(SLOW);
    slow.begin(key);
    time.pass(5000);
    slow.begin(key);
    expect(table.heldBack(0)).toBe(990);
    time.pass(5000);
    const next = new NodeTable(createNodeTable(1));
    next.copyFrom(table, 0, 0);
    slow.use(list, next);
    expect(next.heldBack(0)).toBeWithin(400, 600);
    time.pass(5000);
    expect([next.heldBack(0), time.waiting]).toEqual([0, 0]);
  });

  test("is off by default", () => {
    const { time, table, slow, key } = setUp('[{type: upstream, prefix: /a, target: "http://10.0.0.1:1"}]');
    slow.begin(key);
    expect([table.heldBack(0), time.waiting]).toEqual([0, 0]);
  });

  test("takes over what a dead worker has held back", () => {
    const { time, table, slow } = setUp(SLOW);
    table.holdBack(0, 990);
    slow.adopt();
    time.pass(10_000);
    expect(table.heldBack(0)).toBe(0);
  });
});

describe("a share that is held back", () => {
  const random = new SeededRandom(20260202);
  let key = 0;
  const policies: readonly [string, (targets: ReturnType<typeof fakeTargets>) => Policy][] = [
    ["round_robin", (targets) => new SmoothRoundRobin(targets)],
    ["random", (targets) => new WeightedRandom(targets, () => random.next())],
    ["p2c", (targets) => new TwoChoices(targets, () => random.next())],
    [
      "hashing",
      (targets) => new Rendezvous(targets, { hashOf: () => key++ * 2654435761 }, new SmoothRoundRobin(targets)),
    ],
  ];

  test.each(policies)("%s: half of it is a fifth of three, none of it is next to nothing", (_name, policyOf) => {
    for (const [heldBack, from, to] of [
      [0, 2900, 3800],
      [500, 1000, 2400],
      [990, 0, 200],
    ] as const) {
      const fake = fakeNodes(3, undefined, 0, { slowStartMs: 1000 });
      const targets = fakeTargets([1, 1, 1], fake);
      fake.table.holdBack(0, heldBack);
      const policy = policyOf(targets);
      let count = 0;
      for (let i = 0; i < 10_000; i++) if (policy.pick(anyExchange(), 0) === targets[0]) count++;
      expect([heldBack, count >= from && count <= to ? "as meant" : count]).toEqual([heldBack, "as meant"]);
    }
  });

  test("least_conn: an idle one that has just come back is not given everything", () => {
    const fake = fakeNodes(2, undefined, 0, { slowStartMs: 1000 });
    const targets = fakeTargets([1, 1], fake);
    fake.nodes[1]!.inFlight = 5;
    fake.table.holdBack(0, 900);
    const policy = new LeastConnections(targets);
    expect(policy.pick(anyExchange(), 0)).toBe(targets[1]!);
    fake.table.holdBack(0, 500);
    expect(policy.pick(anyExchange(), 0)).toBe(targets[0]!);
  });
});
