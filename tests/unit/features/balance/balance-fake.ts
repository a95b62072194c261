import {
  BalancedTarget,
  type BreakerChange,
  type BreakerRules,
  UpstreamNode,
} from "../../../../src/features/balance/balancer.ts";
import { createNodeTable, NodeTable } from "../../../../src/memory/node-table.ts";
import type { Exchange, Upstream } from "../../../../src/message/exchange.ts";
import { type FakeRequest, fakeExchange } from "../telemetry/exchange-fake.ts";
import { type FakeTelemetry, fakeTelemetry } from "../telemetry/telemetry-fake.ts";

/** Nodes of one worker with everything that they need. */
export interface FakeNodes {
  readonly table: NodeTable;
  readonly nodes: readonly UpstreamNode[];
  readonly telemetry: FakeTelemetry;
  readonly turn: { nowMs: number };
  /** What the control thread was told: `key change`. */
  readonly told: string[];
}

/** So many nodes, named a, b, c …; their breakers open after 3 failures in a row. */
export function fakeNodes(
  count: number,
  buffer = createNodeTable(count),
  worker = 0,
  more: Partial<BreakerRules> = {},
): FakeNodes {
  const rules = { failureThreshold: 3, failureStatuses: [], slowStartMs: 0, rateRequests: 0, rateFailures: 0, ...more };
  const names = Array.from({ length: count }, (_, i) => nameOf(i));
  const telemetry = fakeTelemetry([], names);
  const table = new NodeTable(buffer);
  const turn = { nowMs: 1000 };
  const told: string[] = [];
  const onBreaker = (key: string, change: BreakerChange) => void told.push(`${key} ${change}`);
  const surroundings = { turn, worker, counters: telemetry.counters, onBreaker };
  const nodes = names.map((name, slot) => new UpstreamNode(name, name, rules, surroundings, table, slot));
  return { table, nodes, telemetry, turn, told };
}

/** A target for each weight, on nodes of their own. */
export function fakeTargets(
  weights: readonly number[],
  fake: FakeNodes = fakeNodes(weights.length),
): readonly BalancedTarget[] {
  return weights.map((weight, i) => {
    const init = { upstream: NEVER, node: fake.nodes[i]!, weight, backup: false, basePath: "", name: nameOf(i) };
    return new BalancedTarget(init, i, i);
  });
}

/** The name of the n-th node. */
export function nameOf(index: number): string {
  return index < 26 ? String.fromCharCode(97 + index) : `n${index}`;
}

/** An exchange that is about to be sent upstream. */
export function anyExchange(request: FakeRequest = {}): Exchange {
  return fakeExchange(request).ex;
}

const NEVER: Upstream = {
  label: "http://never.test",
  authority: "never.test",
  send: () => {
    throw new Error("nothing is sent in these tests");
  },
  sendFresh: () => {
    throw new Error("nothing is sent in these tests");
  },
};
