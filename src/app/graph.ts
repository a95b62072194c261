import type { RouteConfig, StaticRouteConfig } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { ConnectionSettings } from "../edge/edge-context.ts";
import { AccessGuard } from "../features/admin/access-guard.ts";
import { builtInEndpoints } from "../features/admin/built-in-endpoints.ts";
import type { ControlPort } from "../features/admin/control-handler.ts";
import type { HealthHandler } from "../features/admin/health-handler.ts";
import { StatusHandler } from "../features/admin/status-handler.ts";
import { FileCache } from "../features/files/file-cache.ts";
import { FileHandler } from "../features/files/file-handler.ts";
import { EditedHandler } from "../features/forward/edited-handler.ts";
import { responseEdits } from "../features/forward/header-edits.ts";
import type { RequestIds } from "../features/forward/request-id.ts";
import { buildRouter } from "../features/route/build-router.ts";
import type { Router } from "../features/route/router.ts";
import { AccessLog } from "../features/telemetry/access-log.ts";
import type { CountersTap } from "../features/telemetry/counters-tap.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { IncidentListener } from "../features/waf/incident.ts";
import type { Handler, Pipeline } from "../message/pipeline.ts";
import type { RequestHead } from "../message/request-head.ts";
import { ChunkedMode, type RouteInit, RouteKind } from "../message/route.ts";
import { BodyBudget } from "../shared/body-budget.ts";
import { NetworkSet } from "../shared/cidr.ts";
import { buildClientPolicy, type ClientPolicyInputs } from "./client-policy.ts";
import type { NodeSet } from "./node-set.ts";
import { OriginPools } from "./origin-pools.ts";
import { buildPipeline } from "./pipeline.ts";
import { isProbed } from "./probed-routes.ts";
import { upstreamHandler } from "./upstream-route.ts";
import { IDLE_PORTS, type WorkerServices } from "./worker-services.ts";

/** What a graph is wired from, beside the configuration. */
export interface GraphInputs {
  readonly services: WorkerServices;
  readonly counters: CountersTap;
  readonly log: LogBatch;
  readonly incidents: IncidentListener;
  readonly control: ControlPort;
  readonly health: HealthHandler;
  readonly requestIds: RequestIds;
  readonly nodes: NodeSet;
  /** Shared by all workers; see BodyBudget. */
  readonly bodyBudget: SharedArrayBuffer;
  readonly workerIndex: number;
  readonly client: ClientPolicyInputs;
  readonly startedAtMs: number;
  /** Endpoints beyond the built-in ones: those that only tests use. */
  readonly extraRoutes: readonly RouteInit[];
}

/** Everything that a configuration becomes in one worker. A reload builds a second one and swaps. */
export interface Graph {
  readonly config: RuntimeConfig;
  readonly router: Router;
  readonly pipeline: Pipeline;
  readonly settings: ConnectionSettings;
  readonly pools: OriginPools;
}

/** Wires a configuration: this is the list of the gateway's features. */
export function buildGraph(config: RuntimeConfig, inputs: GraphInputs): Graph {
  const { server } = config;
  const pools = new OriginPools(config.proxy.transport, inputs.services.upstream);
  const files = new FileCache();
  const budget = new BodyBudget(inputs.bodyBudget, inputs.workerIndex, config.proxy.transport.maxBufferedBytes);
  const routes = config.routes.map((route) => routeInit(route, config, inputs, pools, files, budget));
  const probed = (path: string, head: RequestHead): boolean => isProbed(router, path, head);
  const router: Router = buildRouter([...builtIns(config, inputs, probed), ...inputs.extraRoutes, ...routes]);
  const accessLog = server.accessLog.enabled
    ? new AccessLog(inputs.log, server.accessLog.sample, {
        clock: inputs.services.clock,
        random: Math.random,
        protocolOf: (ex) => (ex.request.minor === 0 ? "HTTP/1.0" : "HTTP/1.1"),
        cacheOf: () => "",
      })
    : null;
  const client = buildClientPolicy(config, router.routes, inputs.client);
  const pipeline = buildPipeline(config, { router, inputs, accessLog, budget, client });
  return { config, router, pipeline, settings: connectionSettings(config), pools };
}

/** The labels that the counters know routes by. */
export function routeLabels(config: RuntimeConfig): readonly string[] {
  return [...BUILT_IN_LABELS, ...config.routes.map(labelOf)];
}

/** The labels that the counters know upstreams by. */
export function upstreamLabels(config: RuntimeConfig): readonly string[] {
  return config.routes.flatMap((route) => (route.type === "upstream" ? route.targets.map((t) => t.originKey) : []));
}

function builtIns(
  config: RuntimeConfig,
  inputs: GraphInputs,
  probed: (path: string, head: RequestHead) => boolean,
): RouteInit[] {
  const status = new StatusHandler(inputs.startedAtMs, inputs.services.clock);
  const guard = new AccessGuard(config.internalApi);
  const probes = { idle: IDLE_PORTS, maxResponseBytes: config.internalApi.maxProxyTestResponseBytes, isProbed: probed };
  return builtInEndpoints(inputs.health, status, guard, inputs.control, probes).map(({ path, methods, handler }) => ({
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
  }));
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
    : upstreamHandler(route, config, pools, inputs.nodes, {
        requestIds: inputs.requestIds,
        wheel: inputs.services.wheel,
        turn: inputs.services.turn,
        bodies: budget,
      });
  return {
    kind: isStatic ? RouteKind.Static : RouteKind.Upstream,
    label: labelOf(route),
    path: route.path === "" ? route.prefix : route.path,
    exact: route.path !== "",
    methods: isStatic ? ["GET"] : route.methods,
    hosts: route.hosts,
    stripPrefix: isStatic || route.stripPrefix,
    chunkedMode: CHUNKED_MODES[route.inboundChunkedMode],
    maxBodyBytes: route.maxBodyBytes,
    handler,
  };
}

function fileHandler(route: StaticRouteConfig, services: WorkerServices, cache: FileCache): Handler {
  const { clock } = services;
  const defer = (resume: () => void) => setImmediate(() => services.inTurn(resume));
  const handler = new FileHandler({ ...route, prefix: route.prefix }, { cache, clock, defer });
  const edits = responseEdits(route.headers.response);
  return edits === null ? handler : new EditedHandler(handler, edits);
}

function labelOf(route: RouteConfig): string {
  return route.path === "" ? route.prefix : route.path;
}

function connectionSettings({ server }: RuntimeConfig): ConnectionSettings {
  return {
    headerTimeoutMs: server.headerTimeoutMs,
    readTimeoutMs: server.readTimeoutMs,
    writeTimeoutMs: server.writeTimeoutMs,
    idleTimeoutMs: server.idleTimeoutMs,
    maxHeadBytes: server.maxHeaderBytes,
    proxies: server.proxyProtocol.enabled ? new NetworkSet(server.proxyProtocol.trusted) : null,
  };
}

const CHUNKED_MODES = {
  normalize: ChunkedMode.Normalize,
  passthrough: ChunkedMode.Passthrough,
  reject: ChunkedMode.Reject,
} as const;

const BUILT_IN_LABELS: readonly string[] = [
  "/health",
  "/api/status",
  "/metrics",
  "/internal/api/status",
  "/internal/api/metrics",
  "/internal/api/routes",
  "/internal/api/security/incidents",
  "/internal/api/upstreams/health",
  "/internal/api/proxy-test",
];
