import type { ControlService } from "../../../core/control-service.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { clearTallyOf, createAddressTally } from "../../../memory/address-tally.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { CONNECT_METRICS } from "../metrics.ts";
import type { SharedTunnels } from "../tunnel-counts.ts";

/** The shared counts of tunnels. docs/forward-proxy.md#limits */
export class ProxyTunnels implements ControlService<RuntimeConfig> {
  private readonly shared: SharedTunnels["tunnels"];

  constructor(workers: number) {
    this.shared = createTunnelCounts(workers);
  }

  startFields(): SharedTunnels {
    return { tunnels: this.shared };
  }

  workerDied(worker: number): void {
    Atomics.store(new Int32Array(this.shared.counts), worker, 0);
    clearTallyOf(this.shared.addresses, worker);
  }

  metrics(): readonly Metric[] {
    const counts = new Int32Array(this.shared.counts);
    const total = (): number => counts.reduce((sum, one) => sum + one, 0);
    return [metricOf(CONNECT_METRICS, "gateway_forward_proxy_tunnels", () => [{ value: total(), labels: {} }])];
  }
}

/** Makes the counts, 0 everywhere. */
export function createTunnelCounts(workers: number): SharedTunnels["tunnels"] {
  return {
    counts: new SharedArrayBuffer(workers * Int32Array.BYTES_PER_ELEMENT),
    addresses: createAddressTally(workers, crypto.getRandomValues(new Int32Array(2))),
  };
}
