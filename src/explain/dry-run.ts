import { ShownAddresses } from "../core/address-mask.ts";
import { Fault } from "../core/fault.ts";
import { withoutCredentials } from "../core/secret-name.ts";
import { EVENTS } from "../facts/events.ts";
import { AccessGuard } from "../features/admin/access-guard.ts";
import { builtInEndpoints } from "../features/admin/built-in-endpoints.ts";
import { HealthHandler } from "../features/admin/health-handler.ts";
import { StatusHandler } from "../features/admin/status-handler.ts";
import { AgentKeyring } from "../features/agents/agent-keyring.ts";
import { KeySets } from "../features/auth/jwt/key-ring.ts";
import { machineKey } from "../features/balance/sticky.ts";
import { createCacheBuffers } from "../features/cache/store/cache-memory.ts";
import { CacheStore } from "../features/cache/store/cache-store.ts";
import { DashboardHandler } from "../features/dashboard/dashboard-handler.ts";
import { StreamHandler, Watchers } from "../features/dashboard/watchers.ts";
import { FileCache } from "../features/files/file-cache.ts";
import { RequestIds } from "../features/forward/forward-head.ts";
import { PlaceFinder } from "../features/geo/place-finder.ts";
import { readDatabase } from "../features/geo/settings.ts";
import { FleetBuckets } from "../features/limit/fleet-buckets.ts";
import { type ListMemory, ListTables, listId } from "../features/lists/list-tables.ts";
import type { Router } from "../features/route/router.ts";
import { AccessLines } from "../features/telemetry/access-outputs.ts";
import { CountersTap } from "../features/telemetry/counters-tap.ts";
import { EventLog } from "../features/telemetry/event-log.ts";
import { LogBatch } from "../features/telemetry/log-batch.ts";
import { LogThreshold } from "../features/telemetry/log-level.ts";
import { Refusals } from "../features/telemetry/refusals.ts";
import { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import type { WafIncident } from "../features/waf/incident.ts";
import { BodyBudget, createBodyBudget } from "../memory/body-budget.ts";
import { ConnectionCounts, createConnectionCounts } from "../memory/connection-counts.ts";
import { createCounterBuffers, WorkerCounters } from "../memory/counter-table.ts";
import { createIncidentRing, IncidentWriter } from "../memory/incident-ring.ts";
import { readList } from "../memory/list-file.ts";
import { createNodeTable } from "../memory/node-table.ts";
import { createTokenBuckets } from "../memory/token-bucket.ts";
import { ClientListener } from "../message/client-listener.ts";
import { ClientPeer } from "../message/client-peer.ts";
import {
  Exchange,
  type Handler,
  type Phase,
  type Pipeline,
  type Upstream,
  type UpstreamCaller,
  Verdict,
} from "../message/exchange.ts";
import { IDLE_PORTS, NO_TAKER } from "../message/idle-ports.ts";
import { Framing, type RequestHead } from "../message/request-head.ts";
import { faultOf } from "../proto/h1/outcome.ts";
import { RequestParser } from "../proto/h1/request-parser.ts";
import { RequestHeadReader } from "../proto/h2/request-head-reader.ts";
import { FieldDictionary } from "../proto/h3/field-dictionary.ts";
import { LineBuffer } from "../proto/hpack/line-buffer.ts";
import { LIST_READERS, listUses } from "../routes/list-uses.ts";
import { pressurePorts } from "../routes/pressure-ports.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { RouteTypePorts } from "../routes/route-type.ts";
import { routeTypeOf } from "../routes/route-types.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { LateHandler } from "../routes/upstream/late-handler.ts";
import type { ServerConfig } from "../settings/sections.ts";
import { modelPorts } from "../worker/client-policy.ts";
import { NodeList } from "../worker/node-list.ts";
import { type ConfiguredNodes, NodeSet } from "../worker/node-set.ts";
import { publicRouter, routeLabels, upstreamLabels } from "../worker/routing.ts";
import type { WayPorts } from "../worker/runtime-inputs.ts";
import { TrafficReports } from "../worker/traffic-reports.ts";
import { describeListener } from "../worker/worker-listeners.ts";
import { publicWay, redirectsOf } from "../worker/worker-runtime.ts";
import { WorkerServices } from "../worker/worker-services.ts";
import { type RecordedResponse, RecordingSink } from "./recording-sink.ts";

/** A request as a client would send it, and who that client is. */
export interface DryRequest {
  /** The head as HTTP/1.1, with its empty line. */
  readonly head: Buffer;
  /** Empty if there is none; where the head declares one that is not given, so many spaces take its place. */
  readonly body: Buffer;
  readonly clientIp: string;
  readonly tls: boolean;
  /** The version of HTTP by which it comes, 1 by default. */
  readonly http?: HttpVersion;
  /** The name of its listener; by default the first with its scheme. */
  readonly listener?: string;
}

export type HttpVersion = 1 | 2 | 3;

/** A phase that the request has passed, or that ended it. */
export interface PassedPhase {
  readonly name: string;
  readonly verdict: "passed" | "ended";
  readonly wafScore: number;
  readonly cacheResult: number;
  /** What the firewall has reported so far. */
  readonly incidents: number;
}

/** What would go to an origin. */
interface SentHead {
  /** `http://10.0.0.5:8000` */
  readonly origin: string;
  /** The head as HTTP/1.1, whatever the origin speaks; one character a byte. */
  readonly head: string;
}

/** What became of a request. */
export interface DryResult {
  /** Null if the bytes of the request were refused before the first phase. */
  readonly ex: Exchange;
  /** Why it did not reach the first phase; Fault.None if it did. */
  readonly framing: Fault;
  readonly phases: readonly PassedPhase[];
  /** To the origin that would be asked first. */
  readonly sent: SentHead | null;
  /** Absolute path of the file that would be searched for. */
  readonly file: string | null;
  /** What would answer if nothing here can tell how: the control thread, a gRPC method. */
  readonly asked: string | null;
  /** Null where what answers is not in this process: a file, or `asked`. Of an origin's response, what the gateway makes of an empty 200. */
  readonly response: RecordedResponse | null;
  readonly incidents: readonly WafIncident[];
}

/**
 * A gateway through which requests go without a network: the router, the phases, the handlers and the taps that serve, with a recorder
 * where files, origins and the control thread would be. It opens no file but to see whether a script is there, no socket, no port and no
 * thread. Requests do not see each other:
 * each finds full rate limits and an empty cache. docs/explain.md
 */
export class DryRun {
  readonly router: Router;
  private readonly config: RuntimeConfig;
  private readonly services: WorkerServices = new WorkerServices(rethrow, nothing, nothing);
  private readonly pipeline: Pipeline;
  private readonly cacheStore: CacheStore | null;
  private readonly clock = { nowMs: 0 };
  private readonly lists: ListTables = new ListTables();
  private notes = new Notes();
  private current: Exchange | null = null;

  constructor(config: RuntimeConfig) {
    this.config = config;
    this.lists.share({ lists: listsOf(config) });
    const { cache } = config.server;
    const buffers = cache.enabled ? createCacheBuffers({ ...cache, ...SMALL_CACHE }, 2, 1) : null;
    this.cacheStore = buffers === null ? null : new CacheStore(buffers, 0);
    const inputs = this.inputs();
    const site = this.site(inputs);
    this.router = publicRouter(config, {
      endpoints: this.endpoints(),
      transcoded: ({ grpcMethod, upstream }) =>
        this.asking(`${grpcMethod} at ${upstream.originKey}${upstream.basePath}`),
      listed: site.redirects,
      configured: (route) => new LateHandler(() => this.rehearsed(route, site)),
      extra: [],
    });
    const { pipeline } = publicWay(config, this.router, inputs, ({ originKey, authority }) => ({
      label: originKey,
      authority,
      send: () => this.notes.ask(`the authentication service ${originKey}`),
      sendFresh: nothing,
    }));
    this.pipeline = pipeline.traced((phase) => new TracedPhase(phase, (name) => this.notes.begin(name)));
  }

  /** Sends a request down. */
  run(request: DryRequest): DryResult {
    this.clock.nowMs += MS_BETWEEN;
    this.cacheStore?.purge({ matches: () => true, tags: null, staleSinceMs: -1 });
    this.services.turn.begin();
    this.notes = new Notes();
    const ex = new Exchange(IDLE_PORTS);
    const sink = new RecordingSink();
    const { server } = this.config;
    ex.request.reset(request.head);
    ex.open(sink, IDLE_PORTS.flow, this.peerOf(request), this.pipeline);
    this.current = ex;
    this.notes.ex = ex;
    const framing =
      (request.http ?? 1) === 1 ? readHead(request, ex.request, server) : readFields(request, ex.request, server);
    if (framing !== Fault.None) sink.abort(ex, framing);
    else {
      ex.bodyDone = !ex.request.hasBody();
      this.pipeline.start(ex);
      if (ex.request.hasBody()) this.feed(ex, sink, request.body);
    }
    this.notes.end();
    const { phases, sent, file, asked, incidents } = this.notes;
    return { ex, framing, phases, sent, file, asked, response: sink.response, incidents };
  }

  /** The client of a request: at the listener that it names, else at the first that speaks as it does. */
  private peerOf({ clientIp, tls, listener }: DryRequest): ClientPeer {
    const { server } = this.config;
    const place =
      server.listeners.find(({ name }) => name === listener) ?? server.listeners.find((one) => one.tls === tls);
    const peer = new ClientPeer(place?.socket ? "unix:" : clientIp, tls, place?.port ?? 0);
    if (place === undefined) return peer;
    peer.listener = new ClientListener(place.name, place.socket !== "");
    describeListener(peer.listener, place, server);
    // Its handshake was for its host.
    peer.listener.demands = null;
    return peer;
  }

  /** Gives the body to the phase or handler that takes it, as far as it is needed. */
  private feed(ex: Exchange, sink: RecordingSink, body: Buffer): void {
    const declared = ex.request.framing === Framing.Length ? ex.request.contentLength : body.length;
    let fed = 0;
    while (fed < declared && fed < MAX_FED_BYTES && sink.response === null && this.notes.sent === null) {
      const piece = body.length > 0 ? body.subarray(fed) : SPACES.subarray(0, declared - fed);
      if (piece.length === 0) return;
      ex.body.onBody(ex, piece, 0, piece.length);
      fed += piece.length;
    }
    if (fed < declared || sink.response !== null) return;
    ex.bodyDone = true;
    ex.body.onBodyEnd(ex);
  }

  private inputs(): WayPorts {
    const { config, services, clock, cacheStore } = this;
    const labels = new TelemetryLabels().forConfiguration(routeLabels(config), upstreamLabels(config));
    const counters = new WorkerCounters(createCounterBuffers(), labels);
    const log = new LogBatch({ write: nothing }, counters);
    const requestIds = new RequestIds(services.clock);
    const events = new EventLog(EVENTS, log, services.clock);
    const reports = new NotedReports(
      {
        counters,
        log: events,
        names: requestIds,
        ring: new IncidentWriter(createIncidentRing(), 0),
        connections: new ConnectionCounts(createConnectionCounts(1, SECRET), 0),
        clock: services.clock,
        addresses: new ShownAddresses(),
      },
      (incident) => this.notes.incidents.push(incident),
    );
    const { maxBufferedBytes, maxBufferedShare } = config.proxy.transport;
    const limits = { memoryBytes: maxBufferedBytes, share: maxBufferedShare, diskBytes: 0 };
    return {
      services,
      counters: new CountersTap(counters, new Refusals(counters, events, requestIds)),
      log,
      accessLines: new AccessLines(nothing, counters),
      addresses: new ShownAddresses(),
      control: { ask: nothing },
      onPurged: nothing,
      onInvalidated: nothing,
      bans: NO_BANS,
      threshold: new LogThreshold(),
      reports,
      requestIds,
      challenges: { answerTo: () => null },
      cacheStore,
      cookieKey: machineKey(),
      under: pressurePorts(services, 0, clock),
      reverse: { confirm: nothing }, // No name server is asked.
      ...{ functions: null, spans: null },
      budget: new BodyBudget(createBodyBudget(1, SECRET), 0, services.turn, limits),
      client: {
        buckets: createTokenBuckets(SECRET),
        fleet: new FleetBuckets({ ask() {}, nowMs: () => 0, later() {}, count() {} }),
        sharedClock: clock,
        places: this.places(),
        lists: this.lists,
        reports,
        turns: { inTurn: (work) => work() },
        noteProvider: (issuer) => this.notes.ask(`the OpenID provider ${issuer}`),
        agentKeys: new AgentKeyring(),
        keySets: new KeySets(
          (id) => this.notes.ask(`the keys of ${withoutCredentials(id)}`),
          performance.now.bind(performance),
        ),
        wallClock: services.clock,
      },
    };
  }

  private places(): PlaceFinder {
    const { countryDb, asnDb } = this.config.server.geo;
    const buffer = (file: string) => (file === "" ? null : readDatabase(file).buffer);
    const places = new PlaceFinder();
    places.share({ geo: { country: buffer(countryDb), asn: buffer(asnDb) } });
    return places;
  }

  private endpoints() {
    const { internalApi } = this.config;
    const probes = {
      idle: IDLE_PORTS,
      maxResponseBytes: 0,
      isProbed: () => false,
      pipeline: () => this.pipeline,
    };
    const control = { ask: (what: string) => this.notes.ask(`the running gateway, asked for its ${what}`) };
    const guard = new AccessGuard(internalApi);
    const status = new StatusHandler(this.clock);
    const parts = { health: new HealthHandler(), status, guard, control, probes, purge: () => 0 };
    const page = new DashboardHandler(guard);
    const stream = new StreamHandler(guard, () => control.ask("watch"), new Watchers(() => {}));
    return builtInEndpoints({ ...parts, onPurged: () => {}, dashboard: { page, stream } });
  }

  private site(inputs: WayPorts): RouteTypePorts {
    const { requestIds, budget: bodies, client } = inputs;
    const { config, services } = this;
    const { clock, wheel, turn } = services;
    let nodes: ConfiguredNodes | null = null;
    return {
      config,
      // What the request is itself sent to is what counts here.
      mirrors: null,
      ai: modelPorts(inputs.under.ai, inputs.client),
      functions: null,
      redirects: redirectsOf(client.lists),
      cookieKey: machineKey(),
      files: { cache: new FileCache(), clock, defer: (resume) => resume() },
      forward: { requestIds, wheel, turn, bodies },
      poolOf: ({ originKey, authority }) =>
        new RecordedUpstream(originKey, authority, (ex, head) => this.noteSent(ex, originKey, head)),
      slotsOf: () => null,
      canaryOf: () => null,
      nodesOf: (route) => {
        nodes ??= this.nodes();
        return nodes.nodesOf(route);
      },
    };
  }

  private nodes(): ConfiguredNodes {
    const { config, services } = this;
    const counters = new WorkerCounters(createCounterBuffers(), new TelemetryLabels().forConfiguration([], []));
    const set = new NodeSet({ turn: services.turn, worker: 0, counters, onBreaker: nothing });
    return set.prepare(config, createNodeTable(new NodeList(config).nodes.length));
  }

  private rehearsed(route: RouteConfig, site: RouteTypePorts): Handler {
    const type = routeTypeOf(route);
    return type.rehearse?.(route, (file) => this.notes.look(file), site) ?? type.build(route, site);
  }

  private asking(what: string): Handler {
    return {
      name: "asking",
      handle: () => {
        this.notes.ask(what);
        return Verdict.Done;
      },
    };
  }

  /** Copies of the request, as a mirror gets, are not what is explained. */
  private noteSent(ex: Exchange, origin: string, head: string): void {
    if (ex === this.current && this.notes.sent === null) this.notes.sent = { origin, head };
  }
}

/** What was seen of one request on its way. */
class Notes {
  readonly phases: PassedPhase[] = [];
  readonly incidents: WafIncident[] = [];
  sent: SentHead | null = null;
  file: string | null = null;
  asked: string | null = null;
  ex: Exchange | null = null;
  private open = "";

  begin(name: string): void {
    this.close("passed");
    this.open = name;
  }

  look(file: string): void {
    this.file ??= file;
  }

  ask(what: string): void {
    this.asked ??= what;
  }

  end(): void {
    this.close("ended");
  }

  private close(verdict: PassedPhase["verdict"]): void {
    const { open, ex } = this;
    this.open = "";
    if (open === "" || ex === null) return;
    const { wafScore, cacheResult } = ex;
    this.phases.push({ name: open, verdict, wafScore, cacheResult, incidents: this.incidents.length });
  }
}

/** A phase that says when it begins. */
class TracedPhase implements Phase {
  readonly name: string;
  readonly needsBody: boolean;
  private readonly phase: Phase;
  private readonly onBegin: (name: string) => void;

  constructor(phase: Phase, onBegin: (name: string) => void) {
    this.name = phase.name;
    this.needsBody = phase.needsBody === true;
    this.phase = phase;
    this.onBegin = onBegin;
  }

  run(ex: Exchange): Verdict {
    this.onBegin(this.name);
    return this.phase.run(ex);
  }
}

/** An origin that takes the head of a request and answers 200, with nothing said of itself and a body of one byte. */
class RecordedUpstream implements Upstream {
  readonly label: string;
  readonly authority: string;
  private readonly note: (ex: Exchange, head: string) => void;

  constructor(label: string, authority: string, note: (ex: Exchange, head: string) => void) {
    this.label = label;
    this.authority = authority;
    this.note = note;
  }

  send(ex: Exchange, caller: UpstreamCaller): void {
    const out = Buffer.alloc(caller.requestBound(ex));
    this.note(ex, out.latin1Slice(0, caller.encodeRequest(ex, out, 0)));
    const { response, request } = ex;
    const isHead = request.methodText() === "HEAD";
    ex.body = NO_TAKER;
    response.status = 200;
    response.headers.resetOwn();
    response.framing = isHead ? Framing.None : Framing.Length;
    response.contentLength = ONE_BYTE.length;
    response.lengthWithoutBody = isHead;
    response.withoutBody = isHead;
    response.fromUpstream = true;
    caller.onResponseHead(ex);
    if (!isHead) ex.sink.body(ex, ONE_BYTE, 0, ONE_BYTE.length);
    ex.sink.end(ex);
  }

  sendFresh(ex: Exchange, caller: UpstreamCaller): void {
    this.send(ex, caller);
  }
}

/** Reports that go to the notes alone. */
class NotedReports extends TrafficReports {
  private readonly note: (incident: WafIncident) => void;

  constructor(to: ConstructorParameters<typeof TrafficReports>[0], note: (incident: WafIncident) => void) {
    super(to);
    this.note = note;
  }

  override onIncident(incident: WafIncident): void {
    this.note(incident);
  }
}

/** Reads a head as HTTP/1.1. */
function readHead({ head: bytes }: DryRequest, head: RequestHead, server: ServerConfig): Fault {
  const parser = new RequestParser(server.maxHeaderBytes, server.maxHeaderFields);
  parser.begin(0);
  const outcome = parser.parse(bytes, bytes.length, head);
  if (outcome === bytes.length) return Fault.None;
  return outcome < -1 ? faultOf(outcome) : Fault.BadRequestLine;
}

/** Reads the same head as the fields that a client of HTTP/2 or HTTP/3 makes of it. */
function readFields({ head: bytes, body, tls, http }: DryRequest, head: RequestHead, server: ServerConfig): Fault {
  const [line = "", ...lines] = bytes.toString("latin1").trimEnd().split("\r\n");
  const [method = "", target = ""] = line.split(" ");
  const fields = lines.map((one): [string, string] => {
    const colon = one.indexOf(":");
    return [one.slice(0, colon).toLowerCase(), one.slice(colon + 1).trim()];
  });
  const authority = fields.find(([name]) => name === "host")?.[1] ?? "";
  const record: Record<string, string | string[]> = {
    ":method": method,
    ":scheme": tls ? "https" : "http",
    ":authority": authority,
    ":path": target,
  };
  for (const [name, value] of fields) if (name !== "host") record[name] = [record[name] ?? [], value].flat();
  const { maxHeaderListBytes, unknownPseudoHeaders, extendedConnect } = server.http2;
  const reader = new RequestHeadReader({
    maxListBytes: http === 2 ? maxHeaderListBytes : server.maxHeaderBytes,
    maxFields: server.maxHeaderFields,
    refusesUnknownPseudo: unknownPseudoHeaders === "reject",
    allowsConnectProtocol: http === 2 && extendedConnect,
  });
  const dictionary = new FieldDictionary();
  dictionary.begin(record);
  const isEnd = body.length === 0 && !("content-length" in record);
  const fault = reader.read(dictionary, new LineBuffer(), head, isEnd);
  if (http !== undefined) head.major = http;
  return fault;
}

/** The lists of a configuration, as their files are now. */
function listsOf(config: RuntimeConfig): ListMemory {
  return Object.fromEntries(
    listUses(config).map((use) => [listId(use), readList(use.kind, use.file, LIST_READERS[use.kind]).table]),
  );
}

function nothing(): void {}

/** No client is banned, and nothing is counted. */
const NO_BANS: WayPorts["bans"] = { isBanned: () => false, refused: nothing, blocked: nothing };

function rethrow(error: unknown): never {
  throw error;
}

/** Enough for one response. */
const SMALL_CACHE = { maxBytes: 4_194_304, maxEntries: 16 };
const SECRET: Int32Array = new Int32Array(2);
const ONE_BYTE: Buffer = Buffer.from("x");
const SPACES: Buffer = Buffer.alloc(65_536, " ");
/** More of a body than any phase asks for before the route's handler is asked. */
const MAX_FED_BYTES = 33_554_432;
/** Every bucket of a rate limit is full again after that. */
const MS_BETWEEN = 604_800_000;
