import type { Takers } from "../core/message-takers.ts";
import type { WorkerService } from "../core/worker-service.ts";
import type { FieldsOfEvent, GatewayLog } from "../facts/events.ts";
import type { Operator } from "../features/admin/operator.ts";
import type { Purge, PurgeAudit } from "../features/admin/purge-handler.ts";
import type { InvalidationNote } from "../features/cache/cache-tap.ts";
import type { DashboardWord } from "../features/dashboard/dashboard-messages.ts";
import { FleetInvalidations } from "../features/fleet/fleet-invalidations.ts";
import type { FleetNews, FleetWord } from "../features/fleet/fleet-messages.ts";
import { COUNTERS } from "../memory/counter-rows.ts";
import type { WorkerCounters } from "../memory/counter-table.ts";
import type { PurgeOrder } from "../message/purge-order.ts";

/** What purges need of their worker. */
interface PurgePorts {
  /** Takes responses out of the cache of the configuration in use; null if that is off. */
  readonly purge: () => Purge | null;
  readonly counters: WorkerCounters;
  readonly events: GatewayLog;
  readonly post: (message: FleetWord | DashboardWord) => void;
}

/** Purges of this gateway are counted, logged and sent to the fleet; those of the fleet are carried out here. docs/cache.md#purge */
export class Purges implements WorkerService<unknown> {
  readonly onMessage: Takers<Extract<FleetNews, { kind: "purge" }>> = {
    purge: ({ order }) => this.ports.purge()?.(order, () => {}),
  };
  private readonly ports: PurgePorts;
  private readonly invalidations: FleetInvalidations;

  constructor(ports: PurgePorts) {
    this.ports = ports;
    this.invalidations = new FleetInvalidations((order) => ports.post({ kind: "purged", order }));
  }

  /** An operator has purged. */
  readonly onPurged: PurgeAudit = (operator, order, purged) => {
    const { counters, events, post } = this.ports;
    counters.add(PURGES[order.kind]);
    post({ kind: "purged", order });
    const fields = purgeFields(operator, order, purged);
    events.event("audit", fields);
    post({ kind: "audited", fields });
  };

  /** A request that changes a resource has taken its responses out. */
  readonly onInvalidated: InvalidationNote = (authority, target) => {
    this.invalidations.note(authority, target);
  };
}

const PURGES = {
  uri: COUNTERS.cachePurgesUrl,
  prefix: COUNTERS.cachePurgesPrefix,
  tags: COUNTERS.cachePurgesTags,
  all: COUNTERS.cachePurgesAll,
} as const;

/** The fields of the line `audit` of a purge. */
function purgeFields({ by, from }: Operator, order: PurgeOrder, purged: number): FieldsOfEvent<"audit"> {
  const { isSoft, kind } = order;
  const what =
    kind === "all" ? {} : kind === "tags" ? { tags: order.tags } : { [kind]: order.authority + order.target };
  return { action: "purge", by: by === "" ? null : by, from, ok: true, kind, ...what, soft: isSoft, purged };
}
