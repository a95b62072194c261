import { type Metric, metricOf, single } from "../core/metric-row.ts";
import { VERSION } from "../core/version.ts";
import { GATEWAY_METRICS } from "../facts/gateway-metrics.ts";
import { processFactMetrics } from "../facts/process-metrics.ts";
import { gatewayMetrics } from "../facts/worker-metrics.ts";
import type { AcmeService } from "../features/acme/control/acme-service.ts";
import type { KeyService } from "../features/auth/control/key-service.ts";
import type { CacheOwner } from "../features/cache/control/cache-owner.ts";
import { CACHE_METRICS } from "../features/cache/metrics.ts";
import type { DiskIndex } from "../features/cache/store/disk-index.ts";
import type { Fleet } from "../features/fleet/control/fleet.ts";
import type { FleetMember } from "../features/fleet/control/fleet-member.ts";
import type { Functions } from "../features/functions/control/functions.ts";
import type { GeoDatabases } from "../features/geo/control/geo-databases.ts";
import type { TelemetryExport } from "../features/telemetry/control/telemetry-export.ts";
import { Exposition } from "../features/telemetry/exposition.ts";
import type { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import type { CertificateTerm, TlsCertificates } from "../features/tls/control/certificates.ts";
import { TLS_METRICS } from "../features/tls/metrics.ts";
import { BreakerState } from "../memory/node-table.ts";
import type { CounterTotals } from "../shared/counter-totals.ts";
import type { NodeRegistry, NodeStanding } from "./node-registry.ts";
import type { WorkerWatch } from "./worker-watch.ts";

/** What the control thread has to tell in metrics. */
export interface MetricSources {
  readonly totals: CounterTotals;
  readonly nodes: NodeRegistry;
  readonly labels: TelemetryLabels;
  readonly acme: AcmeService;
  readonly keys: KeyService;
  readonly certificates: TlsCertificates;
  readonly cache: CacheOwner;
  readonly geo: GeoDatabases;
  readonly watch: WorkerWatch;
  readonly telemetry: TelemetryExport;
  readonly fleet: Fleet;
  readonly member: FleetMember;
  readonly functions: Functions;
  lastReloadSuccessful(): boolean;
  lastReloadSeconds(): number;
  droppedLogLines(): number;
}

/** All metrics of the gateway. docs/operations.md#metrics */
export function controlExposition(sources: MetricSources): Exposition {
  const { totals, nodes, labels, acme, certificates, cache } = sources;
  const { lastReloadSuccessful, lastReloadSeconds, droppedLogLines } = sources;
  const metrics = [
    ...gatewayMetrics(totals),
    ...nodeMetrics(
      () => nodes.standings(),
      (originKey) => labels.upstreams.labelOf(labels.upstreams.idOf(originKey)),
    ),
    ...acme.metrics(),
    ...sources.keys.metrics(),
    certificateMetrics(() => certificates.terms()),
    ...certificates.metrics(),
    ...sources.geo.metrics(),
    ...cacheMetrics(cache),
    ...sources.watch.metrics(),
    ...sources.telemetry.metrics(),
    ...sources.fleet.metrics(),
    ...sources.member.metrics(),
    ...sources.functions.metrics(),
    ...processFactMetrics({ version: VERSION, lastReloadSuccessful, lastReloadSeconds, droppedLogLines }),
  ];
  return new Exposition(metrics, sources.telemetry.exemplars);
}

/**
 * The gauges of upstream nodes. Where settings differ from route to route an origin has several breakers: the worst is
 * shown. docs/operations.md#metrics
 * @param standings asked at every scrape
 * @param labelOf the label of an origin: its key, or the one for all beyond the limit of labels
 */
export function nodeMetrics(
  standings: () => readonly NodeStanding[],
  labelOf: (originKey: string) => string,
): readonly Metric[] {
  const worst = (standingOf: (node: NodeStanding) => number, worse: (a: number, b: number) => number) => () => {
    const values = new Map<string, number>();
    for (const node of standings()) {
      const label = labelOf(node.originKey);
      const value = standingOf(node);
      values.set(label, worse(values.get(label) ?? value, value));
    }
    return [...values].map(([upstream, value]) => ({ value, labels: { upstream } }));
  };
  return [
    metricOf(
      GATEWAY_METRICS,
      "gateway_circuit_breaker_state",
      worst(({ breaker }) => STATE_VALUES[breaker], Math.max),
    ),
    metricOf(
      GATEWAY_METRICS,
      "gateway_upstream_healthy",
      worst(({ breaker, healthy }) => (healthy && breaker === BreakerState.Closed ? 1 : 0), Math.min),
    ),
  ];
}

const STATE_VALUES: Readonly<Record<BreakerState, number>> = {
  [BreakerState.Closed]: 0,
  [BreakerState.HalfOpen]: 1,
  [BreakerState.Trial]: 1,
  [BreakerState.Open]: 2,
};

/** What the response cache holds. docs/cache.md#memory */
export function cacheMetrics(cache: CacheOwner): readonly Metric[] {
  return [
    single(CACHE_METRICS, "gateway_cache_entries", () => cache.entries),
    single(CACHE_METRICS, "gateway_cache_bytes", () => cache.bytes),
    single(CACHE_METRICS, "gateway_cache_evictions_total", () => cache.evictions),
    ...(cache.diskIndex === null ? [] : diskMetrics(cache.diskIndex)),
  ];
}

/** What is on disk. docs/cache.md#on-disk */
function diskMetrics(disk: DiskIndex): readonly Metric[] {
  return [
    single(CACHE_METRICS, "gateway_cache_disk_up", () => (disk.isWriting ? 1 : 0)),
    single(CACHE_METRICS, "gateway_cache_disk_entries", () => disk.entries),
    single(CACHE_METRICS, "gateway_cache_disk_bytes", () => disk.bytes),
    single(CACHE_METRICS, "gateway_cache_disk_evictions_total", () => disk.evictions),
    single(CACHE_METRICS, "gateway_cache_disk_missed_total", () => disk.missed),
  ];
}

/**
 * When certificates expire. Where several are for one domain, the first counts, which is the one that is shown.
 * docs/acme.md#failures
 * @param terms asked at every scrape
 */
export function certificateMetrics(terms: () => readonly CertificateTerm[]): Metric {
  return metricOf(TLS_METRICS, "gateway_certificate_not_after_seconds", () => {
    const values = new Map<string, number>();
    for (const { domain, notAfterS } of terms()) if (!values.has(domain)) values.set(domain, notAfterS);
    return [...values].map(([domain, value]) => ({ value, labels: { domain } }));
  });
}
