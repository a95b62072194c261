import type { Together } from "../core/message-takers.ts";
import { ServiceList } from "../core/service-list.ts";
import type { WorkerService } from "../core/worker-service.ts";
import type { ControlChannel } from "../features/admin/control-channel.ts";
import type { HealthHandler } from "../features/admin/health-handler.ts";
import type { AgentKeyring } from "../features/agents/agent-keyring.ts";
import type { AiCounts } from "../features/ai/ai-counts.ts";
import type { KeySets } from "../features/auth/jwt/key-ring.ts";
import type { BanWatch } from "../features/bans/ban-watch.ts";
import type { CanaryCells } from "../features/canary/canary-cells.ts";
import type { Gates } from "../features/concurrency/gates.ts";
import type { TunnelCounts } from "../features/connect/tunnel-counts.ts";
import type { SeenReports } from "../features/dashboard/seen-reports.ts";
import type { Watchers } from "../features/dashboard/watchers.ts";
import { PlaceFinder } from "../features/geo/place-finder.ts";
import { ListTables } from "../features/lists/list-tables.ts";
import type { WorkerPressure } from "../features/overload/shared-pressure.ts";
import type { SloCounts } from "../features/slo/slo-counts.ts";
import type { LogAddresses } from "../features/telemetry/log-addresses.ts";
import type { LogThreshold } from "../features/telemetry/log-level.ts";
import type { Rooms } from "../features/waiting/rooms.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { LateFunctions } from "./late-functions.ts";
import type { Purges } from "./purges.ts";
import type { WorkerCertificates } from "./worker-certificates.ts";
import type { WorkerFleet } from "./worker-fleet.ts";
import type { WorkerGates } from "./worker-gates.ts";
import type { WorkerServices } from "./worker-services.ts";

/** Parts that need their worker. */
export interface GivenServices {
  /** The first: its tick tells the time to the others. */
  readonly services: WorkerServices;
  readonly health: HealthHandler;
  readonly threshold: LogThreshold;
  readonly addresses: LogAddresses;
  readonly control: ControlChannel;
  readonly seen: SeenReports;
  /** Before gates: streams that end give their places back. */
  readonly watchers: Watchers;
  readonly bans: BanWatch;
  readonly gates: WorkerGates;
  readonly keySets: KeySets;
  readonly agentKeys: AgentKeyring;
  readonly fleet: WorkerFleet;
  readonly certificates: WorkerCertificates;
  readonly functions: LateFunctions;
  readonly purges: Purges;
  readonly concurrency: Gates;
  readonly pressure: WorkerPressure;
  readonly slos: SloCounts;
  readonly ai: AiCounts;
  readonly canaries: CanaryCells;
  readonly rooms: Rooms;
  readonly tunnels: TunnelCounts;
}

/**
 * THE parts of a data worker that outlive configurations; a part without its line fails a test by its name. They are called from top to bottom; a part
 * that needs nothing of the worker is made here.
 */
export function listParts(own: GivenServices) {
  return { ...own, places: new PlaceFinder(), lists: new ListTables() };
}

/** The parts, by name. */
export type ListedWorkerServices = ReturnType<typeof listParts>;

type Part = WorkerService<RuntimeConfig>;

type FieldsOf<Hook extends "begin" | "share", Listed> = Together<
  {
    [Name in keyof Listed]: Listed[Name] extends { readonly [Own in Hook]: (fields: infer Fields) => void }
      ? Fields
      : never;
  }[keyof Listed]
>;

/** Fields of the message that brings a configuration, and of the first, that parts take. */
export type SharedFields = FieldsOf<"share", ListedWorkerServices>;

/** Fields of the first message that parts take. */
export type StartFields = FieldsOf<"begin", ListedWorkerServices>;

/** The parts of a worker, as one; each call is made in a turn. */
export class PartList extends ServiceList<Part, ListedWorkerServices> {
  begin(start: StartFields & SharedFields): void {
    for (const part of this.all) part.begin?.(start as never);
    this.share(start);
  }

  share(fields: SharedFields): void {
    for (const part of this.all) part.share?.(fields as never);
  }

  use(config: RuntimeConfig): void {
    for (const part of this.all) part.use?.(config);
  }

  tick(nowMs: number): void {
    for (const part of this.all) part.tick?.(nowMs);
  }

  stop(hasSuccessor: boolean): void {
    for (const part of this.all) part.stop?.(hasSuccessor);
  }
}
