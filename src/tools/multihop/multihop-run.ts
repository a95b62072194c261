import type { BackendName } from "./backend.ts";
import type { Endpoint } from "./byte-link.ts";
import type { Scenario } from "./catalogue.ts";
import { Lane } from "./lane.ts";
import type { ScenarioResult } from "./scenario-result.ts";
import type { Witness } from "./witness.ts";

/** What a run is about. */
interface RunOptions {
  readonly scenarios: readonly Scenario[];
  readonly h1: Endpoint;
  readonly h2: Endpoint;
  /** Milliseconds that a response may take. */
  readonly answerMs: number;
  /** Origins that can tell what they were given; none in live mode. */
  readonly witnesses: ReadonlyMap<BackendName, Witness>;
  /** Ends the run early: what is under way is left out. */
  readonly signal: AbortSignal;
  /** Notified of every scenario that is done. */
  onResult(result: ScenarioResult): void;
  /** Notified of every backend that cannot be reached. */
  onAbsent(backend: BackendName, why: string): void;
}

/** Runs the scenarios: those of one backend in turn, the backends beside each other. Gives the results in their order. */
export async function runScenarios(options: RunOptions): Promise<ScenarioResult[]> {
  const { scenarios, signal } = options;
  const run = `m${Date.now().toString(36)}`;
  const results: ScenarioResult[] = [];
  const backends = new Set(scenarios.map(({ backend }) => backend));
  const walks = [...backends].map(async (backend) => {
    const lane = new Lane(backend, options, options.witnesses.get(backend.name) ?? null, run);
    const absence = await lane.open();
    if (absence !== "") options.onAbsent(backend.name, absence);
    for (const { vector } of scenarios.filter((each) => each.backend === backend)) {
      if (signal.aborted) break;
      const result = await lane.runScenario(vector);
      if (signal.aborted) break;
      results.push(result);
      options.onResult(result);
    }
    lane.close();
  });
  const interrupted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  await Promise.race([Promise.all(walks), interrupted]);
  const place = ({ scenario }: ScenarioResult) =>
    scenarios.findIndex(({ vector, backend }) => vector === scenario.vector && backend === scenario.backend);
  return results.sort((a, b) => place(a) - place(b));
}
