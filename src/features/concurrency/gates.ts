import type { WorkerService } from "../../core/worker-service.ts";
import { Gate, type GatePorts, type QueueBounds } from "./gate.ts";

/** The slots of all gates, by their keys. */
export interface SharedGates {
  readonly gates: readonly (readonly [key: string, slots: SharedArrayBuffer])[];
}

/** A gate of a configuration, for its workers. */
interface GateOf extends QueueBounds {
  readonly key: string;
  readonly lanes: readonly unknown[];
}

/** The gates of one worker; they outlive configurations, with what waits there. docs/pressure.md#concurrency */
export class Gates implements WorkerService<never> {
  private readonly ports: GatePorts;
  private readonly initsOf: (config: never) => readonly GateOf[];
  private readonly all: Map<string, Gate> = new Map();
  private buffers: ReadonlyMap<string, SharedArrayBuffer> = new Map();

  /** @param initsOf the gates of a configuration */
  constructor(ports: GatePorts, initsOf: (config: never) => readonly GateOf[]) {
    this.ports = ports;
    this.initsOf = initsOf;
  }

  share({ gates }: SharedGates): void {
    const fresh = new Map(gates);
    for (const [key, gate] of this.all) {
      const buffer = fresh.get(key);
      if (buffer !== undefined && this.buffers.get(key) !== buffer) gate.share(buffer);
    }
    this.buffers = fresh;
  }

  /** The gate of a configuration, which may not be in use yet. */
  of({ key, lanes, queue, queueTimeoutMs }: GateOf): Gate {
    const known = this.all.get(key);
    if (known !== undefined) return known;
    const gate = new Gate(lanes.length, { queue, queueTimeoutMs }, this.ports);
    const buffer = this.buffers.get(key);
    if (buffer !== undefined) gate.share(buffer);
    this.all.set(key, gate);
    return gate;
  }

  use(config: never): void {
    const inits = new Map(this.initsOf(config).map((init) => [init.key, init]));
    for (const [key, gate] of this.all) {
      const init = inits.get(key);
      if (init !== undefined) gate.useBounds(init);
      // Exchanges that have its slots still let in what waits there.
      else this.all.delete(key);
    }
  }

  tick(): void {
    for (const gate of this.all.values()) gate.tick();
  }
}
