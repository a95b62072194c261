import { type Metric, single } from "../../../core/metric-row.ts";
import { HEALTH_SCRIPT } from "../health-script.ts";
import { FLEET_METRICS } from "../metrics.ts";
import type { SharedStore } from "../shared-store.ts";

/** The targets of this gateway. */
export interface KnownTargets {
  /** Origins that are down. */
  down(): readonly string[];
  /** Tries one of which another gateway says that it is down. @returns whether it was up until now */
  suspect(originKey: string): boolean;
}

/** What gateways of a fleet tell each other of targets that are down. docs/fleet.md#health */
export class HealthHints {
  private readonly nodes: KnownTargets;
  /** What the others said at the last beat: each hint counts once for as long as it is there. */
  private known: ReadonlySet<string> = new Set();
  private taken = 0;

  constructor(nodes: KnownTargets) {
    this.nodes = nodes;
  }

  /** Tells what is down here, and tries what is down elsewhere. */
  async beat(store: SharedStore): Promise<void> {
    const down = this.nodes.down().slice(0, MAX_TOLD);
    let found: unknown;
    try {
      found = await store.evaluate(HEALTH_SCRIPT, "down", [store.id, ...down]);
    } catch {
      // The store is away, which others tell of; nothing is known, and nothing changes.
      return;
    }
    const others = new Set((found as unknown[]).map(String));
    for (const origin of others) if (!this.known.has(origin) && this.nodes.suspect(origin)) this.taken++;
    this.known = others;
  }

  metrics(): readonly Metric[] {
    return [single(FLEET_METRICS, "gateway_cluster_health_hints_total", () => this.taken)];
  }
}

/** Origins that a gateway tells of. */
const MAX_TOLD = 256;
