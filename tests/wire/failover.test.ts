// What scripts/compare-failover shows beside others, for this gateway alone: docs/operations.md#failing-targets
import { describe, expect } from "bun:test";
import { failoverGateways } from "../bench/failover/failover-gateways.ts";
import { runFailover } from "../bench/failover/failover-run.ts";
import { FAILOVER_SCENARIOS } from "../bench/failover/failover-scenarios.ts";
import { EDGE_BINARY } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";

/** On a machine that stands still for a second a few may be lost to time. */
const MOST_LOST = 0.002;

describe("requests lost while origins fail", () => {
  for (const scenario of FAILOVER_SCENARIOS) {
    longTest(
      `next to none: ${scenario.name}`,
      async () => {
        const { answered, lost, losses } = await runFailover(failoverGateways(EDGE_BINARY)[0]!, scenario);
        const isBearable = lost <= MOST_LOST * (answered + lost);
        expect([isBearable, answered > 100, isBearable ? [] : [...losses]]).toEqual([true, true, []]);
      },
      60_000,
    );
  }
});
