import type { ControlService } from "../core/control-service.ts";
import { type TakersOf, type Together, takersOf } from "../core/message-takers.ts";
import type { Metric } from "../core/metric-row.ts";
import type { AcmeService } from "../features/acme/control/acme-service.ts";
import type { KeyService } from "../features/auth/control/key-service.ts";
import type { CacheOwner } from "../features/cache/control/cache-owner.ts";
import type { LiveFeed } from "../features/dashboard/live-feed.ts";
import type { Fleet } from "../features/fleet/control/fleet.ts";
import type { FleetMember } from "../features/fleet/control/fleet-member.ts";
import type { Functions } from "../features/functions/control/functions.ts";
import type { GeoDatabases } from "../features/geo/control/geo-databases.ts";
import type { ListFiles } from "../features/lists/control/list-files.ts";
import type { LogOutputs } from "../features/telemetry/control/log-outputs.ts";
import type { TelemetryExport } from "../features/telemetry/control/telemetry-export.ts";
import type { TlsCertificates } from "../features/tls/control/certificates.ts";
import type { LearnedSchemas } from "../features/transcode/control/learned-schemas.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { NodeRegistry } from "./node-registry.ts";
import type { WorkerWatch } from "./worker-watch.ts";

/**
 * THE parts of the control thread; one that is left out does not compile. The object that has them is called from top to bottom: what writes to the log, or
 * gives something up, before that which takes it.
 */
export interface ListedControlServices {
  readonly watch: WorkerWatch;
  readonly live: LiveFeed;
  readonly nodes: NodeRegistry;
  readonly keys: KeyService;
  readonly schemas: LearnedSchemas;
  readonly member: FleetMember;
  /** Before acme, which puts its own among them. */
  readonly certificates: TlsCertificates;
  readonly geo: GeoDatabases;
  readonly lists: ListFiles;
  /** Before functions, whose schedules ask for its lock. */
  readonly fleet: Fleet;
  readonly functions: Functions;
  readonly cache: CacheOwner;
  readonly acme: AcmeService;
  readonly outputs: LogOutputs;
  /** The last: it sends what the others have logged. */
  readonly telemetry: TelemetryExport;
}

type Service = ControlService<RuntimeConfig>;

/** The fields of a worker's first message that services give. */
export type StartFieldsOf<Listed> = Together<
  { [Name in keyof Listed]: Listed[Name] extends { startFields(): infer Fields } ? Fields : never }[keyof Listed]
>;

/** Calls services one after the other, in the order in which they are listed. */
export class ServiceList<Listed extends { readonly [Name in keyof Listed]: Service }> {
  /** The messages of workers that services take. */
  readonly takers: TakersOf<Listed>;
  private readonly services: readonly Service[];

  constructor(listed: Listed) {
    this.services = Object.values(listed);
    this.takers = takersOf(listed);
  }

  /** @returns when all of them have what the start waits for */
  async use(config: RuntimeConfig, file: RuntimeConfig): Promise<void> {
    await Promise.all(this.services.map((service) => service.use?.(config, file)));
  }

  begin(): void {
    for (const service of this.services) service.begin?.();
  }

  workerDied(worker: number): void {
    for (const service of this.services) void service.workerDied?.(worker);
  }

  async stop(limitMs: number): Promise<void> {
    await Promise.all(this.services.map((service) => service.stop?.(limitMs)));
  }

  metrics(): readonly Metric[] {
    return this.services.flatMap((service) => service.metrics?.() ?? []);
  }

  startFields(): StartFieldsOf<Listed> {
    return Object.assign({}, ...this.services.map((service) => service.startFields?.()));
  }
}
