import { NetworkSet } from "../core/network-set.ts";
import type { WorkerService } from "../core/worker-service.ts";
import {
  ConnectionGate,
  type GateLimits,
  type GateObserver,
  type IdleSource,
  type OpenCounts,
} from "../edge/connection-gate.ts";
import { type BannedMessage, BanWatch } from "../features/bans/ban-watch.ts";
import { COUNTERS } from "../memory/counter-rows.ts";
import type { WorkerCounters } from "../memory/counter-table.ts";
import type { NowMs } from "../message/ports.ts";
import { connectionLimit, DescriptorWatch, descriptorLimit } from "../net/descriptor-watch.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { TrafficReports } from "./traffic-reports.ts";

/** The gates of one worker: that of clients, and that of the internal listener, which operators need most when it is full. */
export class WorkerGates implements WorkerService<RuntimeConfig> {
  readonly clients: ConnectionGate;
  readonly internal: ConnectionGate;
  private readonly descriptors: number = descriptorLimit();
  private readonly bans: NonNullable<GateLimits["bans"]>;

  constructor(
    config: RuntimeConfig,
    counts: OpenCounts,
    connections: IdleSource,
    observer: GateObserver,
    bans: NonNullable<GateLimits["bans"]>,
  ) {
    this.bans = bans;
    const watch = new DescriptorWatch(this.descriptors);
    let isShort = false;
    this.clients = new ConnectionGate(this.limitsOf(config), counts, connections, observer, () => {
      isShort = watch.isShort();
      return isShort;
    });
    this.internal = new ConnectionGate(NO_LIMITS, new OwnCount(), connections, observer, () => isShort);
  }

  /** Takes the limits of a new configuration. */
  use(config: RuntimeConfig): void {
    this.clients.use(this.limitsOf(config));
  }

  /** To be called every TICK_MS, as a turn. */
  tick(nowMs: number): void {
    this.clients.tick(nowMs);
    this.internal.tick(nowMs);
  }

  stop(): void {
    this.clients.drain();
  }

  private limitsOf({ server }: RuntimeConfig): GateLimits {
    const { maxConnections, maxConnectionsPerIp, trustedProxies } = server;
    return {
      maxConnections: connectionLimit(maxConnections, this.descriptors),
      maxPerAddress: maxConnectionsPerIp,
      exempt: new NetworkSet(trustedProxies),
      bans: server.bans.enabled ? this.bans : null,
    };
  }
}

/** The bans of one worker, which its reports tell of refusals. */
export function makeBans(
  clock: NowMs,
  counters: WorkerCounters,
  reports: TrafficReports,
  post: (message: BannedMessage) => void,
): BanWatch {
  reports.bans = new BanWatch(clock, post, () => counters.add(COUNTERS.bannedRequests));
  return reports.bans;
}

/** Connections that count for no other worker. */
class OwnCount implements OpenCounts {
  readonly addresses = { idOf: (): number => 0, add: (): void => {}, total: (): number => 0 };
  add(): void {}
  total(): number {
    return 0;
  }
  askForRoom(): void {}
  isAskedForRoom(): boolean {
    return false;
  }
}

const NO_LIMITS: GateLimits = {
  maxConnections: Number.POSITIVE_INFINITY,
  maxPerAddress: 0,
  exempt: { has: () => true },
  bans: null,
};
