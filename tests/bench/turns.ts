// A turn: one server under one load for a second, and what it cost.
import { availableParallelism } from "node:os";
import { median } from "./figures.ts";
import { type Load, type LoadPlan, runLoad } from "./load-tools.ts";
import { isSecure } from "./peer-configs.ts";
import { cpuSeconds, stolenSeconds } from "./process-stats.ts";
import type { Scenario } from "./scenarios.ts";
import type { RunningServer } from "./servers.ts";

/** One server in one scenario in one round. */
export interface Sample extends Load {
  readonly cpuMicrosPerRequest: number;
  /** Share of the machine's CPU time that its host gave to others meanwhile. */
  readonly stolen: number;
  readonly residentMb: number;
}

/** One server's turn. */
export interface Turn extends Load {
  readonly cpuSeconds: number;
  readonly stolen: number;
}

/** How much load, and a folder for its files. */
export type Dose = Pick<LoadPlan, "connections" | "threads" | "dir">;

/** Length of a turn. */
export const TURN_SECONDS = 1;
/** Share of the machine's CPU time that its host may give to others in a turn. */
export const MOST_STOLEN = 0.03;
const MOST_TRIES = 4;

/** Takes a turn, again and again while the machine is not itself; then the one that was disturbed least. */
export async function calmTurn(
  scenario: Scenario,
  server: RunningServer,
  dose: Dose,
  seconds: number = TURN_SECONDS,
): Promise<Turn> {
  let best = await takeTurn(scenario, server, dose, seconds);
  for (let tries = 1; tries < MOST_TRIES && best.stolen > MOST_STOLEN; tries++) {
    const next = await takeTurn(scenario, server, dose, seconds);
    if (next.stolen < best.stolen) best = next;
  }
  return best;
}

/** Takes a turn of so many seconds, however the machine is. */
export async function takeTurn(
  scenario: Scenario,
  server: RunningServer,
  dose: Dose,
  seconds: number = TURN_SECONDS,
): Promise<Turn> {
  const { pids } = server.process;
  const [before, stolenBefore, started] = [cpuSeconds(pids), stolenSeconds(), performance.now()];
  const load = await runLoad({ ...planOf(scenario, server, dose), seconds });
  const machineSeconds = ((performance.now() - started) / 1000) * availableParallelism();
  const stolen = (stolenSeconds() - stolenBefore) / machineSeconds;
  return { ...load, cpuSeconds: cpuSeconds(pids) - before, stolen };
}

/** What several turns come to. */
export function sampleOf(turns: readonly Turn[], residentMb: number): Sample {
  const sum = (pick: (turn: Turn) => number) => turns.reduce((total, turn) => total + pick(turn), 0);
  const middle = (pick: (turn: Turn) => number) => median(turns.map(pick));
  const requests = sum((turn) => turn.requests);
  return {
    requests,
    errors: sum((turn) => turn.errors),
    requestsPerSecond: middle((turn) => turn.requestsPerSecond),
    p50Ms: middle((turn) => turn.p50Ms),
    p99Ms: middle((turn) => turn.p99Ms),
    cpuMicrosPerRequest: requests === 0 ? Number.NaN : (sum((turn) => turn.cpuSeconds) / requests) * 1e6,
    stolen: sum((turn) => turn.stolen) / turns.length,
    residentMb,
  };
}

/** The load of a scenario on one server. */
export function planOf(scenario: Scenario, server: RunningServer, dose: Dose): Omit<LoadPlan, "seconds"> {
  return { scenario, port: isSecure(scenario.setting) ? server.ports.tls : server.ports.http, ...dose };
}
