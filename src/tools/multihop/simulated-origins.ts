import { BACKENDS, type BackendName } from "./backend.ts";
import { PARSER_HABITS } from "./parser-habits.ts";
import { SimulatedOrigin } from "./simulated-origin.ts";

/**
 * The three simulated origins, each with its own habits.
 * @param ports for node, python and go; 0 takes a free one
 * @throws Error when a port cannot be had; all that were started are stopped again
 */
export function startSimulatedOrigins(ports: readonly number[]): Map<BackendName, SimulatedOrigin> {
  const origins = new Map<BackendName, SimulatedOrigin>();
  for (const [i, { name }] of BACKENDS.entries()) {
    const port = ports[i] ?? 0;
    try {
      origins.set(name, new SimulatedOrigin(PARSER_HABITS[name], port));
    } catch {
      for (const origin of origins.values()) origin.stop();
      throw new Error(`the simulated ${name} origin cannot listen on 127.0.0.1:${port}`);
    }
  }
  return origins;
}
