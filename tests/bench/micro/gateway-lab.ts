import { EVENTS } from "../../../src/facts/events.ts";
import { EventLog } from "../../../src/features/telemetry/event-log.ts";
import { ClientPeer } from "../../../src/message/client-peer.ts";
// A whole gateway without a system call: the phases in their order, sockets that take everything and forget it.

import { Clock } from "../../../src/core/clock.ts";
import type { Fault } from "../../../src/core/fault.ts";
import { NetworkSet } from "../../../src/core/network-set.ts";
import { TimerWheel, Turn } from "../../../src/core/timer-wheel.ts";
import { ClientSocketPorts } from "../../../src/edge/client-socket.ts";
import { H1Connection } from "../../../src/edge/h1-connection.ts";
import { H2Connection } from "../../../src/edge/h2-connection.ts";
import { HealthHandler } from "../../../src/features/admin/health-handler.ts";
import { RedirectHandler } from "../../../src/features/answer/redirect-handler.ts";
import { type FixedResponse, respondHandler } from "../../../src/features/answer/respond-handler.ts";
import type { CachePolicy } from "../../../src/features/cache/policy.ts";
import { ResponseCache } from "../../../src/features/cache/response-cache.ts";
import { createCacheBuffers } from "../../../src/features/cache/store/cache-memory.ts";
import { CacheStore } from "../../../src/features/cache/store/cache-store.ts";
import { ForwardEnd, ForwardHandler } from "../../../src/features/forward/forward-handler.ts";
import { RequestIds } from "../../../src/features/forward/forward-head.ts";
import { BodyLimitPhase } from "../../../src/features/ingest/body-limit.ts";
import { NormalizePhase } from "../../../src/features/ingest/normalize.ts";
import { buildRouter } from "../../../src/features/route/build-router.ts";
import { PrefixGuard } from "../../../src/features/route/prefix-guard.ts";
import { PrefixGuardPhase, RouteExactPhase, RoutePrefixPhase } from "../../../src/features/route/routing-phases.ts";
import { CountersTap } from "../../../src/features/telemetry/counters-tap.ts";
import { LogBatch } from "../../../src/features/telemetry/log-batch.ts";
import { Refusals } from "../../../src/features/telemetry/refusals.ts";
import { Waf, WafPhase } from "../../../src/features/waf/waf.ts";
import type { BodyBudget } from "../../../src/memory/body-budget.ts";
import { createCounterBuffers, WorkerCounters } from "../../../src/memory/counter-table.ts";
import { LabelRegistry } from "../../../src/memory/label-registry.ts";
import {
  type Exchange,
  type Handler,
  type Phase,
  Pipeline,
  type RouteInit,
  type Target,
  Verdict,
} from "../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../src/message/idle-ports.ts";
import { ChunkedMode, RouteKind } from "../../../src/message/route.ts";
import type { ByteSocket } from "../../../src/net/byte-socket.ts";
import { threadResolver } from "../../../src/net/name-resolver.ts";
import { SlabPool, WriterGroup } from "../../../src/net/socket-buffers.ts";
import { templateOf } from "../../../src/proto/template/template.ts";
import { requestEdits } from "../../../src/routes/header-operations.ts";
import { type H1UpstreamConnection, OriginPool } from "../../../src/upstream/h1-upstream.ts";
import { SETTINGS } from "../../unit/edge/client-session.ts";
import { openGate } from "../../unit/edge/open-gate.ts";
import { budgetOf, SILENT } from "../../unit/features/ingest/body-route.ts";

/** A socket that takes everything and only counts it. */
export class SinkSocket implements ByteSocket {
  readonly remoteAddress = "192.0.2.7";
  readonly localPort = 8080;
  readonly fd = -1;
  data: unknown = null;
  bytes = 0;

  write(_data: Uint8Array, _byteOffset?: number, byteLength = 0): number {
    this.bytes += byteLength;
    return byteLength;
  }

  end(): void {}
  close(): void {}
  shutdown(): void {}
  terminate(): void {}
  pause(): void {}
  resume(): void {}
}

/** What one worker has. */
export class GatewayLab {
  readonly turn: Turn = new Turn();
  readonly writers: WriterGroup = new WriterGroup(new SlabPool());
  readonly wheel: TimerWheel = new TimerWheel(this.turn.nowMs, fail);
  readonly clock: Clock = new Clock(Date.now);
  readonly pool: OriginPool = new OriginPool(ORIGIN, {
    writers: this.writers,
    wheel: this.wheel,
    turn: this.turn,
    idlePorts: IDLE,
    names: threadResolver(() => {}),
    onFailed: fail,
    onLeniency: fail,
    onException: fail,
  });
  readonly phases: readonly Phase[];
  private readonly bodies: BodyBudget = budgetOf(1024);
  private readonly edge: ClientSocketPorts;

  /** @param isCached whether the cache stands before the origins */
  constructor(isCached = false) {
    const counters = this.counters();
    const router = buildRouter(this.routes());
    const guard = new PrefixGuard(router.routes.map((route) => route.init));
    const rules = { disabledRules: [], exclusions: [] };
    const cache = isCached ? this.cache(router.routes.length, counters) : null;
    const waf = {
      mode: "enforce",
      level: 1,
      profile: [],
      anomalyThreshold: 5,
      maxInspectBodyBytes: 0,
      overLimit: "inspect",
      revealRules: true,
      ...rules,
    } as const;
    this.phases = [
      counters,
      new WafPhase(
        new Waf(
          waf,
          { has: () => false },
          router,
          { onInspected() {}, onIncident: fail, onOverLimit: fail, onBudgetExhausted: () => fail("steps") },
          this.clock,
        ),
      ),
      new RouteExactPhase({ router, bodies: { maxBodyBytes: 0, rejectsChunked: false }, guard, isPreflight: null }),
      new PrefixGuardPhase(guard, { onPathEscape() {} }),
      new RoutePrefixPhase(router, { maxBodyBytes: 0, rejectsChunked: false }),
      new BodyLimitPhase(),
      ...(cache === null ? [] : [cache.phase]),
      new NormalizePhase(this.bodies, SILENT),
      { name: "dispatch", run: (ex) => ex.route!.handler.handle(ex) },
    ];
    const taps = cache === null ? [] : [cache.tap];
    this.edge = new ClientSocketPorts({
      writers: this.writers,
      wheel: this.wheel,
      clock: this.clock,
      turn: this.turn,
      observer: { onOpen: () => {}, onClose: () => {}, onSecured: () => {}, onRefused: fail, onException: fail },
      idlePorts: IDLE,
      bodies: this.bodies,
      gate: openGate(),
      settings: SETTINGS,
      pipeline: new Pipeline(this.phases, taps, [counters, new ForwardEnd(), ...taps]),
    });
  }

  /** A client's connection. */
  client(socket: SinkSocket): H1Connection {
    return new H1Connection(socket, this.edge, new ClientPeer(socket.remoteAddress, false, 8080));
  }

  /** The same by HTTP/2. */
  http2Client(socket: SinkSocket): H2Connection {
    const settings = {
      maxConcurrentStreams: 128,
      maxListBytes: 65_536,
      maxFields: 100,
      refusesUnknownPseudo: false,
      allowsConnectProtocol: false,
    };
    return new H2Connection(socket, this.edge, new ClientPeer(socket.remoteAddress, false, 8080), settings);
  }

  /** One event of its socket. */
  http2Event(connection: H2Connection, chunk: Buffer): void {
    this.turn.begin();
    connection.onData(chunk);
    this.writers.flushAll();
  }

  /** One socket event. */
  event(connection: H1Connection | H1UpstreamConnection, chunk: Buffer): void {
    this.turn.begin();
    connection.onData(chunk);
    this.writers.flushAll();
  }

  private cache(routes: number, counter: CountersTap): ResponseCache {
    const store = new CacheStore(createCacheBuffers({ maxEntries: 1000, maxBytes: 1 << 28 }, 2, 1), 0);
    const policy: CachePolicy = {
      defaultTtlMs: 1e12,
      maxPayloadBytes: 1 << 20,
      namesRequests: true,
      bypassesCookies: true,
      demandsCertificates: false,
      isConfirmed: false,
      passedFields: [],
      mayChange: false,
      key: null,
    };
    const { clock, turn } = this;
    const ids = new RequestIds(clock);
    return new ResponseCache(store, new Array(routes).fill(policy), false, {
      times: { clock, ages: turn },
      time: { now: () => turn.nowMs, inTurn: (work) => work(), onException: fail },
      idle: IDLE,
      counter,
      showsKeys: false,
      purgers: new NetworkSet([]),
      nameRequest: (ex) => ids.assign(ex),
      readNow: () => null,
      purgeDisk: (_, done) => done(0),
      onPurged() {},
      onInvalidated: null,
      fetchPhases: [],
      endTaps: [],
    });
  }

  private routes(): RouteInit[] {
    const target: Target = {
      upstream: this.pool,
      basePath: Buffer.alloc(0),
      onAnswer: () => {},
      onFailure: fail,
      onReplaced: () => {},
      onOver: () => {},
    };
    const choose = (ex: Exchange): Target => {
      ex.attempt.target = target;
      return target;
    };
    const { bodies, wheel, turn } = this;
    const services = { requestIds: new RequestIds(this.clock), wheel, turn, bodies };
    const forward = new ForwardHandler(FORWARD, { choose, chooseAgain: choose }, services);
    const valued = { ...FORWARD, requestEdits: requestEdits(VALUED) };
    const files: Handler = { name: "files", handle: () => Verdict.Done };
    return [
      route(RouteKind.BuiltIn, "/health", true, new HealthHandler()),
      route(RouteKind.BuiltIn, "/api/status", true, new HealthHandler()),
      route(RouteKind.Upstream, "/node", false, forward),
      route(RouteKind.Upstream, "/python", false, forward),
      route(RouteKind.Upstream, "/go", false, forward),
      route(RouteKind.Static, "/static", false, files),
      route(
        RouteKind.Upstream,
        "/valued",
        false,
        new ForwardHandler(valued, { choose, chooseAgain: choose }, services),
      ),
      route(RouteKind.Plain, "/respond", true, respondHandler(answer("hello"), this.clock)),
      route(RouteKind.Plain, "/greet", true, respondHandler(answer("hello {client_ip}"), this.clock)),
      route(RouteKind.Plain, "/moved", true, new RedirectHandler("https://www.example.com/a", 308)),
      route(RouteKind.Plain, "/old", false, new RedirectHandler("https://www.example.com{uri}", 308)),
    ];
  }

  private counters(): CountersTap {
    const routes = new LabelRegistry(["unmatched", "/health", "/node"], 100);
    const labels = { routes: routes.ids(), upstreams: new LabelRegistry([], 10).ids() };
    const counters = new WorkerCounters(createCounterBuffers(), labels);
    const log = new LogBatch({ write: fail }, counters);
    const names = new RequestIds(this.clock);
    return new CountersTap(counters, new Refusals(counters, new EventLog(EVENTS, log, this.clock), names));
  }
}

function route(kind: RouteKind, path: string, exact: boolean, handler: Handler): RouteInit {
  const shared = { methods: [], hosts: [], stripPrefix: true, chunkedMode: ChunkedMode.Normalize, maxBodyBytes: 0 };
  return { kind, label: path, path, exact, handler, ...shared };
}

function answer(body: string): FixedResponse {
  return { status: 200, body: templateOf(body), contentType: "text/plain; charset=utf-8" };
}

/** Nothing goes wrong here; where it does, the figures would mean nothing. */
function fail(why: unknown): never {
  throw why instanceof Error ? why : new Error(`not expected: ${String(why as Fault)}`);
}

/** Header values with placeholders. */
const VALUED = { set: [{ name: "X-Client", value: "{client_ip}" }], add: [{ name: "X-Asked", value: "{host}{uri}" }] };
const FORWARD = {
  preserveHost: true,
  times: { connectMs: 5000, responseHeaderMs: 30_000, idleMs: 60_000 },
  totalMs: 0,
  retryAttempts: 1,
  retryStatuses: null,
  backoffMs: 0,
  canBeRefused: false,
  streamsBodies: false,
  failureStatuses: null,
  requestEdits: null,
  signer: null,
  responseEdits: null,
  responseRewrite: null,
};
const ORIGIN = {
  originKey: "http://origin.test:81",
  hostname: "192.0.2.1",
  port: 81,
  authority: "origin.test:81",
  tls: null,
  maxIdleConnections: 100,
  maxResponseFields: 256,
  idleTimeoutMs: 90_000,
};
