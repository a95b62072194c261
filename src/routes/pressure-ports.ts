import { TICK_MS } from "../core/timer-wheel.ts";
import { AiCounts } from "../features/ai/ai-counts.ts";
import { CanaryCells } from "../features/canary/canary-cells.ts";
import type { Gates } from "../features/concurrency/gates.ts";
import { TunnelCounts } from "../features/connect/tunnel-counts.ts";
import { WorkerPressure } from "../features/overload/shared-pressure.ts";
import { SloCounts } from "../features/slo/slo-counts.ts";
import type { Rooms } from "../features/waiting/rooms.ts";
import { canaryKeys } from "./canary-routes.ts";
import { type GateServices, makeGates } from "./concurrency-gates.ts";
import { sloKeys } from "./slo-routes.ts";
import { makeRooms } from "./waiting-rooms.ts";

/** The parts of a worker for docs/pressure.md; they outlive configurations. */
export interface PressurePorts {
  /** How many requests there are at once. */
  readonly concurrency: Gates;
  /** How much is shed. */
  readonly pressure: WorkerPressure;
  /** Counters of objectives. */
  readonly slos: SloCounts;
  /** Counters of language models. */
  readonly ai: AiCounts;
  /** Rollouts. */
  readonly canaries: CanaryCells;
  /** Waiting rooms. */
  readonly rooms: Rooms;
  /** Tunnels of forward proxies. */
  readonly tunnels: TunnelCounts;
}

/**
 * Makes them.
 * @param worker its number
 * @param clock which all threads share
 */
export function pressurePorts(
  services: GateServices,
  worker: number,
  clock: { readonly nowMs: number },
): PressurePorts {
  return {
    concurrency: makeGates(services, worker),
    pressure: new WorkerPressure(worker, TICK_MS),
    slos: new SloCounts(worker, sloKeys),
    ai: new AiCounts(worker),
    canaries: new CanaryCells(worker, canaryKeys),
    rooms: makeRooms(clock),
    tunnels: new TunnelCounts(worker),
  };
}
