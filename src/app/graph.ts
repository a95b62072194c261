import type { TranscodedRouteConfig } from "../config/mesh-config.ts";
import { speaksHttp2 } from "../config/origin.ts";
import { pathOf, type RouteConfig, type StaticRouteConfig, type UpstreamRouteConfig } from "../config/route-config.ts";
import type { RuntimeConfig, ServerConfig } from "../config/runtime-config.ts";
import { FILE_RECHECK_MS, MANY_ROUTES } from "../core/limits.ts";
import type { ConnectionSettings, Http2Settings } from "../edge/edge-context.ts";
import type { ChallengeAnswers } from "../features/acme/http01-phase.ts";
import { AccessGuard } from "../features/admin/access-guard.ts";
import { type BuiltInEndpoint, builtInEndpoints } from "../features/admin/built-in-endpoints.ts";
import type { ControlPort } from "../features/admin/control-handler.ts";
import type { HealthHandler } from "../features/admin/health-handler.ts";
import type { ProbePorts } from "../features/admin/proxy-test-handler.ts";
import type { Purge, PurgeCall } from "../features/admin/purge-handler.ts";
import { StatusHandler } from "../features/admin/status-handler.ts";
import { ResponseCache } from "../features/cache/response-cache.ts";
import { FileCache } from "../features/files/file-cache.ts";
import { FileHandler } from "../features/files/file-handler.ts";
import { EditedHandler } from "../features/forward/edited-handler.ts";
import { ForwardEnd } from "../features/forward/forward-end.ts";
import { namesChanged, responseEdits } from "../features/forward/header-edits.ts";
import type { RequestIds } from "../features/forward/request-id.ts";
import { buildRouter } from "../features/route/build-router.ts";
import type { Router } from "../features/route/router.ts";
import { AccessLog } from "../features/telemetry/access-log.ts";
import type { CountersTap } from "../features/telemetry/counters-tap.ts";
import type { EventLog } from "../features/telemetry/events.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { TranscodeServices } from "../features/transcode/transcode-handler.ts";
import { CACHE_RESULT_NAMES } from "../message/cache-result.ts";
import { CHALLENGE_PREFIX } from "../message/challenge-path.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import type { Handler, Pipeline } from "../message/pipeline.ts";
import { type Route, type RouteInit, RouteKind } from "../message/route.ts";
import type { BodyBudget } from "../shared/body-budget.ts";
import type { CacheStore } from "../shared/cache-store.ts";
import { NetworkSet } from "../shared/cidr.ts";
import { cachePolicies } from "./cache-policies.ts";
import { CHUNKED_MODES } from "./chunked-modes.ts";
import { buildClientPolicy, type ClientPolicyInputs } from "./client-policy.ts";
import { LateHandler } from "./late-handler.ts";
import type { ConfiguredNodes } from "./node-set.ts";
import { OriginPools } from "./origin-pools.ts";
import { buildInternalPipeline, buildPipeline } from "./pipeline.ts";
import { isProbed } from "./probed-routes.ts";
import type { SidecarIdentity } from "./sidecar-identity.ts";
import { type SidecarPipelines, sidecarPipelines } from "./sidecar-pipelines.ts";
import { EGRESS_LABEL, INGRESS_LABEL, sidecarRoutes } from "./sidecar-routes.ts";
import type { TrafficReports } from "./traffic-reports.ts";
import { upstreamHandler } from "./upstream-route.ts";
import type { WorkerServices } from "./worker-services.ts";

/** What a graph is wired from, beside the configuration. */
export interface GraphInputs {
  readonly services: WorkerServices;
  readonly counters: CountersTap;
  /** Takes the access lines. */
  readonly log: LogBatch;
  readonly events: EventLog;
  readonly reports: TrafficReports;
  readonly control: ControlPort;
  readonly health: HealthHandler;
  readonly requestIds: RequestIds;
  readonly challenges: ChallengeAnswers;
  /** Counts the answers of upstreams that are no nodes. */
  readonly tally: TranscodeServices["tally"];
  /** The store of the response cache; null where it is off. */
  readonly cacheStore: CacheStore | null;
  /** What a sidecar shows to upstreams. */
  readonly sidecar: SidecarIdentity;
  readonly nodes: ConfiguredNodes;
  /** The worker's own; it outlives configurations. */
  readonly budget: BodyBudget;
  readonly client: ClientPolicyInputs;
  /** Endpoints beyond the built-in ones: those that only tests use. */
  readonly extraRoutes: readonly RouteInit[];
}

/** Everything that a configuration becomes in one worker. A reload builds a second one and swaps. */
export interface Graph {
  readonly config: RuntimeConfig;
  readonly router: Router;
  readonly pipeline: Pipeline;
  /** Of the listener of `internal_api.listen`. */
  readonly internalPipeline: Pipeline;
  readonly settings: ConnectionSettings;
  readonly pools: OriginPools;
  /** null where there is no sidecar. */
  readonly sidecar: SidecarPipelines | null;
}

/** Wires a configuration: this is the list of the gateway's features. */
export function buildGraph(config: RuntimeConfig, inputs: GraphInputs): Graph {
  const { server } = config;
  const pools = new OriginPools(config.proxy.transport, inputs.services.upstream);
  const files = new FileCache();
  const { budget } = inputs;
  const routes = config.routes.map((route) => routeInit(route, config, inputs, pools, files, budget));
  const transcoded = config.transcoder.routes.length > 0 ? transcodedInits(config, inputs, pools, budget) : [];
  const purge = inputs.cacheStore === null ? null : (call: PurgeCall): number => cache!.purge(call);
  const endpoints = builtIns(
    config,
    inputs,
    { isProbed: (path, head) => isProbed(router, path, head), pipeline: () => pipeline },
    purge,
  );
  const hasOwnListener = config.internalApi.listenPort >= 0;
  const inPublic = endpoints.filter(({ isInternal }) => !isInternal || !hasOwnListener).map(({ init }) => init);
  const router: Router = buildRouter([...inPublic, ...inputs.extraRoutes, ...transcoded, ...routes]);
  const cache = responseCache(config, router.routes, inputs);
  const accessLog = server.accessLog.enabled
    ? new AccessLog(inputs.log, server.accessLog.sample, {
        clock: inputs.services.clock,
        random: Math.random,
        protocolOf: ({ request: { major, minor } }) => (major === 1 ? `HTTP/1.${minor}` : `HTTP/${major}.0`),
        cacheOf: (ex) => CACHE_RESULT_NAMES[ex.cacheResult]!,
        names: inputs.requestIds,
      })
    : null;
  const client = buildClientPolicy(config, router.routes, inputs.client);
  const pipeline: Pipeline = buildPipeline(config, { router, inputs, accessLog, budget, client, cache });
  const internalPipeline = hasOwnListener
    ? buildInternalPipeline(config, buildRouter(endpoints.map(({ init }) => init)), {
        inputs,
        accessLog,
        budget,
        client,
      })
    : pipeline;
  const sidecar = sidecarPipelines(config, { inputs, pools, budget, accessLog });
  return { config, router, pipeline, internalPipeline, settings: connectionSettings(config), pools, sidecar };
}

function responseCache(config: RuntimeConfig, routes: readonly Route[], inputs: GraphInputs): ResponseCache | null {
  const { services, cacheStore, counters, requestIds } = inputs;
  if (cacheStore === null || !config.server.cache.enabled) return null;
  const { tls } = config.server;
  const dividesByTls = tls.enabled && tls.clientAuth !== "none";
  return new ResponseCache(cacheStore, cachePolicies(config, routes), dividesByTls, {
    times: { clock: services.clock, ages: inputs.client.sharedClock },
    time: {
      now: () => services.turn.nowMs,
      inTurn: (work) => services.inTurn(work),
      onException: (error) => services.upstream.onException(error),
    },
    idle: IDLE_PORTS,
    counter: counters,
    nameRequest: (ex) => requestIds.assign(ex),
    endTaps: [new ForwardEnd()],
  });
}

/** The labels that the counters know routes by. */
export function routeLabels(config: RuntimeConfig): readonly string[] {
  const sidecar = config.sidecar.enabled ? [INGRESS_LABEL, EGRESS_LABEL] : [];
  return [
    ...BUILT_IN_LABELS,
    ...config.routes.map(pathOf),
    ...transcoded(config).map((route) => route.httpPath),
    ...sidecar,
    ...sidecarRoutes(config).map(pathOf),
  ];
}

/** The labels that the counters know upstreams by. */
export function upstreamLabels(config: RuntimeConfig): readonly string[] {
  const targets = [...config.routes, ...sidecarRoutes(config)].flatMap((route) =>
    route.type === "upstream" ? route.targets : [],
  );
  return [...targets, ...transcoded(config).map((route) => route.upstream)].map((origin) => origin.originKey);
}

function transcoded({ transcoder }: RuntimeConfig): readonly TranscodedRouteConfig[] {
  return transcoder.enabled ? transcoder.routes : [];
}

/** What speaks gRPC is loaded where a configuration has routes for it; see resolveTranscoder. */
function transcodedInits(
  config: RuntimeConfig,
  inputs: GraphInputs,
  pools: OriginPools,
  bodies: BodyBudget,
): RouteInit[] {
  if (!config.transcoder.enabled) return [];
  const { transcodedRoutes } = require("./transcoded-routes.ts") as typeof import("./transcoded-routes.ts");
  const { wheel, turn, upstream } = inputs.services;
  const services: TranscodeServices = { wheel, turn, bodies, requestIds: inputs.requestIds, tally: inputs.tally };
  return transcodedRoutes(config, pools, upstream, services);
}

function builtIns(
  config: RuntimeConfig,
  inputs: GraphInputs,
  probed: Pick<ProbePorts, "isProbed" | "pipeline">,
  purge: Purge | null,
): BuiltIn[] {
  const status = new StatusHandler(inputs.client.sharedClock);
  const guard = new AccessGuard(config.internalApi);
  const probes = { idle: IDLE_PORTS, maxResponseBytes: config.internalApi.maxProxyTestResponseBytes, ...probed };
  return builtInEndpoints(inputs.health, status, guard, inputs.control, probes, purge).map((endpoint) => ({
    isInternal: endpoint.internal,
    init: builtInRoute(endpoint, config),
  }));
}

/** A built-in endpoint as a route. */
interface BuiltIn {
  readonly isInternal: boolean;
  readonly init: RouteInit;
}

function builtInRoute({ path, methods, handler }: BuiltInEndpoint, config: RuntimeConfig): RouteInit {
  return {
    kind: RouteKind.BuiltIn,
    label: path,
    path,
    exact: true,
    methods,
    hosts: [],
    stripPrefix: false,
    chunkedMode: CHUNKED_MODES[config.server.inboundChunkedMode],
    // Those that take a body have a limit of their own.
    maxBodyBytes: methods.includes("POST") ? 0 : config.server.maxBodyBytes,
    handler,
  };
}

function routeInit(
  route: RouteConfig,
  config: RuntimeConfig,
  inputs: GraphInputs,
  pools: OriginPools,
  files: FileCache,
  budget: BodyBudget,
): RouteInit {
  const isStatic = route.type === "static";
  const handler = isStatic
    ? fileHandler(route, inputs.services, files)
    : handlerNowOrLate(route, config, () =>
        upstreamHandler(route, config, pools, inputs.nodes, {
          requestIds: inputs.requestIds,
          wheel: inputs.services.wheel,
          turn: inputs.services.turn,
          bodies: budget,
        }),
      );
  return {
    kind: isStatic ? RouteKind.Static : RouteKind.Upstream,
    label: pathOf(route),
    path: pathOf(route),
    exact: route.path !== "",
    methods: isStatic ? ["GET"] : route.methods,
    hosts: route.hosts,
    stripPrefix: isStatic || route.stripPrefix,
    chunkedMode: CHUNKED_MODES[route.inboundChunkedMode],
    maxBodyBytes: route.maxBodyBytes,
    ...(route.maxBodyBytes === config.server.maxBodyBytes ? {} : { bodyLimitKey: "max_body_bytes" }),
    handler,
    streamsHttp2: !isStatic && route.targets.every(({ scheme }) => speaksHttp2(scheme)),
    ownFields: isStatic ? [] : namesChanged(route.headers.request),
    dropsTrailers: config.server.requestTrailers === "drop",
  };
}

/** Where there are thousands of routes, the objects of each wait for its first request; files are read at once. */
function handlerNowOrLate({ tls }: UpstreamRouteConfig, { routes }: RuntimeConfig, make: () => Handler): Handler {
  const readsFiles = tls.caFile !== "" || tls.clientCertificate.certFile !== "";
  return routes.length < MANY_ROUTES || readsFiles ? make() : new LateHandler(make);
}

function fileHandler(route: StaticRouteConfig, services: WorkerServices, cache: FileCache): Handler {
  const { clock } = services;
  const defer = (resume: () => void) => setImmediate(() => services.inTurn(resume));
  const handler = new FileHandler({ ...route, recheckMs: recheckMsOf(route) }, { cache, clock, defer });
  const edits = responseEdits(route.headers.response);
  return edits === null ? handler : new EditedHandler(handler, edits);
}

/** Where answers go into the response cache, none of them is older than the file: the disk is asked for each. */
function recheckMsOf({ cache }: StaticRouteConfig): number {
  return cache.enabled ? 0 : FILE_RECHECK_MS;
}

function connectionSettings({ server }: RuntimeConfig): ConnectionSettings {
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
    http2: http2Settings(server),
    proxies: server.proxyProtocol.enabled ? new NetworkSet(server.proxyProtocol.trusted) : null,
  };
}

function http2Settings({ http2, maxHeaderFields }: ServerConfig): Http2Settings | null {
  if (!http2.enabled) return null;
  return {
    maxConcurrentStreams: http2.maxConcurrentStreams,
    maxListBytes: http2.maxHeaderListBytes,
    maxFields: maxHeaderFields,
    refusesUnknownPseudo: http2.unknownPseudoHeaders === "reject",
    allowsConnectProtocol: http2.extendedConnect,
  };
}

/** The paths of the built-in endpoints, and the prefix of challenges: the labels of the gateway's own routes. */
export const BUILT_IN_LABELS: readonly string[] = [
  "/health",
  "/api/status",
  "/metrics",
  "/internal/api/status",
  "/internal/api/metrics",
  "/internal/api/routes",
  "/internal/api/security/incidents",
  "/internal/api/upstreams/health",
  "/internal/api/proxy-test",
  "/internal/api/cache/purge",
  CHALLENGE_PREFIX,
];
