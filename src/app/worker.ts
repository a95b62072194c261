import type { RuntimeConfig } from "../config/runtime-config.ts";
import { TICK_MS } from "../core/limits.ts";
import { EdgeContext } from "../edge/edge-context.ts";
import { ConnectionSet, type ListenAt, type Listener, listenPlain } from "../edge/listener.ts";
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
import { NodeSet } from "./node-set.ts";
import { RateLimitReporter } from "./rate-limit-reporter.ts";
import { SharedClock } from "./shared-clock.ts";
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
  private readonly sharedClock: SharedClock;
  private readonly rejects: FramingRejects;
  private readonly countersTap: CountersTap;
  private readonly requestIds: RequestIds;
  private readonly nodes: NodeSet;
  private graph: Graph;
  private listeners: readonly Listener[] = [];

  constructor(start: Start, post: (message: FromWorker) => void) {
    this.start = start;
    this.post = post;
    this.services = new WorkerServices((error) => post({ kind: "exception", message: textOf(error) }));
    // Soon: the time since the message was sent may count.
    this.sharedClock = new SharedClock(this.services.turn, start.clock);
    const { clock } = this.services;
    this.counters = new WorkerCounters(start.counters, start.labels);
    this.log = new LogBatch({ write: (batch) => post({ kind: "log", batch }) }, this.counters);
    this.control = new ControlChannel((question) => post({ kind: "question", question }), clock);
    this.rejects = new FramingRejects(this.counters, this.log, clock);
    this.countersTap = new CountersTap(this.counters, this.rejects);
    this.requestIds = new RequestIds(() => clock.nowMs);
    this.nodes = this.makeNodes();
    this.nodes.use(start.config, start.nodes);
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
    const places: ListenAt[] = this.start.fds.map((fd) => ({ fd }));
    if (places.length === 0) places.push({ hostname: host, port });
    this.listeners = places.map((place) => listenPlain(this.edge, this.connections, place));
    this.post({ kind: "listening", fds: this.listeners.map((listener) => listener.fd) });
  }

  /** Takes what the control thread says. */
  receive(message: ToWorker): void {
    if (message.kind === "answer") this.services.inTurn(() => this.control.receive(message.reply));
    else if (message.kind === "drain") this.drain();
    else if (message.kind === "reload") this.reload(message.config, message.labels, message.nodes);
  }

  /** New requests take the new configuration; those in flight end on the old one. */
  private reload(config: RuntimeConfig, labels: Start["labels"], nodes: SharedArrayBuffer): void {
    this.counters.useLabels(labels);
    this.nodes.use(config, nodes);
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
    for (const listener of this.listeners) listener.stop();
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
      nodes: this.nodes,
      bodyBudget: this.start.bodyBudget,
      workerIndex: this.start.index,
      client: {
        buckets: this.start.buckets,
        sharedClock: this.sharedClock,
        limited: new RateLimitReporter(this.counters, this.log, this.services.clock),
      },
      startedAtMs: this.start.startedAtMs,
      extraRoutes: this.start.testHooks ? testRoutes() : [],
    });
  }

  private makeNodes(): NodeSet {
    const { counters, services, start } = this;
    return new NodeSet({
      turn: services.turn,
      worker: start.index,
      counters,
      onBreaker: (key, change) => this.post({ kind: "breaker", key, change }),
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
        onRefused: (fault, address) => this.rejects.refused(fault, address),
        onException: (error) => this.post({ kind: "exception", message: textOf(error) }),
      },
    });
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
