// Load at a chosen rate in this process, by the load generator's own streams: latency counts from when a request was due.
import { attacksOn } from "../../src/tools/loadgen/attack-catalogue.ts";
import { Generator } from "../../src/tools/loadgen/generator.ts";
import { LoadTally } from "../../src/tools/loadgen/load-tally.ts";
import { type LoadTarget, parseTarget } from "../../src/tools/loadgen/load-target.ts";

/** What is sent where. */
export interface PacedPlan {
  readonly port: number;
  readonly path: string;
  readonly connections: number;
  readonly benignPerSecond: number;
  readonly attacksPerSecond: number;
  readonly seconds: number;
}

/** Sends GET requests over kept connections, and attacks each on a connection of its own; gives what they have seen. */
export async function runPaced(plan: PacedPlan): Promise<LoadTally> {
  const target = parseTarget(`http://127.0.0.1:${plan.port}${plan.path}`) as LoadTarget;
  const tally = new LoadTally(attacksOn("/", "x").length, plan.seconds * 1000);
  const ended = Promise.withResolvers<void>();
  const { connections, benignPerSecond, attacksPerSecond } = plan;
  const load = {
    ...{ target, requests: [{ method: "GET", path: plan.path, fields: [], body: "" }], protocol: 1 as const },
    ...{ concurrency: connections, durationMs: plan.seconds * 1000, tier: "custom" },
    ...{ ratePerSecond: benignPerSecond + attacksPerSecond, attackRatio: 0 },
  };
  const share = { plan: load, connections, benignPerSecond, attacksPerSecond, firstAttack: 0, firstRequest: 0 };
  const generator = new Generator(
    share,
    (samples) => tally.add(samples, 0),
    () => ended.resolve(),
  );
  await generator.connect();
  generator.start(Date.now());
  await ended.promise;
  return tally;
}
