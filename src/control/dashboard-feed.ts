import { hostname } from "node:os";
import { formatFault } from "../config/config-fault.ts";
import { plainLine } from "../core/printable.ts";
import { SECRET_VALUES } from "../core/secret-values.ts";
import { VERSION } from "../core/version.ts";
import type { BanService } from "../features/bans/control/ban-service.ts";
import type { CacheOwner } from "../features/cache/control/cache-owner.ts";
import type { CanaryBook } from "../features/canary/control/canary-book.ts";
import type { FeedPorts } from "../features/dashboard/live-feed.ts";
import type {
  LiveGateway,
  LiveListener,
  LiveLoser,
  LiveOrigins,
  LiveTarget,
} from "../features/dashboard/live-state.ts";
import type { Functions } from "../features/functions/control/functions.ts";
import type { ClusterLists } from "../features/kubernetes/control/cluster-lists.ts";
import type { AnyLiveSource } from "../features/providers/control/live/live-source.ts";
import type { SloBook } from "../features/slo/control/slo-book.ts";
import { type LogOutputs, STANDARD_OUTPUT } from "../features/telemetry/control/log-outputs.ts";
import type { LogWriter } from "../features/telemetry/log-writer.ts";
import type { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import type { TlsCertificates } from "../features/tls/control/certificates.ts";
import { exclusionLine } from "../features/waf/learned-exclusions.ts";
import type { RoomOwner } from "../features/waiting/control/room-owner.ts";
import type { BesideFiles } from "../loading/load-config.ts";
import type { CounterTotals } from "../memory/counter-totals.ts";
import { IncidentReader } from "../memory/incident-ring.ts";
import { BreakerState } from "../memory/node-table.ts";
import { residentBytes } from "../memory/process-memory.ts";
import { connectionLimit } from "../net/descriptor-watch.ts";
import { lowestDescriptor } from "../net/descriptors.ts";
import { labelOf } from "../routes/route-base.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { listenerAddress } from "../settings/server-listeners.ts";
import type { Ending } from "./ending.ts";
import type { NodeRegistry } from "./node-registry.ts";
import type { OperationState, Operations } from "./operations.ts";
import type { BesidePorts, Reloads } from "./reload.ts";
import type { WorkerPool } from "./worker-pool.ts";
import type { WorkerWatch } from "./worker-watch.ts";

/** The facts of the control thread that the dashboard shows, beside those of its parts. */
interface GatewayPorts {
  readonly config: RuntimeConfig;
  readonly totals: CounterTotals;
  readonly incidents: SharedArrayBuffer;
  readonly pool: WorkerPool;
  readonly labels: TelemetryLabels;
  readonly startedAtMs: number;
  readonly reloads: Reloads;
  readonly log: Pick<LogWriter, "isFailing">;
  readonly ending: Ending;
  readonly operations: Operations;
  readonly cluster: Pick<ClusterLists, "unserved">;
  readonly beside: BesidePorts;
  readonly liveSources: readonly AnyLiveSource[];
}

/** The parts that have something to tell there. */
interface DashboardPorts {
  readonly watch: WorkerWatch;
  readonly nodes: NodeRegistry;
  readonly certificates: TlsCertificates;
  readonly cache: CacheOwner;
  readonly functions: Pick<Functions, "live">;
  readonly slos: Pick<SloBook, "standings">;
  readonly canaries: Pick<CanaryBook, "standings">;
  readonly rooms: Pick<RoomOwner, "standings">;
  readonly bans: Pick<BanService, "newest">;
  readonly outputs: Pick<LogOutputs, "failing">;
}

/** Where the live stream gets what it says. docs/dashboard.md#the-stream */
export function feedSources(site: GatewayPorts, from: DashboardPorts): FeedPorts {
  const { totals, pool, labels } = site;
  const { watch, nodes, certificates, cache } = from;
  return {
    totals,
    incidents: new IncidentReader(site.incidents),
    workers: pool.size,
    moves: (worker) => watch.moves(worker),
    gateway: () =>
      gatewayOf(site, [...new Set([...(site.log.isFailing ? [STANDARD_OUTPUT] : []), ...from.outputs.failing])]),
    targets: () => targetsOf(nodes, labels),
    certificates: () => certificates.terms(),
    cache: () => {
      const { enabled, maxBytes } = site.config.server.cache;
      return enabled ? { entries: cache.entries, bytes: cache.bytes, maxBytes, evictions: cache.evictions } : null;
    },
    exclusionOf: ({ ruleId, path, location }) => exclusionLine(ruleId, path, location),
    modules: () => from.functions.live(),
    objectives: () => from.slos.standings(),
    canaries: () => from.canaries.standings(),
    rooms: () => from.rooms.standings(),
    bans: (count) => from.bans.newest(count),
    unserved: () => site.cluster.unserved,
    sources: () => ({ ...sourcesOf(site.config.routes, site.beside.files()), away: awayOf(site.liveSources) }),
    observe: (isWatched) => pool.broadcast({ kind: "observe", isWatched }),
    send: (worker, text) => pool.send(worker, { kind: "live", text }),
  };
}

function sourcesOf(routes: RuntimeConfig["routes"], { shadowed, left }: BesideFiles): LiveOrigins {
  const counts: Record<string, number> = {};
  for (const { source = "file" } of routes) counts[source] = (counts[source] ?? 0) + 1;
  const lists = left.map(({ source, name, faults, isKept }): LiveLoser => {
    const [fault] = faults;
    const said = fault === undefined ? "" : SECRET_VALUES.masked(formatFault(fault)).slice(0, MAX_FAULT);
    return { source, name, route: "", hosts: [], by: "", fault: said, isKept };
  });
  const losers = shadowed.map(
    ({ source, name, route, hosts, by }): LiveLoser => ({
      ...{ source, name, route, hosts, by: `${by.source} ${by.name}` },
      ...{ fault: "", isKept: false },
    }),
  );
  const all = [...lists, ...losers];
  return { counts, losers: all.slice(0, MAX_LOSERS), loserCount: all.length };
}

function awayOf(sources: readonly AnyLiveSource[]): NonNullable<LiveOrigins["away"]> {
  return sources.flatMap(({ source, place, failure }) =>
    failure === ""
      ? []
      : [{ source, name: place, error: SECRET_VALUES.masked(plainLine(failure)).slice(0, MAX_FAULT) }],
  );
}

const MAX_LOSERS = 50;
const MAX_FAULT = 300;

/** With fewer free ones a connection to an origin, a file or a thread may not be had. */
const FEW_DESCRIPTORS = 8;

function gatewayOf(site: GatewayPorts, failedLogs: readonly string[]): LiveGateway {
  const { reloads, startedAtMs, ending } = site;
  const { server } = site.config;
  const operations = site.operations.state();
  return {
    version: VERSION,
    host: hostname(),
    pid: process.pid,
    startedAt: Math.round(startedAtMs),
    status: ending.hasBegun ? "draining" : "ok",
    generation: reloads.generation,
    lastReloadOk: reloads.isLastOk,
    waf: server.waf.enabled ? (server.waf.mode === "detection" ? "detection" : "enforce") : "off",
    maintenance: operations.maintenance,
    logLevel: operations.log_level,
    set: operations.set,
    rolledBack: rolledBack(operations),
    rssBytes: residentBytes(),
    failedLogs,
    lacksDescriptors: lowestDescriptor(FEW_DESCRIPTORS) < 0,
    connectionLimit: connectionLimit(server.maxConnections),
    listeners: listenersIn(site),
  };
}

function listenersIn({ config, totals, labels }: GatewayPorts): LiveListener[] {
  const counts = totals.listeners(labels.listeners);
  return config.server.listeners.map((one) => ({
    name: one.name,
    address: listenerAddress(one),
    protocols: [one.tls ? "https" : "http", ...(one.http2 ? ["h2"] : []), ...(one.http3 ? ["h3"] : [])],
    open: counts.find(({ label }) => label === one.name)?.open ?? 0,
  }));
}

function rolledBack({ configuration }: OperationState): LiveGateway["rolledBack"] {
  const { since = null, taken_at: to = "" } = configuration ?? {};
  return since === null ? null : { since, to };
}

function targetsOf(nodes: NodeRegistry, { upstreams }: TelemetryLabels): LiveTarget[] {
  return nodes.standings().map(({ originKey, name, route, breaker, healthy, failures, hasStandIn }) => ({
    route: labelOf(route),
    upstream: upstreams.labelOf(upstreams.idOf(originKey)),
    ...(name === "" ? {} : { name }),
    breaker: BREAKERS[breaker],
    healthy,
    checked: route.healthCheck.enabled,
    failures,
    drained: nodes.isDrained(originKey),
    hasStandIn,
  }));
}

const BREAKERS: Readonly<Record<BreakerState, LiveTarget["breaker"]>> = {
  [BreakerState.Closed]: "closed",
  [BreakerState.HalfOpen]: "half-open",
  [BreakerState.Trial]: "half-open",
  [BreakerState.Open]: "open",
};
