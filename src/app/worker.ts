import type { RuntimeConfig } from "../config/runtime-config.ts";
import { TICK_MS } from "../core/limits.ts";
import { EdgeContext } from "../edge/edge-context.ts";
import { ConnectionSet, type Listener, listenPlain } from "../edge/listener.ts";
import { ControlChannel } from "../features/admin/control-channel.ts";
import { HealthHandler } from "../features/admin/health-handler.ts";
import { RequestIds } from "../features/forward/request-id.ts";
import { CountersTap } from "../features/telemetry/counters-tap.ts";
import { FramingRejects } from "../features/telemetry/framing-rejects.ts";
import { LogBatch } from "../features/telemetry/log-batch.ts";
import { WorkerCounters } from "../shared/counter-table.ts";
import { IncidentWriter } from "../shared/incident-ring.ts";
import { buildGraph, type Graph } from "./graph.ts";
import { IncidentReporter } from "./incident-reporter.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { testRoutes } from "./test-hooks.ts";
import { IDLE_PORTS, WorkerServices } from "./worker-services.ts";

type Start = Extract<ToWorker, { kind: "start" }>;

/** How often log lines go to the control thread and late answers are given up. */
const LOG_FLUSH_MS = 100;
const DRAIN_POLL_MS = 50;

/** One data worker: client connections in, upstream connections out, nothing shared but the buffers. */
export class Worker {
  private readonly post: (message: FromWorker) => void;
  private readonly services: WorkerServices;
  private readonly counters: WorkerCounters;
  private readonly log: LogBatch;
  private readonly control: ControlChannel;
  private readonly health: HealthHandler = new HealthHandler();
  private readonly connections: ConnectionSet = new ConnectionSet();
  private readonly edge: EdgeContext;
  private readonly start: Start;
  private readonly countersTap: CountersTap;
  private readonly requestIds: RequestIds;
  private graph: Graph;
  private listener: Listener | null = null;

  constructor(start: Start, post: (message: FromWorker) => void) {
    this.start = start;
    this.post = post;
    this.services = new WorkerServices((error) => post({ kind: "exception", message: textOf(error) }));
    const { clock } = this.services;
    this.counters = new WorkerCounters(start.counters, start.labels);
    this.log = new LogBatch({ write: (batch) => post({ kind: "log", batch }) }, this.counters);
    this.control = new ControlChannel((question) => post({ kind: "question", question }), clock);
    this.countersTap = new CountersTap(this.counters, new FramingRejects(this.counters, this.log, clock));
    this.requestIds = new RequestIds(() => clock.nowMs);
    this.graph = this.wire(start.config);
    this.edge = this.makeEdge();
  }

  /** Begins to serve. */
  listen(): void {
    const { host, port } = this.start.config.server;
    setInterval(() => this.services.tick(), TICK_MS);
    setInterval(() => {
      this.log.flush();
      this.services.inTurn(() => this.control.expire());
    }, LOG_FLUSH_MS);
    this.listener = listenPlain(this.edge, this.connections, host, port);
    this.post({ kind: "listening", port: this.listener.port });
  }

  /** Takes what the control thread says. */
  receive(message: ToWorker): void {
    if (message.kind === "answer") this.services.inTurn(() => this.control.receive(message.reply));
    else if (message.kind === "drain") this.drain();
    else if (message.kind === "reload") this.reload(message.config, message.labels);
  }

  /** New requests take the new configuration; those in flight end on the old one. */
  private reload(config: RuntimeConfig, labels: Start["labels"]): void {
    this.counters.useLabels(labels);
    const old = this.graph;
    try {
      this.graph = this.wire(config);
    } catch (error) {
      this.post({ kind: "exception", message: textOf(error) });
      return;
    }
    this.edge.reconfigure(this.graph.settings, this.graph.pipeline);
    this.services.inTurn(() => old.pools.close());
  }

  private drain(): void {
    this.health.draining = true;
    this.edge.draining = true;
    this.listener?.stop();
    this.services.inTurn(() => this.connections.drain());
    const poll = setInterval(() => {
      if (this.connections.size > 0) return;
      clearInterval(poll);
      this.log.flush();
      this.graph.pools.close();
      this.post({ kind: "drained" });
    }, DRAIN_POLL_MS);
  }

  private wire(config: RuntimeConfig): Graph {
    return buildGraph(config, {
      services: this.services,
      counters: this.countersTap,
      log: this.log,
      incidents: new IncidentReporter(
        new IncidentWriter(this.start.incidents, this.start.index),
        this.counters,
        this.log,
      ),
      control: this.control,
      health: this.health,
      requestIds: this.requestIds,
      bodyBudget: this.start.bodyBudget,
      workerIndex: this.start.index,
      startedAtMs: this.start.startedAtMs,
      extraRoutes: this.start.testHooks ? testRoutes() : [],
    });
  }

  private makeEdge(): EdgeContext {
    const { services, counters } = this;
    return new EdgeContext({
      writers: services.writers,
      wheel: services.wheel,
      clock: services.clock,
      turn: services.turn,
      idlePorts: IDLE_PORTS,
      settings: this.graph.settings,
      pipeline: this.graph.pipeline,
      observer: {
        onOpen: () => counters.connectionOpened(),
        onClose: () => counters.connectionClosed(),
        onException: (error) => this.post({ kind: "exception", message: textOf(error) }),
      },
    });
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
