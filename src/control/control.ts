import { availableParallelism } from "node:os";
import type { LostSecret } from "../config/secret-file.ts";
import { WALL_CLOCK } from "../core/clock.ts";
import { type Takers, takeMessage } from "../core/message-takers.ts";
import { SECRET_VALUES } from "../core/secret-values.ts";
import { readClock } from "../core/shared-clock.ts";
import { VERSION } from "../core/version.ts";
import { EVENTS, type GatewayLog, type WriteEvent } from "../facts/events.ts";
import { createChallengeTable } from "../features/acme/challenge-table.ts";
import type { ActionCall } from "../features/admin/action-handler.ts";
import type { EndpointResponses } from "../features/admin/built-in-endpoints.ts";
import type { ControlQuestion } from "../features/admin/control-channel.ts";
import { type Answerer, type ControlResponse, ControlRpc, jsonResponse } from "../features/admin/control-rpc.ts";
import { holdChanges } from "../features/admin/held-changes.ts";
import { internalResponses } from "../features/admin/internal-responses.ts";
import { machineKey } from "../features/balance/sticky.ts";
import type { RemoteConfig } from "../features/fleet/control/remote-config.ts";
import type { FileConfigurations } from "../features/history/control/file-configurations.ts";
import type { StateFolder } from "../features/history/control/state-folder.ts";
import type { ClusterLists } from "../features/kubernetes/control/cluster-lists.ts";
import type { ApiRoutes } from "../features/providers/control/api-routes.ts";
import type { AnyLiveSource } from "../features/providers/control/live/live-source.ts";
import { EventLog } from "../features/telemetry/event-log.ts";
import type { Exposition } from "../features/telemetry/exposition.ts";
import { FdOutput } from "../features/telemetry/fd-output.ts";
import { LogAddresses } from "../features/telemetry/log-addresses.ts";
import type { LineSink } from "../features/telemetry/log-batch.ts";
import { LogThreshold } from "../features/telemetry/log-level.ts";
import { LogWriter, teed } from "../features/telemetry/log-writer.ts";
import { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import { ShownOutput } from "../features/telemetry/shown-output.ts";
import { type KeywordMemory, sharedKeywords } from "../features/waf/rule-table.ts";
import { listConfig } from "../loading/config-listing.ts";
import { type BodyBudgetBuffers, createBodyBudget, returnBudgetOf } from "../memory/body-budget.ts";
import { type ConnectionBuffers, clearConnectionsOf, createConnectionCounts } from "../memory/connection-counts.ts";
import { COUNTERS } from "../memory/counter-rows.ts";
import type { CounterBuffers, CounterLabels } from "../memory/counter-table.ts";
import { CounterTotals } from "../memory/counter-totals.ts";
import { createIncidentRing, IncidentReader } from "../memory/incident-ring.ts";
import { createTokenBuckets } from "../memory/token-bucket.ts";
import { firewallsOf } from "../routes/route-config.ts";
import { routeList } from "../routes/route-list.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { type TargetChanges, targetChanges } from "../routes/target-changes.ts";
import { listedSidecarRoutes } from "../routes/upstream/sidecar-routes.ts";
import { listenerFacts } from "../settings/server-listeners.ts";
import {
  type ListenerName,
  type ListeningSocket,
  listenersOf,
  portFields,
  quicAddressesOf,
  udpAddressesOf,
  withPorts,
} from "../worker/listeners.ts";
import type { FromWorker, LinesMessage, ToWorker } from "../worker/messages.ts";
import { ConfigPacket, collectSource, packConfig } from "../worker/packed-config.ts";
import { labelsOf } from "../worker/routing.ts";
import { warnOfSidecar } from "../worker/sidecar.ts";
import { binaryPathOf, startFacts } from "./binary-path.ts";
import { controlExposition } from "./control-metrics.ts";
import type { EarlyThread } from "./early-thread.ts";
import { Ending } from "./ending.ts";
import { assigned, endPredecessor, Handover, type Inheritance, socketsOf, takeInheritance } from "./handover.ts";
import type { HeldSignals } from "./held-signals.ts";
import { canaryResponses, Operations } from "./operations.ts";
import { claimPorts, claimUdp, moveClaims, workerFailure } from "./port-claim.ts";
import { processState } from "./process-state.ts";
import {
  type BesidePorts,
  type NextConfiguration,
  needsRestart,
  type ReloadResult,
  Reloads,
  type RestartSettings,
  removedParts,
  restartSettings,
} from "./reload.ts";
import { RouteCalls } from "./route-calls.ts";
import { ServiceNotifier } from "./service-notifier.ts";
import { ControlServices, type ListedControlServices, makeServices, type ThreadPorts } from "./services.ts";
import { reactToSignals } from "./signal-actions.ts";
import { StandIns } from "./stand-ins.ts";
import { quicNotes } from "./start-notes.ts";
import { type SummaryStyle, startSummary } from "./start-summary.ts";
import { UpstreamSurvey } from "./upstream-survey.ts";
import { type PoolListener, WorkerFence, WorkerPool } from "./worker-pool.ts";
import { keepWorkingFolder } from "./working-folder.ts";

/** What the control thread is started with. */
export interface ControlOptions {
  readonly config: RuntimeConfig;
  /** Said in the first log lines. */
  readonly notes: readonly { readonly note: string }[];
  /** How a person at a terminal learns of the start in place of these lines; null for the lines. */
  readonly summary: SummaryStyle | null;
  /** Gives what standard output shows of a line of the log, with its line break; null for lines of JSON. */
  readonly showLine: ((line: string) => string) | null;
  /** Reads configuration and routes again. */
  readonly reload: () => ReloadResult | Promise<ReloadResult>;
  readonly beside: BesidePorts;
  /** Routes that operators put. */
  readonly apiRoutes: ApiRoutes;
  /** The lists that a cluster gives. */
  readonly cluster: ClusterLists;
  /** Sources of routes that change by themselves. */
  readonly live: readonly AnyLiveSource[];
  /** Secrets whose files were gone at the last reload: their last values stay. */
  readonly lostSecrets?: () => readonly LostSecret[];
  /** Where the configuration comes from in place of files; null for files. */
  readonly remote: RemoteConfig | null;
  /** Configurations read from files; null with a remote source. */
  readonly files: FileConfigurations | null;
  readonly state: StateFolder;
  readonly signals: HeldSignals;
  /** The thread of the first worker. */
  readonly early: EarlyThread;
  /** Answers what would become of a request: by an operator's call, and the configuration that serves. */
  readonly explain: (asked: ActionCall, config: RuntimeConfig) => ControlResponse;
}

const LOG_DRAIN_MS = 500;

/** The control thread: workers, signals, logs, the responses to /metrics and /internal/api. */
export class Control implements PoolListener, ThreadPorts {
  config: RuntimeConfig;
  /** The same as the files said it, without what operators have switched since. */
  private fileConfig: RuntimeConfig;
  private readonly packet: ConfigPacket = new ConfigPacket();
  private readonly cookieKey: string = machineKey();
  private readonly options: Omit<ControlOptions, "config">;
  readonly startedAtMs: number = Date.now() - performance.now();
  readonly labels: TelemetryLabels = new TelemetryLabels();
  readonly incidents: SharedArrayBuffer = createIncidentRing();
  private readonly stdout: ShownOutput = new ShownOutput(new FdOutput(1));
  readonly log: LogWriter = new LogWriter(this.stdout, Date.now);
  readonly threshold: LogThreshold = new LogThreshold();
  readonly addresses: LogAddresses = new LogAddresses();
  private readonly lines: LineSink = teed(this.log, (line) => this.parts.telemetry.addLines(line));
  readonly events: GatewayLog = new EventLog(EVENTS, this.lines, WALL_CLOCK, this.threshold, this.addresses);
  readonly pool: WorkerPool;
  private readonly bodyBudget: BodyBudgetBuffers;
  private readonly connections: ConnectionBuffers;
  private readonly buckets: SharedArrayBuffer = createTokenBuckets(crypto.getRandomValues(new Int32Array(2)));
  readonly challenges: SharedArrayBuffer = createChallengeTable();
  readonly totals: CounterTotals;
  readonly fence: WorkerFence;
  readonly standIns: StandIns;
  readonly ending: Ending;
  readonly reloads: Reloads;
  readonly operations: Operations;
  readonly routeCalls: RouteCalls;
  readonly exposition: Exposition;
  private readonly rpc: ControlRpc;
  private ports: ReadonlyMap<ListenerName, number> = new Map();
  private inherited: Inheritance = takeInheritance(process.env, process.pid);
  private readonly manager: ServiceNotifier = new ServiceNotifier(process.env);
  private readonly parts: ListedControlServices;
  /** The same, as one. */
  private readonly services: ControlServices;
  private readonly takers: Takers<FromWorker, ToWorker>;
  readonly listening: Map<number, readonly ListeningSocket[]> = new Map();
  /** Workers that were started again: an inherited socket went with the first. */
  private readonly restarted: Set<number> = new Set();
  private readonly handover: Handover;
  readonly serving: PromiseWithResolvers<void> = Promise.withResolvers();
  private announced = false;
  private keywords: KeywordMemory | null = null;
  private readonly running: RestartSettings;
  private finish: (code: number) => void = () => {};
  private fail: (error: Error) => void = () => {};

  constructor(options: ControlOptions) {
    const { config, ...others } = options;
    this.stdout.show = others.showLine;
    this.options = others; // A reload replaces the configuration: the first must not stay here.
    this.config = config;
    this.fileConfig = config;
    this.running = restartSettings(config);
    this.pool = new WorkerPool(config.server.workers || availableParallelism(), this, options.early);
    const secret = crypto.getRandomValues(new Int32Array(2));
    this.bodyBudget = createBodyBudget(this.pool.size, secret);
    this.connections = createConnectionCounts(this.pool.size, secret);
    const { routes, upstreams, streams: labels } = this.labels;
    this.totals = new CounterTotals(this.pool.buffers, routes, upstreams, { labels, cells: this.connections.streams });
    this.fence = new WorkerFence(
      (id) => this.broadcast({ kind: "fence", id }),
      () => this.listening.keys(),
    );
    this.standIns = this.makeStandIns();
    this.handover = this.makeHandover();
    this.ending = this.makeEnding();
    this.reloads = this.makeReloads();
    this.parts = makeServices(this);
    this.services = new ControlServices(this.parts);
    this.operations = this.makeOperations();
    this.routeCalls = this.makeRouteCalls();
    this.config = this.operations.restored(this.inherited.state, this.withFound(config));
    this.takers = this.takersWith(this.services.takers);
    this.exposition = this.makeExposition();
    this.rpc = new ControlRpc(this.answers(), (error, what) => this.event("exception", { what, error: String(error) }));
  }

  get remote(): RemoteConfig | null {
    return this.options.remote;
  }

  get cluster(): ClusterLists {
    return this.options.cluster;
  }

  get state(): StateFolder {
    return this.options.state;
  }

  get beside(): BesidePorts {
    return this.options.beside;
  }

  get liveSources(): readonly AnyLiveSource[] {
    return this.options.live;
  }

  readonly broadcast = (message: ToWorker): void => this.pool.broadcast(message);

  private makeStandIns(): StandIns {
    return new StandIns({
      tell: (worker, message) => this.pool.send(worker, message),
      listening: this.listening,
      moves: (worker) => this.parts.watch.moves(worker),
    });
  }

  private makeOperations(): Operations {
    return new Operations({
      nodes: this.parts.nodes,
      bans: this.parts.bans,
      reloads: this.reloads,
      files: this.options.files,
      state: this.options.state,
      running: this.running,
      fileConfig: () => this.fileConfig,
      config: () => this.config,
      useLogLevel: (level) => {
        this.threshold.take(level);
        this.broadcast({ kind: "log-level", level });
      },
      event: this.event,
    });
  }

  private makeRouteCalls(): RouteCalls {
    const { files, apiRoutes: routes, beside } = this.options;
    return new RouteCalls({
      routes,
      candidate: files === null ? null : (lists) => files.candidate(lists),
      beside: () => beside.files(),
      shared: () => this.parts.fleet.routes,
      take: () => this.reloads.take(() => beside.read()),
      fileConfig: () => this.fileConfig,
      audit: (action, operator, about) => this.operations.audit(action, operator, about),
    });
  }

  private makeHandover(): Handover {
    return new Handover(
      () => this.allSockets(),
      (fields) => {
        if (fields.ok === false && !this.handover.hasSuccessor) this.parts.cache.keep();
        if (!this.ending.hasBegun) this.event("upgrade", fields);
      },
      this.inherited.binary || binaryPathOf(startFacts()),
      () => this.parts.cache.handOn(),
      () => {
        this.parts.canaries.keep();
        return this.operations.kept();
      },
    );
  }

  private makeEnding(): Ending {
    return new Ending({
      settings: () => this.config.server,
      // A successor takes the connections that a delay is for.
      isDelayed: () => this.announced && !this.handover.hasSuccessor,
      hasSuccessor: () => this.handover.hasSuccessor,
      successorPid: () => this.handover.successorPid,
      pool: this.pool,
      onBegin: () => {
        this.manager.stopping();
        this.handover.passOn();
        if (!this.handover.hasSuccessor) return;
        this.parts.canaries.handOn();
        this.options.state.handOn();
      },
      onDrain: () => {
        this.standIns.end();
        // From here on each worker closes its own: to close one again might close another descriptor of the same number.
        this.listening.clear();
      },
      connections: () => this.totals.sum(COUNTERS.activeConnections),
      event: this.event,
      finish: (code) => this.finish(code),
    });
  }

  private makeReloads(): Reloads {
    return new Reloads({
      read: this.options.reload,
      current: () => this.fileConfig,
      prepare: (next, isWhole) => {
        const config = this.withFound(this.operations.maintenance.applied(next));
        const changes = isWhole ? null : targetChanges(this.config, config);
        return changes === null ? this.prepare(next, config) : this.prepareTargets(next, config, changes);
      },
      isEnding: () => this.ending.hasBegun,
      // One that stands still takes it up when it moves again, or its successor does.
      workers: () => [...this.listening.keys()].filter((worker) => !this.parts.watch.isStalled(worker)),
      broadcast: this.broadcast,
      onBegin: () => this.manager.reloading(),
      onEnd: () => {
        this.manager.reloaded();
        for (const lost of this.options.lostSecrets?.() ?? []) this.event("secret_kept", lost);
      },
      event: this.event,
    });
  }

  /**
   * Serves until a signal ends it.
   * @returns the exit code
   * @throws when the port cannot be had
   */
  run(): Promise<number> {
    this.pool.start();
    const { cache, socket, nodes, certificates, outputs } = this.parts;
    cache.takeOver(this.inherited.cacheFile, this.inherited.predecessor);
    const { sockets, predecessor } = this.inherited;
    const given = socket.start(this.config, sockets, predecessor === 0);
    const places = listenersOf(this.config);
    const tcp = assigned(given, places, predecessor > 0);
    this.inherited = { ...this.inherited, sockets: tcp };
    this.ports = claimPorts(places, tcp);
    claimUdp(udpAddressesOf(this.config), predecessor === 0 ? [] : udpAddressesOf(this.config));
    const used = this.services.use(this.config, this.fileConfig);
    warnOfSidecar(this.config, this.event);
    const quic = quicNotes(this.config, certificates.sets.https);
    if (this.options.summary === null) for (const note of [...this.options.notes, ...quic]) this.event("start", note);
    const firewalls = firewallsOf(this.config);
    if (firewalls.length > 0) this.keywords = sharedKeywords(firewalls);
    return new Promise((resolve, reject) => {
      this.fail = (error) => {
        this.pool.stop();
        void this.log.drain(LOG_DRAIN_MS).then(() => reject(error));
      };
      this.finish = (code) => {
        this.pool.stop();
        socket.end(this.handover.successorPid);
        const stopped = this.services.stop(LOG_DRAIN_MS);
        void Promise.all([stopped, this.log.drain(LOG_DRAIN_MS)]).then(() => resolve(code));
      };
      const { operations, handover, ending } = this;
      reactToSignals({ signals: this.options.signals, operations, handover, ending, outputs, event: this.event });
      nodes.start();
      const ready = [used, cache.startDisk()];
      void Promise.all(ready).then(() => (this.ending.hasBegun ? this.finish(0) : this.pool.release()));
    });
  }

  /** The configuration as upstreams and name servers complete it. */
  private withFound(config: RuntimeConfig): RuntimeConfig {
    return this.parts.services.applied(this.parts.schemas.applied(config));
  }

  /** The workers have not begun, or get the configuration anew. */
  onSchema(): void {
    if (this.pool.released) return void this.serving.promise.then(() => this.reloads.rebuild());
    const { nodes } = this.parts;
    this.config = this.withFound(this.operations.maintenance.applied(this.fileConfig));
    nodes.prepare(this.config).takeUp?.();
  }

  startMessage(index: number, counters: CounterBuffers): ToWorker {
    return {
      kind: "start",
      index,
      workers: this.pool.size,
      config: this.packet.of(this.config, (config) => withPorts(config, this.ports)),
      labels: labelsOf(this.config, this.labels),
      counters,
      incidents: this.incidents,
      bodyBudget: this.bodyBudget,
      connections: this.connections,
      buckets: this.buckets,
      challenges: this.challenges,
      cookieKey: this.cookieKey,
      clock: readClock(),
      sockets: this.restarted.has(index)
        ? this.standIns.socketsFor(index, listenersOf(this.config))
        : socketsOf(index, this.pool.size, this.inherited.sockets),
      waitsForQuic: this.restarted.has(index) || this.inherited.sockets.length > 0,
      keywords: this.keywords,
      logLevel: this.operations.level,
      ...this.services.startFields(),
    };
  }

  onMessage(index: number, message: FromWorker): void {
    takeMessage(this.takers, message, index, (response) => this.pool.send(index, response));
  }

  /** What no service takes: a kind that is missing here and there does not compile. */
  private takersWith(ofServices: ControlServices["takers"]): Takers<FromWorker, ToWorker> {
    const takeLines = ({ kind, batch: written, outputs: set = "" }: LinesMessage, index: number): void => {
      const batch = SECRET_VALUES.masked(written);
      this.totals.logTaken(index, written.length);
      const { outputs, telemetry } = this.parts;
      if (kind === "log") this.log.add(batch);
      else outputs.add(batch, set);
      telemetry.addLines(batch);
    };
    return {
      ...ofServices,
      ready: () => {},
      drained: () => {},
      listening: ({ sockets }, index) => this.onListening(index, sockets),
      failed: (message, index) => {
        this.event("worker_failed", { worker: index, error: message.message });
        this.fail(workerFailure(withPorts(this.config, this.ports), message));
      },
      log: takeLines,
      access: takeLines,
      exception: ({ message }, index) => this.event("exception", { worker: index, error: message }),
      question: ({ question }, index) => void this.answer(index, question),
      prepared: ({ id, error }, index) => this.reloads.onAnswer(index, "prepared", id, error),
      applied: ({ id }, index) => this.reloads.onAnswer(index, "applied", id, ""),
      fenced: ({ id }, index) => this.fence.onFenced(index, id),
    };
  }

  private onListening(index: number, sockets: readonly ListeningSocket[]): void {
    if (!this.ending.isDraining) this.listening.set(index, sockets);
    if (this.restarted.has(index)) this.standIns.done(index);
    this.parts.live.workerReady();
    this.parts.functions.workerListens(index);
    // The signal may have come while this worker was starting.
    if (this.ending.hasBegun) this.ending.tell(index);
    else if (this.listening.size === this.pool.size && !this.announced) this.announce();
    if (!this.ending.hasBegun) this.handover.goOn();
  }

  private async answer(index: number, { id, what, body }: ControlQuestion): Promise<void> {
    const answer = await this.rpc.answer(what, body, index);
    this.pool.send(index, { kind: "answer", response: { id, ...answer } });
  }

  onDeath(index: number, reason: string, restarted: boolean): void {
    this.totals.workerDied(index);
    returnBudgetOf(this.bodyBudget, index);
    clearConnectionsOf(this.connections, index);
    for (const service of this.services.all) void service.workerDied?.(index);
    this.restarted.add(index);
    const sockets = this.listening.get(index) ?? [];
    this.listening.delete(index);
    this.standIns.workerDied(index, sockets, listenersOf(this.config));
    // The rest of its listeners would go on taking connections that are not served.
    if (!restarted) this.standIns.end();
    this.fence.onDeath(index);
    this.reloads.onDeath(index);
    this.event("worker_died", { worker: index, reason, restarted });
  }

  onDrained(): void {
    this.ending.onDrained();
  }

  private announce(): void {
    this.announced = true;
    this.serving.resolve();
    this.packet.forget(this.config);
    keepWorkingFolder(this.event);
    this.options.state.tell((fields) => this.event("state_failed", fields));
    this.options.files?.begun();
    for (const service of this.services.all) service.begin?.();
    this.manager.ready(() => this.parts.watch.allBeat);
    endPredecessor(this.inherited);
    const facts = { workers: this.pool.size, version: VERSION, pid: process.pid };
    const { summary, notes } = this.options;
    if (summary === null) {
      this.event("listening", { host: this.config.server.host, ...portFields(this.config, this.ports), ...facts });
      return;
    }
    const all = [...notes, ...quicNotes(this.config, this.parts.certificates.sets.https)].map(({ note }) => note);
    const facing = { ...facts, ports: this.ports, notes: all };
    this.log.add(SECRET_VALUES.masked(startSummary(this.config, facing, summary)));
  }

  /**
   * @param fileConfig as the files say it
   * @param config the same with what operators have switched
   */
  private prepare(fileConfig: RuntimeConfig, config: RuntimeConfig): NextConfiguration {
    const ports = moveClaims(listenersOf(config), listenersOf(this.config), this.ports);
    claimUdp(udpAddressesOf(config), udpAddressesOf(this.config));
    claimUdp(quicAddressesOf(config), quicAddressesOf(this.config));
    const ready = this.services.prepare(config);
    const message = {
      config: packConfig(withPorts(config, ports)),
      labels: labelsOf(config, this.labels),
      ...ready.fields,
    };
    collectSource(config);
    const before = this.config;
    return {
      message,
      drop: ready.drop,
      takeUp: () => {
        this.config = config;
        this.fileConfig = fileConfig;
        this.ports = ports;
        ready.takeUp();
        void this.services.use(config, fileConfig);
        warnOfSidecar(config, this.event);
      },
      settled: () => {
        this.packet.forget(config);
        return {
          routes: config.routes.length,
          needs_restart: needsRestart(this.running, config),
          removed: removedParts(before, config),
        };
      },
    };
  }

  /** The same if targets alone are others. */
  private prepareTargets(
    fileConfig: RuntimeConfig,
    config: RuntimeConfig,
    { routes, streams }: TargetChanges,
  ): NextConfiguration {
    const ready = this.parts.nodes.prepareTargets(config);
    return {
      message: { routes, streams, nodes: ready.fields, labels: this.newLabels(config, { routes, streams }) },
      isLive: true,
      drop: () => {},
      takeUp: () => {
        this.config = config;
        this.fileConfig = fileConfig;
        ready.takeUp?.();
        for (const service of this.services.all) service.useTargets?.(config);
      },
      settled: () => ({ routes: config.routes.length, targets: routes.length + streams.length }),
    };
  }

  /** Numbers those of new targets. @returns null if there is none */
  private newLabels(config: RuntimeConfig, { routes, streams }: TargetChanges): CounterLabels | null {
    const { upstreams } = this.labels;
    const before = upstreams.all().length;
    for (const { keys } of [...routes, ...streams]) for (const { originKey } of keys.targets) upstreams.idOf(originKey);
    return upstreams.all().length === before ? null : labelsOf(config, this.labels);
  }

  /** Without a listener in clear text, the port of the gateway is that of TLS. */
  private listenerState() {
    const { server } = withPorts(this.config, this.ports);
    const port = server.port >= 0 ? server.port : Math.max(0, server.tls.port);
    return { port, listeners: listenerFacts(server, this.totals.listeners(this.labels.listeners)) };
  }

  /** The listening sockets of all workers; null while one of them is starting. */
  private allSockets(): readonly ListeningSocket[] | null {
    if (this.listening.size < this.pool.size) return null;
    const unix = this.parts.socket.sockets;
    const names = new Set(unix.map(({ name }) => name));
    return [...[...this.listening.values()].flat().filter(({ name }) => !names.has(name)), ...unix];
  }

  private makeExposition(): Exposition {
    const { totals, labels } = this;
    const { nodes, telemetry, outputs } = this.parts;
    return controlExposition({
      totals,
      nodes,
      labels,
      telemetry,
      ofServices: this.services.metrics(),
      lastReloadSuccessful: () => this.reloads.isLastOk,
      lastReloadSeconds: () => this.reloads.lastMs / 1000,
      droppedLogLines: () => this.log.droppedLines + outputs.droppedLines,
    });
  }

  private answers() {
    const { exposition } = this;
    const { keys, nodes, member, fleet, cache, live, bans, canaries } = this.parts;
    const survey = new UpstreamSurvey(nodes);
    const responses = internalResponses({
      config: () => this.config,
      state: () =>
        processState(this.config, {
          startedAtMs: this.startedAtMs,
          draining: this.ending.hasBegun,
          ...this.listenerState(),
          workers: this.pool.size,
          generation: this.reloads.generation,
          operations: this.operations.state(),
          configSource: member.source(),
        }),
      routes: () => routeList(this.config, nodes.targetStatus, listedSidecarRoutes(this.config)),
      probeTargets: () => survey.run(this.config),
      totals: this.totals,
      incidents: new IncidentReader(this.incidents),
      exposition: (format) => exposition.shown(format),
    });
    const keysResponse = async (id: string) => jsonResponse(200, await keys.wanted(id));
    const ofEndpoints: EndpointResponses = {
      ...responses,
      ...this.operations.answers(),
      ...this.routeCalls.answers(),
      ...canaryResponses(canaries, this.operations),
      explain: (body) => this.options.explain(JSON.parse(body) as ActionCall, this.config),
      bans: async () => {
        const { status, body } = bans.listing();
        return jsonResponse(status, body);
      },
      nodes: () => fleet.listing().then(({ status, body }) => jsonResponse(status, body)),
      openapi: async () => jsonResponse(200, (await import("../features/admin/openapi.ts")).openApi()),
      config: () => ({ status: 200, contentType: "application/yaml", body: listConfig(this.config) }),
    };
    const ofWorkers: Record<string, Answerer> = {
      keys: keysResponse,
      "cache-purge": async (purge) => jsonResponse(200, await cache.purgeDisk(JSON.parse(purge))),
      watch: (_, worker) => live.watch(worker),
    };
    const all = new Map(Object.entries<Answerer>({ ...ofEndpoints, ...ofWorkers }));
    return holdChanges(all, () => this.handover.hasSuccessor);
  }

  readonly event: WriteEvent = (...event) => {
    this.events.event(...event);
    this.parts.live.changed(event[0], event[1]);
  };
}
