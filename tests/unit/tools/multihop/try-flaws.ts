import { chooseScenarios, type Scenario } from "../../../../src/tools/multihop/catalogue.ts";
import { runScenarios } from "../../../../src/tools/multihop/multihop-run.ts";
import type { ScenarioResult } from "../../../../src/tools/multihop/scenario-result.ts";
import { startSimulatedOrigins } from "../../../../src/tools/multihop/simulated-origins.ts";
import type { Flaw } from "./flaw.ts";
import { FlawedGateway } from "./flawed-gateway.ts";

/** Runs vectors (all when none are named) against a gateway with this flaw, before the simulated origins. */
export async function tryFlaw(flaw: Flaw, only: readonly string[] = [], answerMs = 800): Promise<ScenarioResult[]> {
  const origins = startSimulatedOrigins([]);
  const gateway = new FlawedGateway(new Map([...origins].map(([name, origin]) => [name, origin.port])), flaw);
  const endpoint = { hostname: "127.0.0.1", port: gateway.port };
  const results = await runScenarios({
    scenarios: chooseScenarios(only, []) as Scenario[],
    h1: endpoint,
    h2: endpoint,
    answerMs,
    witnesses: origins,
    signal: new AbortController().signal,
    onResult: () => {},
    onAbsent: () => {},
  });
  gateway.stop();
  for (const origin of origins.values()) origin.stop();
  return results;
}
