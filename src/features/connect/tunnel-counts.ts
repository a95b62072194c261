import type { WorkerService } from "../../core/worker-service.ts";
import { AddressTally } from "../../memory/address-tally.ts";

/** The open tunnels of all workers: how many, and by client. */
export interface SharedTunnels {
  readonly tunnels: { readonly counts: SharedArrayBuffer; readonly addresses: SharedArrayBuffer };
}

/** How many tunnels there may be. */
export interface TunnelBounds {
  readonly maxTunnels: number;
  readonly maxTunnelsPerClient: number;
}

/** The tunnels of forward proxies in one worker. Each writes its own numbers, and readers add up. docs/forward-proxy.md#limits */
export class TunnelCounts implements WorkerService<never> {
  private readonly worker: number;
  private counts: Int32Array = new Int32Array(1);
  private addresses: AddressTally | null = null;

  constructor(worker: number) {
    this.worker = worker;
  }

  begin({ tunnels }: SharedTunnels): void {
    this.counts = new Int32Array(tunnels.counts);
    this.addresses = new AddressTally(tunnels.addresses, this.worker);
  }

  /** Counts a tunnel of a client. @returns what gives its place back; null if there are too many */
  enter(address: string, { maxTunnels, maxTunnelsPerClient }: TunnelBounds): (() => void) | null {
    const { counts, addresses } = this;
    const id = addresses?.idOf(address) ?? 0;
    const own = counts.length > 1 ? this.worker : 0;
    Atomics.add(counts, own, 1);
    addresses?.add(id, 1);
    const leave = (): void => {
      Atomics.sub(counts, own, 1);
      addresses?.add(id, -1);
    };
    if (counts.reduce((sum, one) => sum + one, 0) <= maxTunnels && (addresses?.total(id) ?? 0) <= maxTunnelsPerClient)
      return leave;
    leave();
    return null;
  }
}
