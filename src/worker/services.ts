import { type TakersOf, takersOf } from "../core/message-takers.ts";
import type { WorkerService } from "../core/worker-service.ts";
import type { ControlChannel } from "../features/admin/control-channel.ts";
import type { HealthHandler } from "../features/admin/health-handler.ts";
import type { KeySets } from "../features/auth/jwt/key-ring.ts";
import type { SeenReports } from "../features/dashboard/seen-reports.ts";
import type { Watchers } from "../features/dashboard/watchers.ts";
import type { PlaceFinder } from "../features/geo/place-finder.ts";
import type { ListTables } from "../features/lists/list-tables.ts";
import type { LogThreshold } from "../features/telemetry/log-level.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { WorkerCertificates } from "./worker-certificates.ts";
import type { WorkerFleet } from "./worker-fleet.ts";
import type { WorkerGates } from "./worker-gates.ts";
import type { WorkerServices } from "./worker-services.ts";

/** THE parts of a data worker that outlive configurations; one that is left out does not compile. The object that has them is called from top to bottom. */
export interface ListedWorkerServices {
  /** The first: its tick tells the time to the others. */
  readonly services: WorkerServices;
  readonly health: HealthHandler;
  readonly threshold: LogThreshold;
  readonly control: ControlChannel;
  readonly seen: SeenReports;
  /** Before gates: streams that end give their places back. */
  readonly watchers: Watchers;
  readonly gates: WorkerGates;
  readonly places: PlaceFinder;
  readonly lists: ListTables;
  readonly keySets: KeySets;
  readonly fleet: WorkerFleet;
  readonly certificates: WorkerCertificates;
}

type Part = WorkerService<RuntimeConfig>;

/** Calls the parts of a worker one after the other, in the order in which they are listed; each call is made in a turn. */
export class WorkerPartList<Listed extends { readonly [Name in keyof Listed]: Part }> {
  /** The messages of the control thread that parts take. */
  readonly takers: TakersOf<Listed>;
  private readonly parts: readonly Part[];

  constructor(listed: Listed) {
    this.parts = Object.values(listed);
    this.takers = takersOf(listed);
  }

  use(config: RuntimeConfig): void {
    for (const part of this.parts) part.use?.(config);
  }

  tick(nowMs: number): void {
    for (const part of this.parts) part.tick?.(nowMs);
  }

  stop(): void {
    for (const part of this.parts) part.stop?.();
  }
}
