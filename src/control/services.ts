import { formatFault } from "../config/config-fault.ts";
import { stateFolderOf } from "../config/state-folder.ts";
import type { ControlService, Prepared } from "../core/control-service.ts";
import { detailLabel } from "../core/fault-detail-rows.ts";
import type { Together } from "../core/message-takers.ts";
import type { Metric } from "../core/metric-row.ts";
import { ServiceList } from "../core/service-list.ts";
import { EVENTS, type GatewayLog, type WriteEvent } from "../facts/events.ts";
import { type AcmePorts, AcmeService, ListenerSink } from "../features/acme/control/acme-service.ts";
import { AgentDirectories } from "../features/agents/control/agent-directories.ts";
import { AiBook } from "../features/ai/control/ai-book.ts";
import { KeyService } from "../features/auth/control/key-service.ts";
import { ServiceTargets } from "../features/balance/control/service-targets.ts";
import { BanService } from "../features/bans/control/ban-service.ts";
import { CacheOwner } from "../features/cache/control/cache-owner.ts";
import type { DiskReports } from "../features/cache/control/disk/cache-disk.ts";
import { CanaryBook } from "../features/canary/control/canary-book.ts";
import { ConcurrencyLimits } from "../features/concurrency/control/concurrency-limits.ts";
import { ProxyTunnels } from "../features/connect/control/proxy-tunnels.ts";
import { LiveFeed } from "../features/dashboard/live-feed.ts";
import { Fleet, type FleetPorts, openFleetStore } from "../features/fleet/control/fleet.ts";
import { FleetMember, type MemberPorts } from "../features/fleet/control/fleet-member.ts";
import type { RemoteConfig } from "../features/fleet/control/remote-config.ts";
import { Functions } from "../features/functions/control/functions.ts";
import { GeoDatabases } from "../features/geo/control/geo-databases.ts";
import type { StateFolder } from "../features/history/control/state-folder.ts";
import type { KubernetesPorts } from "../features/kubernetes/control/cluster.ts";
import type { ClusterLists } from "../features/kubernetes/control/cluster-lists.ts";
import { KubernetesSource } from "../features/kubernetes/control/kubernetes-source.ts";
import { ListFiles, type ListPorts } from "../features/lists/control/list-files.ts";
import { OverloadWatch } from "../features/overload/control/overload-watch.ts";
import { type LivePorts, LiveProviders } from "../features/providers/control/live/live-providers.ts";
import type { AnyLiveSource } from "../features/providers/control/live/live-source.ts";
import { type ProviderPorts, RouteProviders } from "../features/providers/control/route-providers.ts";
import { SloBook } from "../features/slo/control/slo-book.ts";
import { LogOutputs } from "../features/telemetry/control/log-outputs.ts";
import { type ExportPorts, TelemetryExport } from "../features/telemetry/control/telemetry-export.ts";
import type { Exposition } from "../features/telemetry/exposition.ts";
import type { LogAddresses } from "../features/telemetry/log-addresses.ts";
import type { LogThreshold } from "../features/telemetry/log-level.ts";
import type { LogWriter } from "../features/telemetry/log-writer.ts";
import type { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import { TlsCertificates } from "../features/tls/control/certificates.ts";
import { serverCertificate } from "../features/tls/control/server-certificate.ts";
import { LearnedSchemas } from "../features/transcode/control/learned-schemas.ts";
import { RoomOwner } from "../features/waiting/control/room-owner.ts";
import type { CounterTotals } from "../memory/counter-totals.ts";
import { hasTargetsOf, LIST_READERS, listRefusal, listUses } from "../routes/list-uses.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { nameDetail } from "../upstream/failure-detail.ts";
import type { ListeningSocket } from "../worker/listeners.ts";
import type { ToWorker } from "../worker/messages.ts";
import { feedSources } from "./dashboard-feed.ts";
import type { Ending } from "./ending.ts";
import { NodeRegistry } from "./node-registry.ts";
import type { Operations } from "./operations.ts";
import type { BesidePorts, Reloads } from "./reload.ts";
import type { RouteCalls } from "./route-calls.ts";
import type { StandIns } from "./stand-ins.ts";
import { UnixSockets } from "./unix-sockets.ts";
import type { WorkerFence, WorkerPool } from "./worker-pool.ts";
import { type StallListener, WorkerWatch } from "./worker-watch.ts";

/** The control thread, as its parts see it. Members that are made after the parts are read when a part is called. */
export interface ThreadPorts {
  /** In use; as the files said it until the parts are there. */
  readonly config: RuntimeConfig;
  readonly pool: WorkerPool;
  readonly totals: CounterTotals;
  readonly labels: TelemetryLabels;
  readonly incidents: SharedArrayBuffer;
  readonly challenges: SharedArrayBuffer;
  readonly threshold: LogThreshold;
  /** To standard output. */
  readonly log: LogWriter;
  readonly addresses: LogAddresses;
  readonly remote: RemoteConfig | null;
  readonly startedAtMs: number;
  readonly beside: BesidePorts;
  readonly cluster: ClusterLists;
  readonly routeCalls: RouteCalls;
  readonly state: StateFolder;
  readonly liveSources: readonly AnyLiveSource[];
  readonly events: GatewayLog;
  readonly event: WriteEvent;
  /** The listening sockets of each worker. */
  readonly listening: ReadonlyMap<number, readonly ListeningSocket[]>;
  readonly serving: PromiseWithResolvers<void>;
  readonly fence: WorkerFence;
  readonly ending: Ending;
  readonly reloads: Reloads;
  readonly standIns: StandIns;
  readonly operations: Operations;
  readonly exposition: Exposition;
  readonly broadcast: (message: ToWorker) => void;
  /** Upstreams have told what they speak: the configuration is another one. */
  onSchema(): void;
}

type Service = ControlService<RuntimeConfig>;

/**
 * Makes THE parts of the control thread; a part without its line fails a test by its name. They are called from top to bottom of the object that is
 * returned: a part that writes to the log, or gives something up, before the part that takes it.
 */
export function makeServices(site: ThreadPorts) {
  const { pool, config, totals, event, broadcast } = site;
  const schemas = new LearnedSchemas({ changed: () => site.onSchema(), event, names: () => nodes.names });
  const services = new ServiceTargets({ changed: () => site.onSchema(), onFailure: serviceFailures(event) });
  const nodes: NodeRegistry = new NodeRegistry(schemas.applied(config), pool, event);
  const certificates = new TlsCertificates({
    broadcast,
    event,
    stateFolder: stateFolderOf(process.env, process.cwd()),
  });
  const member = new FleetMember(site.remote, totals, nodes, memberPorts(site));
  const bans = new BanService({ broadcast, event, state: site.state });
  const canaries: CanaryBook = new CanaryBook(config, pool.size, { event, state: site.state });
  const rooms = new RoomOwner(config);
  const fleet = new Fleet({ ...fleetPorts(site), ...member.fleetPorts, onBeat: beats(member, bans, canaries) });
  const functions = new Functions(pool, fleet, site.threshold, event);
  const slos = new SloBook(config, pool.size);
  const watch = new WorkerWatch(pool.size, watchPorts(site));
  const cache = new CacheOwner(config.server.cache, pool.size, diskReports(event));
  const outputs = new LogOutputs((output, error) => event("log_failed", { output, error }), site.addresses);
  const shown = { watch, nodes, certificates, cache, functions, slos, canaries, rooms, bans, outputs };
  return {
    socket: new UnixSockets(),
    watch,
    live: new LiveFeed(feedSources(site, shown)),
    nodes,
    keys: new KeyService({ broadcast, event }),
    agents: new AgentDirectories({ broadcast, event }),
    schemas,
    services,
    member,
    providers: new RouteProviders(providerPorts(site)),
    kubernetes: new KubernetesSource(kubernetesPorts(site)),
    liveProviders: new LiveProviders(site.liveSources, livePorts(site, nodes)),
    // Before acme, which puts its own among them.
    certificates,
    geo: new GeoDatabases({ broadcast, event }),
    lists: new ListFiles(listPorts(site)),
    bans,
    // Before functions, whose schedules ask for its lock.
    fleet,
    functions,
    concurrency: new ConcurrencyLimits(config, pool.size),
    slos,
    ai: new AiBook(config, pool.size),
    canaries,
    rooms,
    tunnels: new ProxyTunnels(pool.size),
    overload: new OverloadWatch(pool.size, { event }),
    cache,
    acme: new AcmeService(acmePorts(site, certificates)),
    outputs,
    // The last: it sends lines that the others have logged.
    telemetry: new TelemetryExport(telemetryPorts(site)),
  } satisfies Readonly<Record<string, Service>>;
}

/** What each beat of the fleet does. */
function beats(member: FleetMember, bans: BanService, canaries: CanaryBook): FleetPorts["onBeat"] {
  const { onBeat } = member.fleetPorts;
  return async (store, cluster) => {
    await onBeat(store, cluster);
    await bans.beat(store);
    await canaries.beat(store);
  };
}

function serviceFailures(event: WriteEvent): (upstream: string, reason: string) => void {
  return (upstream, reason) =>
    event("upstream_failed", { upstream, reason, fault_detail: detailLabel(nameDetail(reason)) });
}

/** The parts, by name. */
export type ListedControlServices = ReturnType<typeof makeServices>;

function memberPorts(site: ThreadPorts): MemberPorts {
  const { event } = site;
  return {
    isEnding: () => site.ending.hasBegun,
    reload: () => site.reloads.want(),
    refused: (fields) => event("config_reload", { ok: false, ...fields }),
    event,
  };
}

function fleetPorts(site: ThreadPorts): Omit<FleetPorts, keyof FleetMember["fleetPorts"]> {
  const { startedAtMs, event, broadcast, listening, pool } = site;
  return {
    startedAtMs,
    generation: () => site.reloads.generation,
    isEnding: () => site.ending.hasBegun,
    publish: (state) => broadcast({ kind: "fleet", state }),
    purge: (order) => {
      const [first] = listening.keys();
      if (first !== undefined) pool.send(first, { kind: "purge", order });
    },
    onLook: (routes) => site.routeCalls.follow(routes),
    event,
  };
}

function providerPorts(site: ThreadPorts): ProviderPorts {
  return {
    beside: () => site.beside.files(),
    reload: () => site.reloads.take(() => site.beside.read()),
    shownFault: ({ source, name }, fault) => {
      const live = site.liveSources.find((one) => one.source === source);
      return live === undefined ? formatFault(fault) : live.lists.shownFault(name, fault);
    },
    event: site.event,
  };
}

function kubernetesPorts({ cluster, beside, reloads, event }: ThreadPorts): KubernetesPorts {
  return {
    lists: cluster,
    beside: () => beside.files(),
    reload: () => reloads.take(() => beside.read()),
    stateFolder: stateFolderOf(process.env, process.cwd()),
    unavailable: (name, error) =>
      event("provider_unavailable", { source: "kubernetes", name, error, kept: cluster.files.length }),
    event,
  };
}

function livePorts(site: ThreadPorts, nodes: NodeRegistry): LivePorts {
  const { reload, event } = providerPorts(site);
  return { reload, event, withhold: (urls) => nodes.withhold(urls) };
}

function listPorts(site: ThreadPorts): ListPorts {
  const { broadcast, event } = site;
  const changed: ListPorts["changed"] = (use) => {
    if (hasTargetsOf(use, site.config)) void site.reloads.want();
  };
  return { readers: LIST_READERS, usesOf: listUses, refusal: listRefusal, broadcast, event, changed };
}

function watchPorts(site: ThreadPorts): StallListener {
  return {
    onStill: (worker) => {
      if (!site.ending.hasBegun) site.standIns.help(worker);
    },
    onMoves: (worker) => site.standIns.done(worker),
    onStall: (worker, stalledMs, isHeld) =>
      site.event("worker_stalled", { worker, stalled_ms: stalledMs, held: isHeld }),
    replace: (worker) => site.pool.replace(worker),
  };
}

function diskReports(event: WriteEvent): DiskReports {
  return {
    opened: (fields) => event("cache_disk_open", fields),
    failed: (fields) => event("cache_disk_failed", fields),
    exception: (error) => event("exception", { what: "cache.disk", error }),
  };
}

function acmePorts({ challenges, fence, serving, event }: ThreadPorts, certificates: TlsCertificates): AcmePorts {
  const { sink } = certificates;
  return {
    challenges,
    certificates: new ListenerSink(sink, () => fence.settled(), serverCertificate),
    serving: serving.promise,
    event,
    wantedElsewhere: (name) => certificates.wanted(name),
    openStore: openFleetStore,
  };
}

function telemetryPorts(site: ThreadPorts): ExportPorts {
  const { pool, startedAtMs, events } = site;
  return { workers: pool.size, startedAtMs, metrics: () => site.exposition.metrics, rows: EVENTS, events };
}

/** The fields of a worker's first message that services give. */
type StartFieldsOf<Listed> = Together<
  { [Name in keyof Listed]: Listed[Name] extends { startFields(): infer Fields } ? Fields : never }[keyof Listed]
>;

/** The fields of the message that brings a configuration to the workers, likewise. */
type ReloadFieldsOf<Listed> = Together<
  {
    [Name in keyof Listed]: Listed[Name] extends { prepare(config: never): { readonly fields: infer Fields } }
      ? Fields
      : never;
  }[keyof Listed]
>;

/** A configuration, made ready by all services. */
interface PreparedServices {
  readonly fields: ReloadFieldsOf<ListedControlServices>;
  takeUp(): void;
  drop(): void;
}

/** The parts of the control thread, as one. */
export class ControlServices extends ServiceList<Service, ListedControlServices> {
  /** @throws Error that prevents the configuration; nothing is left of it */
  prepare(config: RuntimeConfig): PreparedServices {
    const ready: Prepared[] = [];
    const drop = (): void => {
      for (const one of ready) one.drop?.();
    };
    try {
      for (const service of this.all) if (service.prepare !== undefined) ready.push(service.prepare(config));
    } catch (error) {
      drop();
      throw error;
    }
    return {
      fields: Object.assign({}, ...ready.map(({ fields }) => fields)),
      takeUp: () => {
        for (const one of ready) one.takeUp?.();
      },
      drop,
    };
  }

  /** @returns when the start need not wait for any of them */
  use(config: RuntimeConfig, file: RuntimeConfig): Promise<unknown> {
    return Promise.all(this.all.map((service) => service.use?.(config, file)));
  }

  stop(limitMs: number): Promise<unknown> {
    return Promise.all(this.all.map((service) => service.stop?.(limitMs)));
  }

  metrics(): readonly Metric[] {
    return this.all.flatMap((service) => service.metrics?.() ?? []);
  }

  startFields(): StartFieldsOf<ListedControlServices> {
    return Object.assign({}, ...this.all.map((service) => service.startFields?.()));
  }
}
