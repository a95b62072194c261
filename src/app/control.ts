import { availableParallelism } from "node:os";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { ControlDesk } from "../features/admin/control-desk.ts";
import { internalAnswers } from "../features/admin/internal-answers.ts";
import { type EventFields, eventLine } from "../features/telemetry/event-line.ts";
import { EXPOSITION_TYPE } from "../features/telemetry/exposition.ts";
import { FdOutput } from "../features/telemetry/fd-output.ts";
import { LogWriter } from "../features/telemetry/log-writer.ts";
import { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import { sharedKeywords } from "../features/waf/rules/keyword-tables.ts";
import { type BodyBudgetBuffers, createBodyBudget, returnBudgetOf } from "../shared/body-budget.ts";
import { createChallengeTable } from "../shared/challenge-table.ts";
import type { CounterBuffers } from "../shared/counter-table.ts";
import { CounterTotals } from "../shared/counter-totals.ts";
import { createIncidentRing, IncidentReader } from "../shared/incident-ring.ts";
import { createTokenBuckets } from "../shared/token-bucket.ts";
import { VERSION } from "../shared/version.ts";
import { ListenerDesk } from "./acme-desk.ts";
import { AcmeService } from "./acme-service.ts";
import { binaryPathOf, startFacts } from "./binary-path.ts";
import { CacheKeeper } from "./cache-keeper.ts";
import { CertificateDesk } from "./certificate-desk.ts";
import { controlExposition } from "./control-exposition.ts";
import { routeLabels, upstreamLabels } from "./graph.ts";
import { endPredecessor, Handover, type Inheritance, socketsOf, takeInheritance } from "./handover.ts";
import type { HeldSignals } from "./held-signals.ts";
import { type ListenerName, type ListeningSocket, listenersOf, portFields, withPorts } from "./listeners.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { needsRestart, type RestartSettings, restartSettings } from "./needs-restart.ts";
import { NodeKeeper } from "./node-keeper.ts";
import { nodeKey } from "./node-list.ts";
import { ConfigPacket, collectSource } from "./packed-config.ts";
import { claimPorts, moveClaims, workerFailure } from "./port-claim.ts";
import { processState } from "./process-state.ts";
import { ServiceNotifier } from "./service-notifier.ts";
import { readClock } from "./shared-clock.ts";
import { listedSidecarRoutes } from "./sidecar-routes.ts";
import { warnOfSidecar } from "./sidecar-warnings.ts";
import { quicNotes } from "./start-notes.ts";
import { UpstreamSurvey } from "./upstream-survey.ts";
import { WorkerFence } from "./worker-fence.ts";
import { type PoolListener, WorkerPool } from "./worker-pool.ts";

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

/** The control thread: workers, signals, logs, the answers to /metrics and /internal/api. */
export class Control implements PoolListener {
  private config: RuntimeConfig;
  private readonly packet: ConfigPacket = new ConfigPacket();
  private readonly options: Omit<ControlOptions, "config">;
  private readonly startedAtMs: number = Date.now() - performance.now();
  private readonly labels: TelemetryLabels = new TelemetryLabels();
  private readonly incidents: SharedArrayBuffer = createIncidentRing();
  private readonly log: LogWriter = new LogWriter(new FdOutput(1), Date.now);
  private readonly pool: WorkerPool;
  private readonly bodyBudget: BodyBudgetBuffers;
  private readonly buckets: SharedArrayBuffer = createTokenBuckets(crypto.getRandomValues(new Int32Array(2)));
  private readonly challenges: SharedArrayBuffer = createChallengeTable();
  private readonly totals: CounterTotals;
  private readonly nodes: NodeKeeper;
  private readonly cache: CacheKeeper;
  private readonly desk: ControlDesk;
  private readonly certificates: CertificateDesk;
  private readonly fence: WorkerFence;
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
  private readonly running: RestartSettings;
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
    this.bodyBudget = createBodyBudget(this.pool.size, crypto.getRandomValues(new Int32Array(2)));
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
      labels: this.configurationLabels(),
      counters,
      incidents: this.incidents,
      bodyBudget: this.bodyBudget,
      buckets: this.buckets,
      challenges: this.challenges,
      clock: readClock(),
      nodes: this.nodes.buffer,
      sockets: this.restarted.has(index) ? [] : socketsOf(index, this.pool.size, this.inherited.sockets),
      waitsForQuic: this.restarted.has(index) || this.inherited.sockets.length > 0,
      certificates: this.certificates.sets,
      cache: this.cache.buffers,
      keywords: this.keywords,
      startedAtMs: this.startedAtMs,
    };
  }

  onMessage(index: number, message: FromWorker): void {
    switch (message.kind) {
      case "listening":
        this.listening.set(index, message.sockets);
        // The signal may have come while this worker was starting.
        if (this.draining) this.pool.send(index, { kind: "drain", hasSuccessor: this.handover.hasSuccessor });
        else if (this.listening.size === this.pool.size && !this.announced) this.announce();
        if (!this.draining) this.handover.goOn();
        break;
      case "failed":
        this.event("worker_failed", { worker: index, error: message.message });
        this.fail(workerFailure(withPorts(this.config, this.ports), message));
        break;
      case "log":
        this.totals.logTaken(index, message.batch.length);
        this.log.write(message.batch);
        break;
      case "exception":
        this.event("exception", { worker: index, error: message.message });
        break;
      case "question":
        void this.desk.answer(message.question.what, message.question.body).then((answer) => {
          this.pool.send(index, { kind: "answer", reply: { id: message.question.id, ...answer } });
        });
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
    this.nodes.workerDied(index);
    void this.cache.workerDied(index);
    this.restarted.add(index);
    this.listening.delete(index);
    this.fence.onDeath(index);
    this.event("worker_died", { worker: index, reason, restarted });
  }

  onDrained(): void {
    this.finish(0);
  }

  private announce(): void {
    this.announced = true;
    this.serving.resolve();
    this.packet.forget(this.config);
    this.services.ready();
    endPredecessor(this.inherited);
    const facts = { workers: this.pool.size, version: VERSION, pid: process.pid };
    this.event("listening", { host: this.config.server.host, ...portFields(this.config, this.ports), ...facts });
  }

  /** The first signal drains, the second ends at once. Decisions, "Signals". */
  private shutDown(): void {
    if (this.draining) process.exit(1);
    this.draining = true;
    this.services.stopping();
    this.event("draining", { timeout_ms: this.config.server.shutdownTimeoutMs });
    this.pool.drain(this.handover.hasSuccessor);
    setTimeout(() => this.finish(0), this.config.server.shutdownTimeoutMs);
  }

  private reload(): void {
    if (this.draining) return;
    this.services.reloading();
    const result = this.options.reload();
    const faults = result.ok ? this.faultsOf(result.config) : result.faults;
    this.lastReloadOk = faults.length === 0;
    if (!result.ok || faults.length > 0) {
      this.event("config_reload", { ok: false, faults });
      this.services.reloaded();
      return;
    }
    collectSource(result.config);
    const restart = needsRestart(this.running, result.config);
    this.config = result.config;
    this.lastReloadMs = Date.now();
    this.nodes.use(this.config);
    this.cache.use(this.config.server.cache);
    this.certificates.use(this.config);
    warnOfSidecar(this.config, (event, fields) => this.event(event, fields));
    void this.acme.use(this.config);
    const config = this.packet.of(this.config, (own) => withPorts(own, this.ports));
    const labels = this.configurationLabels();
    this.pool.broadcast({ kind: "reload", config, labels, nodes: this.nodes.buffer, cache: this.cache.buffers });
    this.packet.forget(this.config);
    this.event("config_reload", { ok: true, routes: this.config.routes.length, needs_restart: restart });
    this.services.reloaded();
  }

  /** What keeps a configuration from being used; where there is nothing, the ports are its own from now on. */
  private faultsOf(config: RuntimeConfig): readonly string[] {
    try {
      this.ports = moveClaims(listenersOf(config), listenersOf(this.config), this.ports);
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  }

  /** The listening sockets of all workers; null while one of them is starting. */
  private allSockets(): readonly ListeningSocket[] | null {
    return this.listening.size === this.pool.size ? [...this.listening.values()].flat() : null;
  }

  private configurationLabels() {
    return this.labels.forConfiguration(routeLabels(this.config), upstreamLabels(this.config));
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
          port: this.ports.get("http") ?? 0,
          workers: this.pool.size,
        }),
      targetStatus: (originKey, route) => (route === null ? "CLOSED" : this.nodes.statusOf(nodeKey(route, originKey))),
      sidecarRoutes: () => listedSidecarRoutes(this.config),
      probeTargets: () => survey.run(this.config),
      totals: this.totals,
      incidents: new IncidentReader(this.incidents),
      exposition: async () => ({ contentType: EXPOSITION_TYPE, text: await exposition.text() }),
    });
  }

  private event(event: string, fields: EventFields): void {
    this.log.write(eventLine(Date.now(), event, fields));
  }
}
