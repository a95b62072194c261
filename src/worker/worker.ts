import { closeSync } from "node:fs";
import { messageOf, stackOf } from "../core/error-text.ts";
import { faultRow } from "../core/fault-rows.ts";
import { type Takers, type TakersOf, takeMessage } from "../core/message-takers.ts";
import { SharedClock } from "../core/shared-clock.ts";
import { TICK_MS } from "../core/timer-wheel.ts";
import { ClientSocketPorts, ConnectionSet, ConnectionSets } from "../edge/client-socket.ts";
import type { ListenAt, Listener } from "../edge/listener.ts";
import { EVENTS, type GatewayLog } from "../facts/events.ts";
import { ChallengeReader } from "../features/acme/challenge-table.ts";
import { ControlChannel } from "../features/admin/control-channel.ts";
import { HealthHandler } from "../features/admin/health-handler.ts";
import { AgentKeyring } from "../features/agents/agent-keyring.ts";
import { KeySets } from "../features/auth/jwt/key-ring.ts";
import type { BanWatch } from "../features/bans/ban-watch.ts";
import type { CacheStore } from "../features/cache/store/cache-store.ts";
import { SeenReports } from "../features/dashboard/seen-reports.ts";
import { TrafficObserver } from "../features/dashboard/traffic-observer.ts";
import { Watchers } from "../features/dashboard/watchers.ts";
import { RequestIds } from "../features/forward/forward-head.ts";
import { bodyLimitsOf, dependsOnDisk } from "../features/ingest/body-limits.ts";
import { AccessLines } from "../features/telemetry/access-outputs.ts";
import { CountersTap } from "../features/telemetry/counters-tap.ts";
import { EventLog } from "../features/telemetry/event-log.ts";
import { LogAddresses } from "../features/telemetry/log-addresses.ts";
import { LogBatch } from "../features/telemetry/log-batch.ts";
import { LogThreshold } from "../features/telemetry/log-level.ts";
import { Refusals } from "../features/telemetry/refusals.ts";
import { UNMATCHED_LABEL } from "../features/telemetry/route-labels.ts";
import { adoptKeywords } from "../features/waf/rule-table.ts";
import { BodyBudget } from "../memory/body-budget.ts";
import { ConnectionCounts } from "../memory/connection-counts.ts";
import { COUNTERS, type CounterRow } from "../memory/counter-rows.ts";
import { WorkerCounters } from "../memory/counter-table.ts";
import { Heartbeat } from "../memory/heartbeat.ts";
import { IncidentWriter } from "../memory/incident-ring.ts";
import { SpanWriter } from "../memory/span-ring.ts";
import { type ClientListener, NO_LISTENER } from "../message/client-listener.ts";
import type { Pipeline } from "../message/exchange.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import { duplicate } from "../net/system-socket.ts";
import { pressurePorts } from "../routes/pressure-ports.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { LateFunctions } from "./late-functions.ts";
import {
  type ListenerPlace,
  type ListeningSocket,
  listenersOf,
  type OpeningListener,
  type StreamListener,
  udpAddressesOf,
} from "./listeners.ts";
import { LiveTargets } from "./live-targets.ts";
import type { FromWorker, NewConfiguration, ToWorker } from "./messages.ts";
import { type ConfiguredNodes, NodeSet, type PreparedNodes } from "./node-set.ts";
import { collectLeftovers, unpackConfig } from "./packed-config.ts";
import { Purges } from "./purges.ts";
import { QuicPorts } from "./quic-port.ts";
import { type GivenServices, type ListedWorkerServices, listParts, PartList } from "./services.ts";
import type { Streams, UdpListeners } from "./streams.ts";
import { failReload, testRoutes } from "./test-hooks.ts";
import { TrafficReports } from "./traffic-reports.ts";
import { WorkerCache } from "./worker-cache.ts";
import { WorkerCertificates } from "./worker-certificates.ts";
import { WorkerFleet } from "./worker-fleet.ts";
import { makeBans, WorkerGates } from "./worker-gates.ts";
import {
  type PreparedPlaces,
  PrivateListeners,
  PublicListeners,
  unproxied,
  WorkerListeners,
} from "./worker-listeners.ts";
import { buildRuntime, type WorkerRuntime } from "./worker-runtime.ts";
import { WorkerServices } from "./worker-services.ts";

type Start = Extract<ToWorker, { kind: "start" }>;
/** Anything after the start. */
type Received = Exclude<ToWorker, Start>;

/** How often log lines go to the control thread and late responses are given up. */
const LOG_FLUSH_MS = 100;
const DRAIN_POLL_MS = 50;
/** How long no keys are asked for after the control thread did not answer. */
const KEYS_PAUSE_MS = 1000;
/** How often edge reads the free space of the disk, if the room for bodies depends on it. */
const DISK_LOOK_MS = 1000;

/** A configuration that is built and not in use. */
interface Prepared {
  readonly id: number;
  readonly runtime: WorkerRuntime;
  readonly nodes: PreparedNodes;
  readonly store: CacheStore | null;
  /** Null if the worker drains, and opens nothing. */
  readonly places: PreparedPlaces | null;
}

/** One data worker: client connections in, upstream connections out, nothing shared but the buffers. */
export class Worker {
  private readonly post: (message: FromWorker) => void;
  private readonly onException = (error: unknown): void => this.post({ kind: "exception", message: stackOf(error) });
  private readonly services: WorkerServices;
  private readonly counters: WorkerCounters;
  private readonly log: LogBatch;
  /** Lines of the access log, if they have outputs of their own. */
  private readonly accessLines: AccessLines;
  private readonly control: ControlChannel;
  private readonly health: HealthHandler = new HealthHandler();
  /** Of the listeners outside `server`. */
  private readonly otherConnections: ConnectionSet = new ConnectionSet();
  private readonly connections: ConnectionSets = new ConnectionSets(this.otherConnections);
  private readonly edge: ClientSocketPorts;
  private readonly privateListeners: PrivateListeners;
  /** The control thread's descriptors of UNIX sockets. */
  private unixSockets: readonly ListeningSocket[];
  /** The packet itself is not kept. */
  private readonly start: Omit<Start, "config">;
  private readonly sharedClock: SharedClock;
  private readonly events: GatewayLog;
  private readonly threshold: LogThreshold = new LogThreshold();
  private readonly addresses: LogAddresses = new LogAddresses();
  private readonly refusals: Refusals;
  private readonly reports: TrafficReports;
  private readonly purges: Purges;
  private readonly countersTap: CountersTap;
  private readonly requestIds: RequestIds;
  private readonly nodes: NodeSet;
  private readonly bodies: BodyBudget;
  private readonly gates: WorkerGates;
  private readonly bans: BanWatch;
  private readonly cache: WorkerCache = new WorkerCache();
  private readonly challenges: ChallengeReader;
  private readonly keySets: KeySets;
  private readonly agentKeys: AgentKeyring = new AgentKeyring();
  private readonly watchers: Watchers;
  private readonly observer: TrafficObserver;
  /** On while the dashboard is watched. */
  private readonly seenReports: SeenReports;
  private readonly fleet: WorkerFleet;
  private readonly functions: LateFunctions;
  /** Null while nothing takes spans. */
  private spans: SpanWriter | null = null;
  private runtime: WorkerRuntime;
  /** Null while there are none. */
  private streams: Streams | null = null;
  private udp: UdpListeners | null = null;
  /** What a reload has built, until the control thread says what becomes of it. */
  private prepared: Prepared | null = null;
  private readonly targets: LiveTargets = new LiveTargets(() => ({
    runtime: this.runtime,
    nodes: this.nodes,
    counters: this.counters,
  }));
  private readonly certificates: WorkerCertificates;
  private readonly parts: ListedWorkerServices;
  /** The same, as one. */
  private readonly list: PartList;
  private readonly takers: Takers<Received, FromWorker>;
  private readonly listeners: WorkerListeners;
  private readonly publicListeners: PublicListeners;
  private readonly quic: QuicPorts;

  constructor(start: Start, post: (message: FromWorker) => void) {
    const { config: packed, unixSockets, ...others } = start;
    [this.start, this.unixSockets] = [{ ...others, unixSockets }, unixSockets];
    this.post = post;
    this.services = new WorkerServices(
      this.onException,
      (upstream, reason, detail, requestId) => this.reports.onUpstreamFailed(upstream, reason, detail, requestId),
      (upstream, what) => this.reports.onLeniency(upstream, what),
      (upstream, requestId, script, text) => this.reports.onScriptErrors(upstream, requestId, script, text),
      (known) => post({ kind: "named", known }),
    );
    // Soon: the time since the message was sent may count.
    this.sharedClock = new SharedClock(this.services.turn, start.clock);
    this.counters = new WorkerCounters(start.counters, start.labels);
    this.services.writers.unsent.onAbandoned = () => this.counters.add(COUNTERS.connectionsAbandoned);
    this.log = new LogBatch({ write: (batch) => post({ kind: "log", batch }) }, this.counters);
    this.takeRing(start.spans);
    this.fleet = new WorkerFleet(post, this.services, start.workers, this.counters);
    this.control = new ControlChannel((question) => post({ kind: "question", question }), this.services.turn);
    this.accessLines = new AccessLines((outputs, batch) => post({ kind: "access", outputs, batch }), this.counters);
    this.events = new EventLog(EVENTS, this.log, this.services.clock, this.threshold, this.addresses);
    this.requestIds = new RequestIds(this.services.clock);
    this.refusals = new Refusals(this.counters, this.events, this.requestIds);
    this.countersTap = new CountersTap(this.counters, this.refusals);
    this.watchers = new Watchers((count) => post({ kind: "watchers", count }));
    this.observer = this.makeObserver();
    this.seenReports = this.makeSeenReports();
    this.challenges = new ChallengeReader(start.challenges);
    this.keySets = this.makeKeySets();
    this.nodes = this.makeNodes();
    const cacheStore = this.cache.storeIn(start.cache, start.index);
    this.cache.use(cacheStore, start.cache);
    if (start.keywords !== null) adoptKeywords(start.keywords);
    const config = unpackConfig(packed);
    this.services.names.use(config.proxy.transport, start.names);
    this.bodies = new BodyBudget(start.bodyBudget, start.index, this.services.turn, bodyLimitsOf(config, 0));
    const counts = new ConnectionCounts(start.connections, start.index);
    this.reports = this.makeReports(counts);
    this.bans = makeBans(this.services.clock, this.counters, this.reports, post);
    this.gates = new WorkerGates(config, counts, this.connections, this.reports, this.bans);
    this.certificates = this.makeCertificates(config);
    this.functions = this.makeFunctions();
    this.purges = this.makePurges();
    this.parts = listParts(this.given());
    this.list = new PartList(this.parts);
    this.list.begin(start);
    const nodes = this.nodes.prepare(config, start.nodes, start.slots);
    this.runtime = this.wire(config, nodes, cacheStore);
    nodes.commit();
    this.edge = this.makeEdge(this.runtime.pipeline);
    this.privateListeners = this.makePrivateListeners();
    this.publicListeners = this.makePublicListeners(config);
    this.quic = this.makeQuic();
    this.takers = { ...this.list.takers, ...this.ownTakers() };
    this.services.inTurn(() => this.list.use(config));
    this.useStreams(this.runtime.streams);
    this.listeners = new WorkerListeners((place, where) => this.openListener(place, where), start.sockets);
  }

  private makeCertificates(config: RuntimeConfig): WorkerCertificates {
    return new WorkerCertificates(config, this.start.certificates, {
      ask: (name) => this.post({ kind: "wanted", name }),
      shown: () => this.quic?.useCertificates(),
      renewed: () => this.runtime.pools.renewSidecar(),
    });
  }

  private makeObserver(): TrafficObserver {
    const { clock } = this.services;
    return new TrafficObserver({ clock, unmatched: UNMATCHED_LABEL, addresses: this.addresses });
  }

  private makeSeenReports(): SeenReports {
    const show = (observer: TrafficObserver | null): void => {
      this.countersTap.observer = observer;
    };
    return new SeenReports(this.observer, (seen) => this.post({ kind: "seen", seen }), show);
  }

  private makeReports(connections: ConnectionCounts): TrafficReports {
    return new TrafficReports({
      counters: this.counters,
      log: this.events,
      names: this.requestIds,
      ring: new IncidentWriter(this.start.incidents, this.start.index),
      connections,
      clock: this.services.clock,
      addresses: this.addresses,
    });
  }

  /** The listener that is being opened. */
  get opening(): OpeningListener {
    return this.listeners.opening;
  }

  /**
   * Begins to serve.
   * @throws when an address cannot be had
   */
  async listen(): Promise<void> {
    const heart = new Heartbeat(this.start.beats, this.start.index);
    setInterval(() => {
      heart.beat();
      this.services.inTurn(() => {
        this.list.tick(this.services.turn.nowMs);
        this.bodies.tick();
        this.quic.tick();
        this.publicListeners.tidy();
      });
      this.counters.set(COUNTERS.unsentBytes, this.services.writers.unsent.total);
    }, TICK_MS);
    setInterval(() => {
      this.flushLog();
      this.cache.store?.tidy();
      this.services.inTurn(() => this.control.expire());
    }, LOG_FLUSH_MS);
    setInterval(() => {
      if (dependsOnDisk(this.runtime.config)) this.limitBodies(this.runtime.config);
    }, DISK_LOOK_MS);
    const sockets = this.listeners.prepare(listenersOf(this.runtime.config)).commit();
    if (this.start.index === 0) {
      this.listeners.opening = "http3";
      await this.quic.use(this.runtime.config, this.start.waitsForQuic);
    }
    await this.openUdp(this.runtime.config);
    this.post({ kind: "listening", sockets });
  }

  private flushLog(): void {
    this.log.flush();
    this.accessLines.flush();
  }

  /** Takes what the control thread says, each message in a turn. */
  receive(message: ToWorker): void {
    if (message.kind === "start") return;
    this.services.inTurn(() => takeMessage(this.takers, message, this.start.index, this.post));
  }

  private given(): GivenServices {
    const { services, health, threshold, control, watchers, gates, keySets, agentKeys, fleet, certificates } = this;
    const { seenReports: seen, functions, purges, addresses, bans } = this;
    return {
      ...{ services, health, threshold, addresses, control, seen, watchers, bans, gates },
      ...{
        keySets,
        agentKeys,
        fleet,
        certificates,
        functions,
        purges,
        ...pressurePorts(services, this.start.index, this.sharedClock),
      },
    };
  }

  /** What no part takes: a kind that is missing here and there does not compile. */
  private ownTakers(): Takers<Exclude<Received, { kind: keyof TakersOf<ListedWorkerServices> }>, FromWorker> {
    return {
      drain: ({ hasSuccessor }) => this.drain(hasSuccessor),
      cut: () => this.cut(),
      help: ({ worker, sockets }) => this.help(worker, sockets),
      leave: ({ worker }) => this.listeners.leave(worker),
      fence: ({ id }, _, response) => response({ kind: "fenced", id }),
      prepare: (next, _, response) => response({ kind: "prepared", id: next.id, error: this.prepare(next) }),
      commit: (next) => this.commit(next),
      ...this.targets.takers,
      abort: ({ id }) => {
        if (this.prepared?.id === id) this.abandon();
        this.targets.abort();
      },
    };
  }

  private makeQuic(): QuicPorts {
    const { counters, publicListeners: listeners } = this;
    return new QuicPorts({
      listeners,
      certificates: () => this.certificates,
      observer: {
        onStreamOpen: () => counters.add(COUNTERS.activeQuicStreams),
        onStreamClose: () => counters.add(COUNTERS.activeQuicStreams, -1),
      },
      onException: this.onException,
    });
  }

  private makePublicListeners(config: RuntimeConfig): PublicListeners {
    this.limitUnsent(config);
    const { certificates, connections } = this;
    const made = new PublicListeners({
      makePorts: (listener, runtime) => this.makeEdge(runtime.pipeline, listener),
      certificates,
      connections,
    });
    made.commit(this.runtime);
    return made;
  }

  /**
   * Builds all that a configuration needs, beside what is in use; nothing of it serves yet. docs/operations.md#reload
   * @returns why it cannot be used, or ""
   */
  private prepare(next: NewConfiguration): string {
    const { id, config: packed, labels, nodes: table, cache } = next;
    this.abandon();
    this.unixSockets = next.unixSockets;
    this.takeRing(next.spans);
    let runtime: WorkerRuntime | null = null;
    try {
      const config = unpackConfig(packed);
      // Labels are numbered for the life of the process: those of the configuration in use are among them.
      this.counters.useLabels(labels);
      const nodes = this.nodes.prepare(config, table);
      const store = this.cache.storeIn(cache, this.start.index);
      runtime = this.wire(config, nodes, store);
      failReload();
      if (!this.edge.draining) this.publicListeners.prepare(runtime);
      const places = this.edge.draining ? null : this.listeners.prepare(listenersOf(config));
      this.prepared = { id, runtime, nodes, store, places };
      return "";
    } catch (error) {
      runtime?.pools.close();
      this.publicListeners.abort();
      return messageOf(error);
    }
  }

  /** New requests take the new configuration; those in flight end on the old one. */
  private commit(message: NewConfiguration): void {
    const { id } = message;
    // A worker that was started meanwhile has not been asked to prepare.
    const fault = this.prepared?.id === id ? "" : this.prepare(message);
    // The others serve it already: a thread that cannot is started again, with the same configuration.
    if (this.prepared === null) throw new Error(`a configuration that others serve cannot be built: ${fault}`);
    const { runtime, nodes, store, places } = this.prepared;
    this.prepared = null;
    nodes.commit();
    this.cache.use(store, message.cache);
    this.list.share(message);
    const old = this.runtime;
    this.runtime = runtime;
    const { config, settings, pipeline } = runtime;
    this.edge.reconfigure(settings, pipeline);
    if (!this.edge.draining) this.publicListeners.commit(runtime);
    this.useStreams(runtime.streams);
    this.privateListeners.commit(runtime);
    // The control thread has seen that the ports are free.
    if (!this.edge.draining) this.openUdp(config).catch(this.onException);
    if (!this.edge.draining && this.start.index === 0) this.quic.use(config, true).catch(this.onException);
    this.limitUnsent(config);
    this.limitBodies(config);
    this.services.inTurn(() => this.list.use(config));
    if (this.edge.draining) places?.abort();
    else if (places !== null) this.post({ kind: "listening", sockets: places.commit() });
    this.services.inTurn(() => old.pools.close());
    collectLeftovers(config);
    this.post({ kind: "applied", id });
  }

  /** Connections that begin from now on take these. */
  private useStreams(streams: Streams | null): void {
    this.streams = streams;
    this.publicListeners.usePassed(streams);
    this.quic.usePassed(streams);
  }

  /** @throws when an address cannot be had */
  private async openUdp(config: RuntimeConfig): Promise<void> {
    const addresses = udpAddressesOf(config);
    if (this.udp === null && addresses.length === 0) return;
    if (this.udp === null) {
      const { UdpListeners } = require("./streams.ts") as typeof import("./streams.ts");
      const { turn, wheel, names } = this.services;
      this.udp = new UdpListeners({ turn, wheel, names, onException: this.onException }, () => this.streams);
    }
    this.listeners.opening = "udp";
    await this.udp.use(addresses);
  }

  /** There is one for the life of the process, once a configuration has asked for it. */
  private takeRing(rings: readonly SharedArrayBuffer[]): void {
    const own = rings[this.start.index];
    if (own !== undefined) this.spans ??= new SpanWriter(own);
  }

  /** Lets go of what was prepared and is not to be used. */
  private abandon(): void {
    const { prepared } = this;
    if (prepared === null) return;
    this.prepared = null;
    prepared.places?.abort();
    this.publicListeners.abort();
    this.services.inTurn(() => prepared.runtime.pools.close());
  }

  private openListener(place: ListenerPlace, from: ListenAt): Listener {
    const { otherConnections: connections } = this;
    const where = place.isUnix && !("fd" in from) ? { fd: duplicate(this.unixSocket(place.name)) } : from;
    switch (place.kind) {
      case "server":
        return this.publicListeners.open(place, where);
      case "stream": {
        const { listenStream } =
          require("../streams/stream-listener.ts") as typeof import("../streams/stream-listener.ts");
        const name = place.name as StreamListener;
        return listenStream(this.edge, connections, where, () => this.streams?.at(name) ?? null);
      }
      default:
        return this.privateListeners.open(place.kind, where);
    }
  }

  private unixSocket(name: string): number {
    return this.unixSockets.find((one) => one.name === name)?.fd ?? -1;
  }

  /** Another worker does not accept: what waits for it is accepted here. */
  private help(worker: number, sockets: readonly ListeningSocket[]): void {
    if (this.edge.draining) for (const { fd } of sockets) closeSync(fd);
    else this.listeners.help(worker, sockets);
  }

  private limitBodies(config: RuntimeConfig): void {
    this.bodies.use(bodyLimitsOf(config, this.bodies.disk.totalKib * 1024));
  }

  private limitUnsent(config: RuntimeConfig): void {
    this.services.writers.unsent.limit = config.server.maxUnsentBytes / this.start.workers;
  }

  private drain(hasSuccessor: boolean): void {
    // A worker that was starting when the signal came is told twice, and closes its listeners once.
    if (this.edge.draining) return;
    this.edge.draining = true;
    this.publicListeners.drain();
    this.privateListeners.drain();
    this.listeners.stop();
    this.services.inTurn(() => this.udp?.close());
    this.services.inTurn(() => this.list.stop(hasSuccessor));
    this.services.inTurn(() => this.connections.drain());
    this.quic.drain(hasSuccessor);
    const poll = setInterval(() => {
      if (this.connections.size > 0 || this.quic.isOpen) return;
      clearInterval(poll);
      this.flushLog();
      this.runtime.pools.close();
      this.post({ kind: "drained" });
    }, DRAIN_POLL_MS);
  }

  /** Ends what has not ended in time, so that its access lines are written. */
  private cut(): void {
    this.services.inTurn(() => this.connections.cutAll());
    this.quic.cut();
    this.flushLog();
    if (!this.quic.isOpen) this.post({ kind: "drained" });
  }

  private wire(config: RuntimeConfig, nodes: ConfiguredNodes, cacheStore: CacheStore | null): WorkerRuntime {
    return buildRuntime(config, {
      services: this.services,
      counters: this.countersTap,
      log: this.log,
      accessLines: this.accessLines,
      addresses: this.addresses,
      events: this.events,
      reports: this.reports,
      control: this.control,
      threshold: this.threshold,
      onPurged: this.purges.onPurged,
      onInvalidated: this.purges.onInvalidated,
      bans: this.bans,
      health: this.health,
      watchers: this.watchers,
      requestIds: this.requestIds,
      challenges: this.challenges,
      tally: {
        upstreamAnswered: (label, status, durationMs) => {
          const id = this.counters.upstreamId(label);
          this.counters.upstreamEnded(id, this.counters.upstreamSlot(id, status), durationMs);
        },
      },
      cacheStore,
      sidecar: this.certificates.identity,
      functions: () => this.functions.loaded(),
      nodes,
      cookieKey: this.start.cookieKey,
      reverse: this.services.names,
      spans: this.spans,
      budget: this.bodies,
      client: {
        buckets: this.start.buckets,
        fleet: this.fleet.buckets,
        sharedClock: this.sharedClock,
        places: this.parts.places,
        lists: this.parts.lists,
        reports: this.reports,
        turns: this.services,
        keySets: this.keySets,
        agentKeys: this.agentKeys,
        wallClock: this.services.clock,
      },
      under: this.parts,
      counterTable: this.counters,
      open: this.start.connections.streams,
      worker: this.start.index,
      workers: this.start.workers,
      extraRoutes: testRoutes(),
    });
  }

  private makeFunctions(): LateFunctions {
    const { services, requestIds, events, threshold, post } = this;
    const spans = () => this.spans;
    return new LateFunctions({ worker: this.start.index, services, requestIds, events, threshold, spans, post });
  }

  private makePurges(): Purges {
    const { counters, events, post } = this;
    return new Purges({ purge: () => this.runtime.purge, counters, events, post });
  }

  private makeKeySets(): KeySets {
    const { control, services } = this;
    return new KeySets(
      // Later in any case: where too many ask at once, the channel answers before it returns.
      (id, answer) =>
        control.ask("keys", id, (status, _, body) =>
          queueMicrotask(() => services.inTurn(() => answer(status === 200 ? Number(body) : KEYS_PAUSE_MS))),
        ),
      () => services.turn.nowMs,
    );
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

  private makePrivateListeners(): PrivateListeners {
    return new PrivateListeners(
      {
        connections: this.otherConnections,
        certificates: this.certificates,
        sidecar: () => this.runtime.config.sidecar,
        makePorts: (pipeline) => this.makeEdge(pipeline),
        makeInternalPorts: (pipeline, listener) => this.makeEdge(pipeline, listener, this.gates.internal),
      },
      this.runtime,
    );
  }

  private makeEdge(
    pipeline: Pipeline,
    listener: ClientListener = NO_LISTENER,
    gate = this.gates.clients,
  ): ClientSocketPorts {
    const { services, counters } = this;
    const own = listener.isForOperators || listener === NO_LISTENER ? null : counters.listenerCounters(listener.name);
    return new ClientSocketPorts({
      writers: services.writers,
      wheel: services.wheel,
      clock: services.clock,
      turn: services.turn,
      idlePorts: IDLE_PORTS,
      bodies: this.bodies,
      gate,
      listener,
      settings: pipeline === this.runtime.pipeline ? this.runtime.settings : unproxied(this.runtime.settings),
      pipeline,
      observer: {
        onOpen: () => {
          counters.add(COUNTERS.acceptedConnections);
          counters.add(COUNTERS.activeConnections);
          own?.opened();
        },
        onClose: () => {
          counters.add(COUNTERS.activeConnections, -1);
          own?.closed();
          gate.leave();
        },
        onSecured: (isResumed, group) => {
          counters.add(isResumed ? COUNTERS.resumedHandshakes : COUNTERS.fullHandshakes);
          counters.add(KEY_EXCHANGES[group] ?? COUNTERS.keysOther);
        },
        onRefused: (fault, address) => {
          this.refusals.framing(fault, address);
          if (this.seenReports.isOn) this.observer.refused(address, faultRow(fault).label, null);
        },
        onException: this.onException,
      },
    });
  }
}

/** Counters of key exchanges by their groups. */
const KEY_EXCHANGES: Readonly<Record<string, CounterRow>> = {
  X25519MLKEM768: COUNTERS.keysHybrid,
  X25519: COUNTERS.keysX25519,
  "P-256": COUNTERS.keysP256,
};
