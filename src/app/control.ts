import { availableParallelism } from "node:os";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { messageOf } from "../core/error-text.ts";
import { ControlDesk } from "../features/admin/control-desk.ts";
import { internalAnswers } from "../features/admin/internal-answers.ts";
import { type EventFields, EventLog, type EventName } from "../features/telemetry/events.ts";
import { EXPOSITION_TYPE } from "../features/telemetry/exposition.ts";
import { FdOutput } from "../features/telemetry/fd-output.ts";
import { LogWriter } from "../features/telemetry/log-writer.ts";
import { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import { sharedKeywords } from "../features/waf/rule-table.ts";
import { routeList } from "../routes/route-list.ts";
import type { TargetStatus } from "../routes/route-type.ts";
import { type BodyBudgetBuffers, createBodyBudget, returnBudgetOf } from "../shared/body-budget.ts";
import { createChallengeTable } from "../shared/challenge-table.ts";
import { type ConnectionBuffers, clearConnectionsOf, createConnectionCounts } from "../shared/connection-counts.ts";
import { COUNTERS } from "../shared/counter-rows.ts";
import type { CounterBuffers } from "../shared/counter-table.ts";
import { CounterTotals } from "../shared/counter-totals.ts";
import { createIncidentRing, IncidentReader } from "../shared/incident-ring.ts";
import { createTokenBuckets } from "../shared/token-bucket.ts";
import { VERSION } from "../shared/version.ts";
import { AcmeService, ListenerDesk } from "./acme-service.ts";
import { binaryPathOf, startFacts } from "./binary-path.ts";
import { CacheKeeper } from "./cache-keeper.ts";
import { CertificateDesk } from "./certificates.ts";
import { controlExposition } from "./control-metrics.ts";
import { routeLabels, upstreamLabels } from "./graph.ts";
import { endPredecessor, Handover, type Inheritance, socketsOf, takeInheritance } from "./handover.ts";
import type { HeldSignals } from "./held-signals.ts";
import { type ListenerName, type ListeningSocket, listenersOf, portFields, withPorts } from "./listeners.ts";
import type { FromWorker, NewConfiguration, ToWorker } from "./messages.ts";
import { needsRestart, type RestartSettings, restartSettings } from "./needs-restart.ts";
import { NodeKeeper } from "./node-keeper.ts";
import { nodeKey } from "./node-list.ts";
import { ConfigPacket, collectSource, packConfig } from "./packed-config.ts";
import { claimPorts, moveClaims, workerFailure } from "./port-claim.ts";
import { processState } from "./process-state.ts";
import { removedParts } from "./removed-parts.ts";
import { Rollout } from "./rollout.ts";
import { ServiceNotifier } from "./service-notifier.ts";
import { readClock } from "./shared-clock.ts";
import { listedSidecarRoutes } from "./sidecar-routes.ts";
import { warnOfSidecar } from "./sidecar-warnings.ts";
import { StandIns } from "./stand-ins.ts";
import { quicNotes } from "./start-notes.ts";
import { UpstreamSurvey } from "./upstream-survey.ts";
import { WorkerFence } from "./worker-fence.ts";
import { type PoolListener, WorkerPool } from "./worker-pool.ts";
import { WorkerWatch } from "./worker-watch.ts";

/** What a reload gives: a new configuration, or why there is none. */
export type ReloadResult =
  | { readonly ok: true; readonly config: RuntimeConfig }
  | { readonly ok: false; readonly faults: readonly string[] };

/** What the control thread is started with. */
export interface ControlOptions {
  readonly config: RuntimeConfig;
  /** Said in the first log lines. */
  readonly notes: readonly EventFields[];
  /** Reads configuration and routes again. */
  readonly reload: () => ReloadResult;
  readonly signals: HeldSignals;
}

const LOG_DRAIN_MS = 500;
/** How long workers may take to end what draining has left. */
const CUT_MS = 1000;
/** What the process ends with after a signal. */
const enum ExitCode {
  Done = 0,
  /** Something was under way for longer than `server.shutdown_timeout`. */
  Cut = 3,
}
/** How long a worker may take to build a configuration; ten thousand routes take it less than a second. */
const RELOAD_PATIENCE_MS = 30_000;

/** Why a reload changes nothing. */
class ReloadFaults extends Error {
  constructor(readonly faults: readonly string[]) {
    super(faults.join("; "));
  }
}

/** The control thread: workers, signals, logs, the answers to /metrics and /internal/api. */
export class Control implements PoolListener {
  private config: RuntimeConfig;
  private readonly packet: ConfigPacket = new ConfigPacket();
  private readonly options: Omit<ControlOptions, "config">;
  private readonly startedAtMs: number = Date.now() - performance.now();
  private readonly labels: TelemetryLabels = new TelemetryLabels();
  private readonly incidents: SharedArrayBuffer = createIncidentRing();
  private readonly log: LogWriter = new LogWriter(new FdOutput(1), Date.now);
  private readonly events: EventLog = new EventLog(this.log, WALL_CLOCK);
  private readonly pool: WorkerPool;
  private readonly bodyBudget: BodyBudgetBuffers;
  private readonly connections: ConnectionBuffers;
  private readonly buckets: SharedArrayBuffer = createTokenBuckets(crypto.getRandomValues(new Int32Array(2)));
  private readonly challenges: SharedArrayBuffer = createChallengeTable();
  private readonly totals: CounterTotals;
  private readonly nodes: NodeKeeper;
  private readonly cache: CacheKeeper;
  private readonly desk: ControlDesk;
  private readonly certificates: CertificateDesk;
  private readonly fence: WorkerFence;
  private readonly rollout: Rollout;
  private readonly watch: WorkerWatch;
  private readonly standIns: StandIns;
  private readonly acme: AcmeService;
  private ports: ReadonlyMap<ListenerName, number> = new Map();
  private readonly inherited: Inheritance = takeInheritance(process.env, process.pid);
  private readonly services: ServiceNotifier = new ServiceNotifier(process.env);
  /** The listening sockets of each worker. */
  private readonly listening: Map<number, readonly ListeningSocket[]> = new Map();
  /** Workers that were started again: an inherited socket went with the first. */
  private readonly restarted: Set<number> = new Set();
  private readonly handover: Handover;
  private readonly serving: PromiseWithResolvers<void> = Promise.withResolvers();
  private announced = false;
  private keywords: SharedArrayBuffer | null = null;
  private draining = false;
  private hasBegunToDrain = false;
  private wasCut = false;
  private readonly running: RestartSettings;
  /** Counts the configurations that have been in use, from 1. */
  private generation = 1;
  private lastReload = 0;
  private reloading = false;
  private reloadWanted = false;
  private lastReloadOk = true;
  private lastReloadMs: number = Date.now();
  private finish: (code: number) => void = () => {};
  private fail: (error: Error) => void = () => {};

  constructor(options: ControlOptions) {
    const { config, ...others } = options;
    this.options = others; // A reload replaces the configuration: the first must not stay here.
    this.config = config;
    this.running = restartSettings(config);
    const { workers } = config.server;
    this.pool = new WorkerPool(workers > 0 ? workers : availableParallelism(), this);
    const secret = crypto.getRandomValues(new Int32Array(2));
    this.bodyBudget = createBodyBudget(this.pool.size, secret);
    this.connections = createConnectionCounts(this.pool.size, secret);
    this.totals = new CounterTotals(this.pool.buffers, this.labels.routes, this.labels.upstreams);
    this.cache = new CacheKeeper(this.config.server.cache, this.pool.size);
    this.nodes = new NodeKeeper(this.config, (event, fields) => this.event(event, fields));
    this.certificates = new CertificateDesk(
      (certificates) => this.pool.broadcast({ kind: "certificates", certificates }),
      (event, fields) => this.event(event, fields),
    );
    this.handover = new Handover(
      () => this.allSockets(),
      (fields) => {
        if (!this.draining) this.event("upgrade", fields);
      },
      binaryPathOf(startFacts()),
    );
    this.fence = new WorkerFence(
      (id) => this.pool.broadcast({ kind: "fence", id }),
      () => this.listening.keys(),
    );
    this.standIns = new StandIns({
      tell: (worker, message) => this.pool.send(worker, message),
      listening: this.listening,
      moves: (worker) => this.watch.moves(worker),
    });
    this.watch = new WorkerWatch(this.pool.size, {
      onStill: (worker) => {
        if (!this.draining) this.standIns.help(worker);
      },
      onMoves: (worker) => this.standIns.done(worker),
      onStall: (worker, stalledMs) => {
        this.event("worker_stalled", { worker, stalled_ms: stalledMs });
        this.pool.replace(worker);
      },
    });
    this.rollout = new Rollout(() => this.listening.keys(), RELOAD_PATIENCE_MS);
    this.acme = new AcmeService({
      challenges: this.challenges,
      certificates: new ListenerDesk(this.certificates.sink, () => this.fence.settled()),
      serving: this.serving.promise,
      event: (event, fields) => this.event(event, fields),
    });
    this.desk = new ControlDesk(this.answers(), (error, what) =>
      this.event("exception", { what, error: String(error) }),
    );
  }

  /**
   * Serves until a signal ends it.
   * @returns the exit code
   * @throws when the port cannot be had
   */
  run(): Promise<number> {
    this.pool.start();
    this.ports = claimPorts(listenersOf(this.config), this.inherited.sockets);
    this.certificates.use(this.config);
    warnOfSidecar(this.config, (event, fields) => this.event(event, fields));
    const quic = quicNotes(this.config, this.certificates.sets.https);
    for (const note of [...this.options.notes, ...quic]) this.event("start", note);
    if (this.config.server.waf.enabled) this.keywords = sharedKeywords();
    return new Promise((resolve, reject) => {
      this.fail = (error) => {
        this.pool.stop();
        void this.log.drain(LOG_DRAIN_MS).then(() => reject(error));
      };
      this.finish = (code) => {
        this.watch.stop();
        this.nodes.stop();
        this.acme.stop();
        this.certificates.stop();
        this.pool.stop();
        void this.log.drain(LOG_DRAIN_MS).then(() => resolve(code));
      };
      process.on("SIGTERM", () => this.shutDown());
      process.on("SIGINT", () => this.shutDown());
      this.options.signals.react({
        SIGHUP: () => this.reload(),
        SIGUSR1: () =>
          this.event("log_reopen", { note: "the log goes to standard output: there is no file to open again" }),
        SIGUSR2: () => {
          if (!this.draining) this.handover.want();
        },
      });
      this.nodes.start();
      void this.acme.use(this.config).then(() => this.startWorkers());
    });
  }

  private startWorkers(): void {
    if (this.draining) this.finish(0);
    else this.pool.release();
  }

  startMessage(index: number, counters: CounterBuffers): ToWorker {
    return {
      kind: "start",
      index,
      workers: this.pool.size,
      config: this.packet.of(this.config, (config) => withPorts(config, this.ports)),
      labels: this.labelsOf(this.config),
      counters,
      incidents: this.incidents,
      bodyBudget: this.bodyBudget,
      connections: this.connections,
      buckets: this.buckets,
      challenges: this.challenges,
      clock: readClock(),
      nodes: this.nodes.buffer,
      sockets: this.restarted.has(index)
        ? this.standIns.socketsFor(index, listenersOf(this.config))
        : socketsOf(index, this.pool.size, this.inherited.sockets),
      waitsForQuic: this.restarted.has(index) || this.inherited.sockets.length > 0,
      certificates: this.certificates.sets,
      cache: this.cache.buffers,
      keywords: this.keywords,
      beats: this.watch.buffer,
    };
  }

  onMessage(index: number, message: FromWorker): void {
    switch (message.kind) {
      case "listening":
        if (!this.hasBegunToDrain) this.listening.set(index, message.sockets);
        if (this.restarted.has(index)) this.standIns.done(index);
        // The signal may have come while this worker was starting.
        if (this.draining) this.tellOfDraining(index);
        else if (this.listening.size === this.pool.size && !this.announced) this.announce();
        if (!this.draining) this.handover.goOn();
        break;
      case "failed":
        this.event("worker_failed", { worker: index, error: message.message });
        this.fail(workerFailure(withPorts(this.config, this.ports), message));
        break;
      case "log":
        this.totals.logTaken(index, message.batch.length);
        this.log.add(message.batch);
        break;
      case "exception":
        this.event("exception", { worker: index, error: message.message });
        break;
      case "question":
        void this.desk.answer(message.question.what, message.question.body).then((answer) => {
          this.pool.send(index, { kind: "answer", reply: { id: message.question.id, ...answer } });
        });
        break;
      case "prepared":
        this.rollout.onAnswer(index, "prepared", message.id, message.error);
        break;
      case "applied":
        this.rollout.onAnswer(index, "applied", message.id, "");
        break;
      case "fenced":
        this.fence.onFenced(index, message.id);
        break;
      case "breaker":
        this.nodes.onBreaker(message.key, message.change);
        break;
    }
  }

  onDeath(index: number, reason: string, restarted: boolean): void {
    this.totals.workerDied(index);
    returnBudgetOf(this.bodyBudget, index);
    clearConnectionsOf(this.connections, index);
    this.nodes.workerDied(index);
    void this.cache.workerDied(index);
    this.restarted.add(index);
    const sockets = this.listening.get(index) ?? [];
    this.listening.delete(index);
    this.watch.forget(index);
    this.standIns.workerDied(index, sockets, listenersOf(this.config));
    // What is left of its listeners would go on taking connections that nobody serves.
    if (!restarted) this.standIns.end();
    this.fence.onDeath(index);
    this.rollout.onDeath(index);
    this.event("worker_died", { worker: index, reason, restarted });
  }

  onDrained(): void {
    this.finish(this.wasCut ? ExitCode.Cut : ExitCode.Done);
  }

  private announce(): void {
    this.announced = true;
    this.serving.resolve();
    this.packet.forget(this.config);
    this.watch.start();
    this.services.ready(() => this.watch.allBeat);
    endPredecessor(this.inherited);
    const facts = { workers: this.pool.size, version: VERSION, pid: process.pid };
    this.event("listening", { host: this.config.server.host, ...portFields(this.config, this.ports), ...facts });
  }

  /** The first signal drains, the second ends at once. docs/operations.md#ending */
  private shutDown(): void {
    if (this.draining) process.exit(1);
    this.draining = true;
    this.services.stopping();
    const { shutdownTimeoutMs, drainDelayMs } = this.config.server;
    // A successor takes the connections that the delay is for.
    const delayMs = this.handover.hasSuccessor || !this.announced ? 0 : drainDelayMs;
    this.event("draining", { delay_ms: delayMs, timeout_ms: shutdownTimeoutMs });
    if (delayMs === 0) this.drain(shutdownTimeoutMs);
    else {
      this.pool.broadcast({ kind: "leaving" });
      setTimeout(() => this.drain(shutdownTimeoutMs), delayMs);
    }
  }

  private drain(timeoutMs: number): void {
    this.hasBegunToDrain = true;
    setTimeout(() => this.cut(), timeoutMs);
    this.standIns.end();
    // From here on each worker closes its own: to close one again might take a descriptor that is somebody else's by then.
    this.listening.clear();
    this.pool.drain(this.handover.hasSuccessor);
  }

  /** The time is over: what is left is ended, and the log says so. */
  private cut(): void {
    this.wasCut = true;
    this.event("drain_cut", { connections: this.totals.sum(COUNTERS.activeConnections) });
    this.pool.broadcast({ kind: "cut" });
    setTimeout(() => this.finish(ExitCode.Cut), CUT_MS);
  }

  /** A worker that begins while the process ends. */
  private tellOfDraining(index: number): void {
    const { hasSuccessor } = this.handover;
    this.pool.send(index, this.hasBegunToDrain ? { kind: "drain", hasSuccessor } : { kind: "leaving" });
  }

  /** One reload at a time; signals that come meanwhile are one more. */
  private reload(): void {
    if (this.draining) return;
    this.reloadWanted = true;
    if (this.reloading) return;
    this.reloading = true;
    void this.reloadAll().finally(() => {
      this.reloading = false;
    });
  }

  private async reloadAll(): Promise<void> {
    while (this.reloadWanted && !this.draining) {
      this.reloadWanted = false;
      this.services.reloading();
      try {
        const fields = await this.tryReload();
        this.lastReloadOk = true;
        this.event("config_reload", { ok: true, generation: this.generation, ...fields });
      } catch (error) {
        this.lastReloadOk = false;
        const faults = error instanceof ReloadFaults ? error.faults : [messageOf(error)];
        this.event("config_reload", { ok: false, generation: this.generation, faults });
      }
      this.services.reloaded();
    }
  }

  /**
   * Reads the files and brings what they say to every worker, or changes nothing anywhere. docs/operations.md#reload
   * @returns what the log says of it
   * @throws ReloadFaults, or whatever building the configuration has thrown
   */
  private async tryReload(): Promise<EventFields> {
    const result = this.options.reload();
    if (!result.ok) throw new ReloadFaults(result.faults);
    const { config } = result;
    const ports = moveClaims(listenersOf(config), listenersOf(this.config), this.ports);
    const nodes = this.nodes.prepare(config);
    const cache = this.cache.buffersFor(config.server.cache);
    const message: NewConfiguration = {
      id: ++this.lastReload,
      config: packConfig(withPorts(config, ports)),
      labels: this.labelsOf(config),
      nodes: nodes.buffer,
      cache,
    };
    collectSource(config);
    const { id } = message;
    const errors = await this.rollout.all("prepared", id, () => this.pool.broadcast({ kind: "prepare", ...message }));
    if (errors.length > 0 || this.draining) {
      this.pool.broadcast({ kind: "abort", id });
      throw new ReloadFaults(errors);
    }
    const before = this.config;
    this.config = config;
    this.ports = ports;
    this.generation++;
    this.lastReloadMs = Date.now();
    this.nodes.use(nodes);
    this.cache.use(config.server.cache, cache);
    this.certificates.use(config);
    warnOfSidecar(config, (event, fields) => this.event(event, fields));
    void this.acme.use(config);
    const late = await this.rollout.all("applied", id, () => this.pool.broadcast({ kind: "commit", ...message }));
    this.packet.forget(config);
    return {
      routes: config.routes.length,
      needs_restart: needsRestart(this.running, config),
      removed: removedParts(before, config),
      ...(late.length > 0 ? { late } : {}),
    };
  }

  /** The listening sockets of all workers; null while one of them is starting. */
  private allSockets(): readonly ListeningSocket[] | null {
    return this.listening.size === this.pool.size ? [...this.listening.values()].flat() : null;
  }

  private labelsOf(config: RuntimeConfig) {
    return this.labels.forConfiguration(routeLabels(config), upstreamLabels(config));
  }

  private answers() {
    const { totals, nodes, labels, acme, certificates, cache } = this;
    const exposition = controlExposition({
      totals,
      nodes,
      labels,
      acme,
      certificates,
      cache,
      watch: this.watch,
      lastReloadSuccessful: () => this.lastReloadOk,
      lastReloadSeconds: () => this.lastReloadMs / 1000,
      droppedLogLines: () => this.log.droppedLines,
    });
    const survey = new UpstreamSurvey(this.nodes);
    return internalAnswers({
      config: () => this.config,
      state: () =>
        processState(this.config, {
          startedAtMs: this.startedAtMs,
          draining: this.draining,
          // Without a listener in clear text that of TLS is the gateway's.
          port: this.ports.get("http") ?? this.ports.get("https") ?? 0,
          workers: this.pool.size,
          generation: this.generation,
        }),
      routes: () => routeList(this.config, this.targetStatus, listedSidecarRoutes(this.config)),
      probeTargets: () => survey.run(this.config),
      totals: this.totals,
      incidents: new IncidentReader(this.incidents),
      exposition: async () => ({ contentType: EXPOSITION_TYPE, text: await exposition.text() }),
    });
  }

  private readonly targetStatus: TargetStatus = (originKey, route) =>
    route === null ? "CLOSED" : this.nodes.statusOf(nodeKey(route, originKey));

  private event(event: EventName, fields: EventFields): void {
    this.events.event(event, fields);
  }
}

const WALL_CLOCK = {
  get nowMs(): number {
    return Date.now();
  },
};
