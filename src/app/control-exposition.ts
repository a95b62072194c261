import { Exposition } from "../features/telemetry/exposition.ts";
import { gatewayMetrics } from "../features/telemetry/gateway-metrics.ts";
import { processFactMetrics } from "../features/telemetry/process-facts.ts";
import type { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import type { CounterTotals } from "../shared/counter-totals.ts";
import { VERSION } from "../shared/version.ts";
import type { AcmeService } from "./acme-service.ts";
import type { CacheKeeper } from "./cache-keeper.ts";
import { cacheMetrics } from "./cache-metrics.ts";
import type { CertificateDesk } from "./certificate-desk.ts";
import { certificateMetrics } from "./certificate-metrics.ts";
import type { NodeKeeper } from "./node-keeper.ts";
import { nodeMetrics } from "./node-metrics.ts";
import type { WorkerWatch } from "./worker-watch.ts";

/** What the control thread has to tell in metrics. */
export interface MetricSources {
  readonly totals: CounterTotals;
  readonly nodes: NodeKeeper;
  readonly labels: TelemetryLabels;
  readonly acme: AcmeService;
  readonly certificates: CertificateDesk;
  readonly cache: CacheKeeper;
  readonly watch: WorkerWatch;
  lastReloadSuccessful(): boolean;
  lastReloadSeconds(): number;
  droppedLogLines(): number;
}

/** All metrics of the gateway. docs/operations.md#metrics */
export function controlExposition(sources: MetricSources): Exposition {
  const { totals, nodes, labels, acme, certificates, cache } = sources;
  const { lastReloadSuccessful, lastReloadSeconds, droppedLogLines } = sources;
  return new Exposition([
    ...gatewayMetrics(totals),
    ...nodeMetrics(
      () => nodes.standings(),
      (originKey) => labels.upstreams.labelOf(labels.upstreams.idOf(originKey)),
    ),
    ...acme.metrics(),
    certificateMetrics(() => certificates.terms()),
    ...certificates.metrics(),
    ...cacheMetrics(cache),
    ...sources.watch.metrics(),
    ...processFactMetrics({ version: VERSION, lastReloadSuccessful, lastReloadSeconds, droppedLogLines }),
  ]);
}
