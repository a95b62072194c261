import { NetworkSet } from "../core/network-set.ts";
import type { ConnectionSettings, Http2Settings } from "../edge/client-socket.ts";
import { AccessGuard } from "../features/admin/access-guard.ts";
import { type BuiltInEndpoint, builtInEndpoints } from "../features/admin/built-in-endpoints.ts";
import type { ProbePorts } from "../features/admin/proxy-test-handler.ts";
import type { Purge } from "../features/admin/purge-handler.ts";
import { StatusHandler } from "../features/admin/status-handler.ts";
import { RedirectList } from "../features/answer/redirect-list.ts";
import type { AuthPorts } from "../features/auth/auth-methods.ts";
import type { DiskReadPorts } from "../features/cache/disk-reads.ts";
import { ResponseCache } from "../features/cache/response-cache.ts";
import type { CacheStore } from "../features/cache/store/cache-store.ts";
import { ENTRY_PIECE_BYTES } from "../features/cache/store/entry-bytes.ts";
import { Compression, contentCodingPhase, type RouteCompression } from "../features/compress/compression.ts";
import { DashboardHandler } from "../features/dashboard/dashboard-handler.ts";
import { StreamHandler } from "../features/dashboard/watchers.ts";
import { FileCache } from "../features/files/file-cache.ts";
import type { FilePorts } from "../features/files/file-handler.ts";
import { ForwardEnd } from "../features/forward/forward-handler.ts";
import { copyClientHost, isLoop, writeForwarded } from "../features/forward/forward-head.ts";
import type { ListTables } from "../features/lists/list-tables.ts";
import { RequestMaps } from "../features/maps/request-maps.ts";
import type { Router } from "../features/route/router.ts";
import { AccessLog, linePolicy } from "../features/telemetry/access-log.ts";
import { hasOwnOutputs, outputsKey } from "../features/telemetry/access-outputs.ts";
import type { AccessLogPorts } from "../features/telemetry/line-formats.ts";
import { hasTraces, tracerOf } from "../features/telemetry/tracing.ts";
import { largeMessages } from "../features/transcode/control/codec-threads.ts";
import { LeakGuards } from "../features/waf/waf-policy.ts";
import type { Handler, Phase, Pipeline, Route } from "../message/exchange.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import type { PurgeOrder } from "../message/purge-order.ts";
import type { RequestHead } from "../message/request-head.ts";
import { editingBodies } from "../routes/body-edits.ts";
import { canaryOf } from "../routes/canary-routes.ts";
import { targetGate } from "../routes/concurrency-gates.ts";
import { hasTargets, type RouteConfig, wafOf } from "../routes/route-config.ts";
import type { RouteTypePorts } from "../routes/route-type.ts";
import { routeTypeOf } from "../routes/route-types.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { ServerConfig } from "../settings/sections.ts";
import { demandOf } from "../settings/server-settings.ts";
import { buildClientPolicy, type ClientPolicy, modelPorts } from "./client-policy.ts";
import { forwardProxies } from "./forward-proxies.ts";
import type { ConfiguredNodes } from "./node-set.ts";
import { OriginPools } from "./origin-pools.ts";
import { knocksOf } from "./packed-config.ts";
import { buildInternalPipeline, buildPipeline, hookPhase } from "./pipeline.ts";
import {
  hasInternalWay,
  internalRouter,
  PolicyTables,
  publicRouter,
  type RouteHandlers,
  settingsByIndex,
  transcodedRoutes,
} from "./routing.ts";
import type { RuntimePorts, WayPorts } from "./runtime-inputs.ts";
import { type SidecarPipelines, sidecarPipelines } from "./sidecar.ts";
import type { Streams } from "./streams.ts";
import { cachePolicies } from "./worker-cache.ts";

/** Makes the handler of a route, at first or with other targets. */
type RouteMaker = (route: RouteConfig, nodes: Pick<ConfiguredNodes, "nodesOf">) => Handler;

/** Everything that a configuration becomes in one worker. A reload builds a second one and swaps. */
export interface WorkerRuntime {
  readonly config: RuntimeConfig;
  readonly router: Router;
  readonly pipeline: Pipeline;
  /** Of the listeners of `internal_api.listen` and `internal_api.socket`. */
  readonly internalPipeline: Pipeline;
  readonly settings: ConnectionSettings;
  readonly pools: OriginPools;
  /** Makes a route's handler anew, with other targets. */
  readonly make: RouteMaker;
  /** By the names of their listeners. */
  readonly forwardProxies: ReadonlyMap<string, Pipeline>;
  /** null if there is no sidecar. */
  readonly sidecar: SidecarPipelines | null;
  /** null if there are none. */
  readonly streams: Streams | null;
  /** null if the cache is off. */
  readonly purge: Purge | null;
}

/** Wires a configuration: this is the list of the gateway's features. */
export function buildRuntime(config: RuntimeConfig, inputs: RuntimePorts): WorkerRuntime {
  const pools = new OriginPools(config.proxy.transport, inputs.services.upstream);
  const { budget } = inputs;
  const routeAt: FilePorts["routeAt"] = (path, head) =>
    router.findExactCanonical(path, head) ?? router.findPrefixCanonical(path, head);
  const site = routeSite(config, inputs, pools, routeAt);
  const purge =
    inputs.cacheStore === null
      ? null
      : (order: PurgeOrder, done: (purged: number) => void) => way.cache!.purge(order, done);
  const endpoints = endpointsOf(
    config,
    inputs,
    { isProbed: (path, head) => isProbed(router, path, head), pipeline: () => way.pipeline },
    purge,
  );
  const compression = new Compression(config.server, compressionPorts(inputs));
  const leaks = new LeakGuards(config.server.waf, leakPorts(inputs));
  const transcoded = transcoding(config, inputs, pools);
  const targetSite: RouteTypePorts = { ...site, poolOf: (target, route) => pools.targetPoolOf(target, route) };
  const parts = { idle: IDLE_PORTS, pipeline: () => way.pipeline };
  const make: RouteMaker = (route, nodes) => {
    const ofTargets = nodes === inputs.nodes ? targetSite : { ...targetSite, nodesOf: nodes.nodesOf };
    const own = hasTargets(route) ? ofTargets : site;
    const handler = leaks.wrap(routeTypeOf(route).build(route, own), wafOf(config, route));
    return compression.wrap(editingBodies(handler, route, parts), route);
  };
  const router: Router = publicRouter(config, {
    endpoints,
    transcoded: (route) => compression.wrapTranscoded(transcoded(route)),
    listed: site.redirects,
    configured: (route) => make(route, inputs.nodes),
    extra: inputs.extraRoutes,
  });
  const way = publicWay(config, router, inputs, (origin, tls) => pools.poolOf(origin, { tls, strictOrigins: true }));
  const { pipeline, client, accessLog } = way;
  const internalPipeline = hasInternalWay(config)
    ? buildInternalPipeline(config, internalRouter(config, endpoints), {
        inputs,
        accessLog: accessLog?.ofServer ?? null,
        budget,
        client,
      })
    : pipeline;
  const tracer = tracerOf(config, inputs.spans, () => true, inputs.addresses);
  const sidecar = sidecarPipelines(config, { inputs, pools, budget, accessLog: accessLog?.ofServer ?? null, tracer });
  const streams = streamsOf(config, inputs);
  const settings = connectionSettings(config);
  const proxies = forwardProxies(config, { inputs, pools, budget, accessLog: accessLog?.ofServer ?? null });
  const ways = { pipeline, internalPipeline, forwardProxies: proxies, sidecar, streams };
  return { config, router, ...ways, settings, pools, make, purge };
}

/** What forwards connections is loaded where a configuration asks for it. */
function streamsOf(config: RuntimeConfig, inputs: RuntimePorts): Streams | null {
  if (config.streams.length === 0) return null;
  const { Streams } = require("./streams.ts") as typeof import("./streams.ts");
  const { services, nodes, log, accessLines, addresses, threshold, open, counterTable, worker, workers, bans } = inputs;
  const { places } = inputs.client;
  return new Streams(config, {
    services,
    counters: counterTable,
    open,
    worker,
    workers,
    nodes,
    places,
    log,
    accessLines,
    addresses,
    threshold,
    bans,
  });
}

/** The way of a request on the public listeners, and the parts of it that others share. */
interface PublicWay {
  readonly pipeline: Pipeline;
  readonly client: ClientPolicy;
  /** Null if it is off. */
  readonly accessLog: AccessLog | null;
  /** Null if it is off. */
  readonly cache: ResponseCache | null;
}

/**
 * Wires the way of a request on the public listeners, whatever answers on the routes.
 * @param poolOf gives the connections to a server that `auth` asks
 */
export function publicWay(
  config: RuntimeConfig,
  router: Router,
  inputs: WayPorts,
  poolOf: AuthPorts["poolOf"],
): PublicWay {
  const { budget } = inputs;
  const hooks = hookPhase(config, router, inputs);
  const cache = responseCache(config, router.routes, inputs, hooks);
  const policies = new PolicyTables(config, router);
  const accessLog = accessLogOf(config, inputs, policies);
  const { wheel, turn } = inputs.services;
  const heads = { writeForwarded, copyClientHost, isLoop };
  const calls = { idle: IDLE_PORTS, wheel, turn, listener: inputs.reports, lines: heads };
  const client = buildClientPolicy(config, router.routes, inputs.client, { calls, poolOf }, policies);
  const contentCoding = contentCodingPhase(config.server, compressedRoutes(config, router.routes));
  const tracer = tracerOf(config, inputs.spans, (ex) => ex.fromTrustedProxy, inputs.addresses);
  const parts = { router, inputs, accessLog, budget, client, contentCoding, cache, hooks, tracer };
  const pipeline = buildPipeline(config, parts);
  if (config.maps.length > 0) {
    const { lists } = inputs.client;
    pipeline.maps = new RequestMaps(config.maps, (file) => lists.cellOf({ kind: "map", file }));
  }
  return { pipeline, client, accessLog, cache };
}

/** Null if neither the server nor a route logs requests. */
function accessLogOf(config: RuntimeConfig, inputs: WayPorts, policies: PolicyTables): AccessLog | null {
  const ports: AccessLogPorts = {
    clock: inputs.services.clock,
    random: Math.random,
    namesUsers:
      [config.server, config.internalApi, ...config.routes].some(({ auth }) => auth.enabled) ||
      config.server.listeners.some(({ forwardProxy }) => forwardProxy !== null && forwardProxy.basic !== null),
    namesCountries: config.server.geo.countryDb !== "",
    names: inputs.requestIds,
    threshold: inputs.threshold,
    addresses: inputs.addresses,
    namesTraces: hasTraces(config),
    namesListeners: config.server.isListed,
  };
  const lines = policies.of("accessLog").map((settings) => {
    const isApart = hasOwnOutputs(settings);
    const batch = isApart ? inputs.accessLines.of(outputsKey(settings.outputs)) : inputs.log;
    return linePolicy(settings, batch, isApart, ports);
  });
  return lines.all.some((policy) => policy !== null) ? new AccessLog(lines, ports) : null;
}

function responseCache(
  config: RuntimeConfig,
  routes: readonly Route[],
  inputs: WayPorts,
  hooks: Phase | null,
): ResponseCache | null {
  const { services, cacheStore, counters, requestIds } = inputs;
  if (cacheStore === null || !config.server.cache.enabled) return null;
  const dividesByTls = demandOf(config.server).clientAuth !== "none";
  return new ResponseCache(cacheStore, cachePolicies(config, routes), dividesByTls, {
    times: { clock: services.clock, ages: inputs.client.sharedClock },
    time: {
      now: () => services.turn.nowMs,
      inTurn: (work) => services.inTurn(work),
      onException: (error) => services.upstream.onException(error),
    },
    idle: IDLE_PORTS,
    counter: counters,
    purgers: new NetworkSet(config.server.cache.purgeFrom),
    readNow: readyReads(cacheStore),
    purgeDisk: (purge, done) =>
      inputs.control.ask("cache-purge", JSON.stringify(purge), (status, _, body) =>
        done(status === 200 ? Number(body) : 0),
      ),
    onPurged: (from, order, purged) => inputs.onPurged({ by: "", from }, order, purged),
    onInvalidated: config.cluster.enabled ? inputs.onInvalidated : null,
    showsKeys: config.server.cache.statusKey,
    nameRequest: (ex) => requestIds.assign(ex),
    fetchPhases: hooks === null ? [] : [hooks],
    endTaps: [new ForwardEnd()],
  });
}

/** Reads of the cache's files that need not wait. What calls the system library is loaded if there are such files. */
function readyReads({ disk }: CacheStore): DiskReadPorts["readNow"] {
  if (disk === null) return () => null;
  const { ReadyReads } = require("../net/system-file.ts") as typeof import("../net/system-file.ts");
  const reads = new ReadyReads(ENTRY_PIECE_BYTES);
  return (fd, offset, length) => reads.at(fd, offset, length);
}

function leakPorts({ reports: listener, services }: RuntimePorts): ConstructorParameters<typeof LeakGuards>[1] {
  const { clock, wheel, turn } = services;
  return { listener, clock, wheel, turn, idle: IDLE_PORTS };
}

function compressionPorts({ services, counters }: RuntimePorts): ConstructorParameters<typeof Compression>[1] {
  const { wheel, turn } = services;
  return {
    ...{ wheel, turn, counters, idle: IDLE_PORTS },
    inTurn: (work) => services.inTurn(work),
    onException: (error) => services.upstream.onException(error),
  };
}

/** Routes as compression reads them, by their numbers. The transcoded ones come right before those of routes.yaml. */
function compressedRoutes(config: RuntimeConfig, routes: readonly Route[]): (RouteCompression | "transcoded" | null)[] {
  const firstTranscoded = routes.length - config.routes.length - transcodedRoutes(config).length;
  return settingsByIndex(config, routes).map((own, index) => own ?? (index >= firstTranscoded ? "transcoded" : null));
}

/** What speaks gRPC is loaded where a configuration has routes for it; see resolveTranscoder. */
function transcoding(config: RuntimeConfig, inputs: RuntimePorts, pools: OriginPools): RouteHandlers["transcoded"] {
  if (transcodedRoutes(config).length === 0) return () => fail("no transcoded route");
  const { transcodeHandlers } = require("./transcoded-routes.ts") as typeof import("./transcoded-routes.ts");
  const { wheel, turn, upstream } = inputs.services;
  const { budget: bodies, requestIds, tally } = inputs;
  const defer = (resume: () => void) => setImmediate(() => inputs.services.inTurn(resume));
  const large = largeMessages((work) => inputs.services.inTurn(work));
  pools.closeWith(large);
  const services = { wheel, turn, bodies, requestIds, tally, defer, large };
  return transcodeHandlers(config, pools, upstream, services, inputs.nodes);
}

function fail(message: string): never {
  throw new Error(message);
}

function endpointsOf(
  config: RuntimeConfig,
  inputs: RuntimePorts,
  probed: Pick<ProbePorts, "isProbed" | "pipeline">,
  purge: Purge | null,
): readonly BuiltInEndpoint[] {
  const status = new StatusHandler(inputs.client.sharedClock);
  const guard = new AccessGuard(config.internalApi);
  const probes = { idle: IDLE_PORTS, maxResponseBytes: config.internalApi.maxProxyTestResponseBytes, ...probed };
  const dashboard = {
    page: new DashboardHandler(guard),
    stream: new StreamHandler(guard, (response) => inputs.control.ask("watch", "", response), inputs.watchers),
  };
  const { health, control, onPurged } = inputs;
  return builtInEndpoints({ health, status, guard, control, probes, purge, onPurged, dashboard });
}

/** What the handlers of routes are made with. */
function routeSite(
  config: RuntimeConfig,
  inputs: RuntimePorts,
  pools: OriginPools,
  routeAt: FilePorts["routeAt"],
): RouteTypePorts {
  const { requestIds, budget: bodies, nodes, services, cookieKey } = inputs;
  const { clock, wheel, turn } = services;
  const defer = (resume: () => void) => setImmediate(() => services.inTurn(resume));
  return {
    config,
    files: { cache: new FileCache(), clock, defer, ...(routeAt === undefined ? {} : { routeAt }) },
    forward: { requestIds, wheel, turn, bodies },
    mirrors: {
      idle: IDLE_PORTS,
      listener: inputs.reports,
      wheel,
      turn,
      places: { taken: 0 },
      poolOf: (target, route) => pools.poolOf(target, route, true),
      drainOf: (originKey) => nodes.drainOf(originKey),
      random: Math.random,
      onException: (error) => services.upstream.onException(error),
    },
    ai: modelPorts(inputs.under.ai, inputs.client),
    functions: inputs.functions,
    redirects: redirectsOf(inputs.client.lists),
    cookieKey,
    poolOf: (target, route) => pools.poolOf(target, route),
    nodesOf: (route) => nodes.nodesOf(route),
    slotsOf: slotsOf(inputs.under),
    canaryOf: (route) => {
      const init = canaryOf(route);
      return init === null ? null : inputs.under.canaries.of(init.key);
    },
  };
}

/** Gives the slots of targets. */
function slotsOf({ concurrency }: WayPorts["under"]): RouteTypePorts["slotsOf"] {
  return (route) => {
    const init = targetGate(route);
    return init === null ? null : concurrency.of(init);
  };
}

/** Gives the redirects of lists: one object a file, whatever the number of its routes. */
export function redirectsOf(lists: ListTables): RouteTypePorts["redirects"] {
  const known = new Map<string, RedirectList>();
  return (file) => {
    const list = known.get(file) ?? new RedirectList(lists.cellOf({ kind: "redirects", file }));
    known.set(file, list);
    return list;
  };
}

function connectionSettings(config: RuntimeConfig): ConnectionSettings {
  const { server } = config;
  return {
    headerTimeoutMs: server.headerTimeoutMs,
    readTimeoutMs: server.readTimeoutMs,
    minBodyRate: server.minBodyRate,
    writeTimeoutMs: server.writeTimeoutMs,
    idleTimeoutMs: server.idleTimeoutMs,
    halfCloseGraceMs: server.halfCloseGraceMs,
    maxHeadBytes: server.maxHeaderBytes,
    maxFields: server.maxHeaderFields,
    logsAddresses: server.accessLog.enabled,
    ...knocksOf(config),
    http2: server.http2.enabled ? http2Settings(server) : null,
    proxies: server.proxyProtocol.enabled ? new NetworkSet(server.proxyProtocol.trusted) : null,
  };
}

/** What a listener that speaks HTTP/2 says of itself. */
export function http2Settings({ http2, maxHeaderFields }: ServerConfig): Http2Settings {
  return {
    maxConcurrentStreams: http2.maxConcurrentStreams,
    maxListBytes: http2.maxHeaderListBytes,
    maxFields: maxHeaderFields,
    refusesUnknownPseudo: http2.unknownPseudoHeaders === "reject",
    allowsConnectProtocol: http2.extendedConnect,
  };
}

/** Built-in endpoints that a probe may ask for. docs/endpoints.md#proxy-test */
const PROBED_BUILT_INS: readonly string[] = ["/health", "/api/status"];

/** Whether a probe may be sent to this path: an active route takes it, or one of two built-in endpoints. */
function isProbed(router: Router, canonicalPath: string, head: RequestHead): boolean {
  if (PROBED_BUILT_INS.includes(canonicalPath)) return true;
  if (router.prefixId(canonicalPath, head) >= 0) return true;
  const exact = router.findExactCanonical(canonicalPath, head) ?? router.findPattern(canonicalPath, head);
  return exact !== null && !exact.kind.isBuiltIn;
}
