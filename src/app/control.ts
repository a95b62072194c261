import { availableParallelism } from "node:os";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { ControlDesk } from "../features/admin/control-desk.ts";
import { internalAnswers } from "../features/admin/internal-answers.ts";
import { type EventFields, eventLine } from "../features/telemetry/event-line.ts";
import { EXPOSITION_TYPE, Exposition } from "../features/telemetry/exposition.ts";
import { FdOutput } from "../features/telemetry/fd-output.ts";
import { gatewayMetrics } from "../features/telemetry/gateway-metrics.ts";
import { LogWriter } from "../features/telemetry/log-writer.ts";
import { processFactMetrics } from "../features/telemetry/process-facts.ts";
import { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import { WAF_RULES } from "../features/waf/rule-table.ts";
import { createBodyBudget, returnBudgetOf } from "../shared/body-budget.ts";
import type { CounterBuffers } from "../shared/counter-table.ts";
import { CounterTotals } from "../shared/counter-totals.ts";
import { createIncidentRing, IncidentReader } from "../shared/incident-ring.ts";
import { createTokenBuckets } from "../shared/token-bucket.ts";
import { VERSION } from "../shared/version.ts";
import { routeLabels, upstreamLabels } from "./graph.ts";
import { fdsOf, type Inheritance, startSuccessor, takeInheritance } from "./handover.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { NodeKeeper } from "./node-keeper.ts";
import { nodeKey } from "./node-list.ts";
import { nodeMetrics } from "./node-metrics.ts";
import { claimPort, listenError } from "./port-claim.ts";
import { ServiceNotifier } from "./service-notifier.ts";
import { readClock } from "./shared-clock.ts";
import { TEST_HOOKS_VARIABLE } from "./test-hooks.ts";
import { unservedBy } from "./unserved.ts";
import { UpstreamSurvey } from "./upstream-survey.ts";
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
}

const LOG_DRAIN_MS = 500;

/** The control thread: workers, signals, logs, the answers to /metrics and /internal/api. */
export class Control implements PoolListener {
  private config: RuntimeConfig;
  private readonly options: ControlOptions;
  private readonly startedAtMs: number = Date.now() - performance.now();
  private readonly labels: TelemetryLabels = new TelemetryLabels();
  private readonly incidents: SharedArrayBuffer = createIncidentRing();
  private readonly log: LogWriter = new LogWriter(new FdOutput(1), Date.now);
  private readonly pool: WorkerPool;
  private readonly bodyBudget: SharedArrayBuffer;
  private readonly buckets: SharedArrayBuffer = createTokenBuckets(crypto.getRandomValues(new Int32Array(2)));
  private readonly totals: CounterTotals;
  private readonly nodes: NodeKeeper;
  private readonly desk: ControlDesk;
  private port = 0;
  private readonly inherited: Inheritance = takeInheritance(process.env, process.pid);
  private readonly services: ServiceNotifier = new ServiceNotifier(process.env);
  /** The listening sockets of each worker. */
  private readonly listening: Map<number, readonly number[]> = new Map();
  /** Workers that were started again: an inherited socket went with the first. */
  private readonly restarted: Set<number> = new Set();
  private announced = false;
  private successor = 0;
  private drained = 0;
  private draining = false;
  private lastReloadOk = true;
  private lastReloadMs: number = Date.now();
  private finish: (code: number) => void = () => {};
  private fail: (error: Error) => void = () => {};

  constructor(options: ControlOptions) {
    this.options = options;
    this.config = options.config;
    const { workers } = options.config.server;
    this.pool = new WorkerPool(workers > 0 ? workers : availableParallelism(), this);
    this.bodyBudget = createBodyBudget(this.pool.size);
    this.totals = new CounterTotals(this.pool.buffers, this.labels.routes, this.labels.upstreams);
    this.nodes = new NodeKeeper(this.config, (event, fields) => this.event(event, fields));
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
    const { host, port } = this.config.server;
    this.port = this.inherited.fds.length > 0 ? port : claimPort(host, port);
    for (const note of this.options.notes) this.event("start", note);
    return new Promise((resolve, reject) => {
      this.fail = (error) => {
        this.pool.stop();
        void this.log.drain(LOG_DRAIN_MS).then(() => reject(error));
      };
      this.finish = (code) => {
        this.nodes.stop();
        this.pool.stop();
        void this.log.drain(LOG_DRAIN_MS).then(() => resolve(code));
      };
      process.on("SIGTERM", () => this.shutDown());
      process.on("SIGINT", () => this.shutDown());
      process.on("SIGHUP", () => this.reload());
      process.on("SIGUSR2", () => this.upgrade());
      this.nodes.start();
      this.pool.start();
    });
  }

  startMessage(index: number, counters: CounterBuffers): ToWorker {
    const { server } = this.config;
    return {
      kind: "start",
      index,
      config: { ...this.config, server: { ...server, port: this.port } },
      labels: this.configurationLabels(),
      counters,
      incidents: this.incidents,
      bodyBudget: this.bodyBudget,
      buckets: this.buckets,
      clock: readClock(),
      nodes: this.nodes.buffer,
      fds: this.restarted.has(index) ? [] : fdsOf(index, this.pool.size, this.inherited.fds),
      startedAtMs: this.startedAtMs,
      testHooks: process.env[TEST_HOOKS_VARIABLE] === "1",
    };
  }

  onMessage(index: number, message: FromWorker): void {
    switch (message.kind) {
      case "listening":
        this.listening.set(index, message.fds);
        // The signal may have come while this worker was starting.
        if (this.draining) this.pool.send(index, { kind: "drain" });
        else if (this.listening.size === this.pool.size && !this.announced) this.announce();
        break;
      case "failed":
        this.event("worker_failed", { worker: index, error: message.message });
        this.fail(message.code === "" ? new Error(message.message) : this.listenError(message.code));
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
      case "breaker":
        this.nodes.onBreaker(message.key, message.change);
        break;
      case "drained":
        if (++this.drained === this.pool.size) this.finish(0);
        break;
    }
  }

  onDeath(index: number, reason: string): void {
    this.totals.workerDied(index);
    returnBudgetOf(this.bodyBudget, index);
    this.nodes.workerDied(index);
    this.restarted.add(index);
    this.listening.delete(index);
    this.event("worker_died", { worker: index, reason, restarted: true });
    if (this.draining && ++this.drained === this.pool.size) this.finish(0);
  }

  private listenError(code: string): Error {
    return listenError(this.config.server.host, this.port, code);
  }

  private announce(): void {
    const { host } = this.config.server;
    this.announced = true;
    this.services.ready();
    if (this.inherited.predecessor > 0) signal(this.inherited.predecessor, "SIGTERM");
    this.event("listening", { host, port: this.port, workers: this.pool.size, version: VERSION, pid: process.pid });
  }

  /** The first signal drains, the second ends at once. Decisions, "Signals". */
  private shutDown(): void {
    if (this.draining) process.exit(1);
    this.draining = true;
    this.services.stopping();
    this.pool.stop();
    this.event("draining", { timeout_ms: this.config.server.shutdownTimeoutMs });
    this.pool.broadcast({ kind: "drain" });
    setTimeout(() => this.finish(0), this.config.server.shutdownTimeoutMs);
  }

  private reload(): void {
    if (this.draining) return;
    this.services.reloading();
    const result = this.options.reload();
    const unserved = result.ok ? unservedBy(result.config).faults : [];
    const faults = result.ok ? unserved.map((name) => `${name} is not part of this version`) : result.faults;
    this.lastReloadOk = faults.length === 0;
    if (!result.ok || faults.length > 0) {
      this.event("config_reload", { ok: false, faults });
      this.services.reloaded();
      return;
    }
    const restart = needsRestart(this.config, result.config);
    this.config = result.config;
    this.lastReloadMs = Date.now();
    this.nodes.use(this.config);
    const labels = this.configurationLabels();
    this.pool.broadcast({ kind: "reload", config: this.config, labels, nodes: this.nodes.buffer });
    this.event("config_reload", { ok: true, routes: this.config.routes.length, needs_restart: restart });
    this.services.reloaded();
  }

  /** SIGUSR2: the new binary takes the listening sockets, and asks us to drain when it serves. */
  private upgrade(): void {
    if (this.draining || this.successor !== 0) return;
    const fds = [...this.listening.values()].flat();
    try {
      this.successor = startSuccessor(fds, (code) => {
        this.successor = 0;
        if (!this.draining) this.event("upgrade", { ok: false, exit_code: code });
      });
      this.event("upgrade", { ok: true, successor: this.successor });
    } catch (error) {
      this.event("upgrade", { ok: false, error: String(error) });
    }
  }

  private configurationLabels() {
    return this.labels.forConfiguration(routeLabels(this.config), upstreamLabels(this.config));
  }

  private answers() {
    const exposition = new Exposition([
      ...gatewayMetrics(this.totals),
      ...nodeMetrics(
        () => this.nodes.standings(),
        (originKey) => this.labels.upstreams.labelOf(this.labels.upstreams.idOf(originKey)),
      ),
      ...processFactMetrics({
        version: VERSION,
        lastReloadSuccessful: () => this.lastReloadOk,
        lastReloadSeconds: () => this.lastReloadMs / 1000,
        droppedLogLines: () => this.log.droppedLines,
      }),
    ]);
    const survey = new UpstreamSurvey(this.nodes);
    return internalAnswers({
      config: () => this.config,
      state: () => this.processState(),
      targetStatus: (originKey, route) => (route === null ? "CLOSED" : this.nodes.statusOf(nodeKey(route, originKey))),
      probeTargets: () => survey.run(this.config),
      totals: this.totals,
      incidents: new IncidentReader(this.incidents),
      exposition: async () => ({ contentType: EXPOSITION_TYPE, text: await exposition.text() }),
    });
  }

  private processState() {
    const { rss, heapUsed, heapTotal } = process.memoryUsage();
    const disabled = new Set(this.config.server.waf.disabledRules);
    return {
      startedAtMs: this.startedAtMs,
      nowMs: Date.now(),
      draining: this.draining,
      pid: process.pid,
      port: this.port,
      workers: this.pool.size,
      wafRules: WAF_RULES.filter((rule) => !disabled.has(rule.id)).length,
      cpus: availableParallelism(),
      memory: { rss, heapUsed, heapTotal },
    };
  }

  private event(event: string, fields: EventFields): void {
    this.log.write(eventLine(Date.now(), event, fields));
  }
}

/** Settings that differ and that only a restart takes up. */
function needsRestart(old: RuntimeConfig, now: RuntimeConfig): readonly string[] {
  const keys = ["host", "port", "workers"] as const;
  return keys.filter((key) => old.server[key] !== now.server[key]).map((key) => `server.${key}`);
}

/** Sends a signal to a process that may be gone. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Nobody is left to be told.
  }
}
