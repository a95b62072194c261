import { originOf, parseAuthority, speaksHttp2 } from "../config/origin.ts";
import { Fault } from "../core/fault.ts";
import type { WriteEvent } from "../facts/events.ts";
import { targetChoice } from "../features/balance/target-choice.ts";
import { ForwardEnd, type ForwardHandlerPorts } from "../features/forward/forward-handler.ts";
import { inboundFunction } from "../features/functions/control/function-modules.ts";
import { BodyLimitPhase } from "../features/ingest/body-limit.ts";
import { BoundedBodyPhase } from "../features/ingest/bounded-body.ts";
import { buildRouter } from "../features/route/build-router.ts";
import { methodSet } from "../features/route/method-set.ts";
import { RequestMatcher } from "../features/route/request-matcher.ts";
import type { Router } from "../features/route/router.ts";
import { AuthorityChoice, type OriginSource } from "../features/sidecar/authority-choice.ts";
import { BodyWarningTap } from "../features/sidecar/body-warning-tap.ts";
import { EgressPhase } from "../features/sidecar/egress-phase.ts";
import { IngressAccess, spiffeId } from "../features/sidecar/ingress-access.ts";
import { IngressPhase } from "../features/sidecar/ingress-phase.ts";
import { hasCertificate, type SidecarConfig } from "../features/sidecar/settings.ts";
import type { AccessLog } from "../features/telemetry/access-log.ts";
import { PeerTap } from "../features/telemetry/peer-tap.ts";
import type { Tracer } from "../features/telemetry/tracer.ts";
import type { BodyBudget } from "../memory/body-budget.ts";
import { PeerRole } from "../memory/counter-table.ts";
import {
  DispatchPhase,
  type Handler,
  type Phase,
  Pipeline,
  type ResponseTap,
  type Route,
  type RouteInit,
  type Upstream,
} from "../message/exchange.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import type { RequestHead } from "../message/request-head.ts";
import { RouteKind } from "../message/route.ts";
import { isPlainPath } from "../proto/h1/request-rules.ts";
import { canonicalise } from "../proto/target/canonical-path.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { forwardHandler, targetsOf } from "../routes/upstream/forward-route.ts";
import {
  appRoutes,
  directRoute,
  EGRESS_LABEL,
  INGRESS_LABEL,
  sidecarChunkedMode,
  sidecarRoutes,
} from "../routes/upstream/sidecar-routes.ts";
import type { UpstreamRouteConfig } from "../routes/upstream/upstream-config.ts";
import { OwnListeners } from "./listeners.ts";
import type { OriginPools } from "./origin-pools.ts";
import { CHUNKED_MODES } from "./routing.ts";
import type { RuntimePorts } from "./runtime-inputs.ts";
import type { SidecarIdentity } from "./sidecar-identity.ts";

/** What the pipelines of a sidecar are made of. */
interface SidecarPorts {
  readonly inputs: RuntimePorts;
  readonly pools: OriginPools;
  readonly budget: BodyBudget;
  readonly accessLog: AccessLog | null;
  /** Null without `telemetry`. Callers are applications and sidecars, whose traces go on. */
  readonly tracer: Tracer | null;
}

/** What the two listeners of a sidecar do with requests. */
export interface SidecarPipelines {
  readonly ingress: Pipeline;
  readonly egress: Pipeline;
}

/**
 * The order of a request's way through a sidecar, made of the edge's own phases. Paths pass through unchanged, so neither
 * router nor guards nor firewall of the edge stand in it.
 *
 *   counters → trace → sidecarIngress | sidecarEgress → bodyLimit → boundedBody → traceFields → dispatch
 *   spans ← accessLog ← bodyWarning ← forwardEnd ← counters
 */
export function sidecarPipelines(config: RuntimeConfig, parts: SidecarPorts): SidecarPipelines | null {
  if (!config.sidecar.enabled) return null;
  const { inputs, pools, budget } = parts;
  const services: ForwardHandlerPorts = {
    requestIds: inputs.requestIds,
    wheel: inputs.services.wheel,
    turn: inputs.services.turn,
    bodies: budget,
  };
  const own = new OwnListeners(config);
  const { serverIds, trafficSplits } = config.sidecar;
  const handlerOf = (route: UpstreamRouteConfig, ids: readonly string[]): Handler => {
    const poolOf = (target: UpstreamRouteConfig["targets"][number]) => pools.poolWith(target, inputs.sidecar, own, ids);
    const targets = targetsOf(route, poolOf, { nodesOf: (owner) => inputs.nodes.nodesOf(owner), slotsOf: () => null });
    return forwardHandler(route, targetChoice(route.loadBalancing, targets, Math.random), services);
  };
  const apps = appRoutes(config);
  const [inbound = null, grpc = null] = apps.map((app, i) => {
    const application = handlerOf(app, []);
    const handler = i === 0 ? inboundHandler(config, inputs, application) : application;
    return soleRoute(config, INGRESS_LABEL, handler, streams(config, app));
  });
  const splits = sidecarRoutes(config).slice(apps.length);
  const authorities = new AuthorityChoice(
    new EgressOrigins(own, pools, inputs.sidecar, serverIds),
    inputs.tally,
    inputs.services.turn,
  );
  const direct = soleRoute(config, EGRESS_LABEL, forwardHandler(directRoute(config), authorities, services));
  const router = buildRouter(
    splits.map((split, i) => {
      const ids = trafficSplits[i]!.serverIds;
      return splitInit(config, split, handlerOf(split, ids.length > 0 ? ids : serverIds));
    }),
    // A split is its prefix: the host tells splits of one prefix apart. docs/sidecar.md#splits
    false,
  );
  const egress = new EgressPhase(
    { splitFor: (head) => splitFor(router, head) },
    direct,
    config.sidecar.outbound === "allow_any" ? authorities : null,
    inputs.reports,
  );
  const ingress =
    inbound === null ? egress : new IngressPhase({ plain: inbound, grpc }, accessOf(config.sidecar), inputs.reports);
  const { maxBodyBytes } = config.server;
  const clients = new PeerTap(inputs.reports, PeerRole.Client, ({ client }) => spiffeId(client.identity) || NO_PEER);
  const servers = new PeerTap(inputs.reports, PeerRole.Server, ({ attempt }) =>
    attempt.upstreamLabel === "" ? "" : attempt.serverId || NO_PEER,
  );
  return {
    ingress: pipelineOf(ingress, maxBodyBytes, parts, [clients]),
    egress: pipelineOf(egress, maxBodyBytes, parts, [servers]),
  };
}

/** What responds to what comes in: the application, or a function before it. docs/sidecar.md#a-function-before-the-application */
function inboundHandler(config: RuntimeConfig, inputs: RuntimePorts, application: Handler): Handler {
  const own = inboundFunction(config.sidecar);
  if (own === null || inputs.functions === null) return application;
  const functions = inputs.functions();
  functions.use(config.functions);
  const pipeline = new Pipeline([], [], [new ForwardEnd()], null, inputs.requestIds);
  return functions.handlerOf({ ...own, upstream: { handler: application, pipeline, idle: IDLE_PORTS } });
}

function accessOf({ allowedIds, authorization }: SidecarConfig): IngressAccess {
  const rules = authorization.map((rule) => ({ ...rule, methods: methodSet(rule.methods).allowed }));
  return new IngressAccess(allowedIds, rules);
}

/** The label of peers without an id. */
const NO_PEER = "none";

/** @param readingLimit bytes of the body of a GET or HEAD: the sidecar's own limit is for requests that change something */
function pipelineOf(
  route: Phase,
  readingLimit: number,
  parts: SidecarPorts,
  more: readonly ResponseTap[] = [],
): Pipeline {
  const { inputs, budget, accessLog, tracer } = parts;
  const warning = new BodyWarningTap({
    onWarning: (message, method, path, limit) => {
      inputs.events.event("sidecar_warning", { message, method, path, limit });
    },
  });
  const taps: ResponseTap[] = [inputs.counters, new ForwardEnd(), warning, ...more];
  if (accessLog !== null) taps.push(accessLog);
  if (tracer !== null) taps.push(tracer.tap);
  const limit = new BodyLimitPhase(readingLimit);
  const phases = [
    inputs.counters,
    ...(tracer === null ? [] : [tracer.phase]),
    route,
    limit,
    new BoundedBodyPhase(budget, inputs.reports),
    ...(tracer === null ? [] : [tracer.fieldsPhase]),
    new DispatchPhase(),
  ];
  const pipeline = new Pipeline(phases, [], taps, null, inputs.requestIds);
  pipeline.places = inputs.client.places;
  return pipeline;
}

/** The split with the longest prefix; if none has the method, which only CONNECT and TRACE lack, there is none. */
function splitFor(router: Router, head: RequestHead): Route | null {
  return isPlainPath(head)
    ? router.findPrefix(head)
    : router.findPrefixCanonical(canonicalise(head.path()).canonical, head);
}

/** A route that takes every request. */
export function soleRoute(config: RuntimeConfig, label: string, handler: Handler, streamsHttp2 = false): Route {
  return buildRouter([{ ...routeInit(config, label, "/", handler), streamsHttp2 }]).routes[0]!;
}

/** Whether bodies that come by HTTP/2 go on as they come: a server that speaks it may respond before their end. */
function streams({ sidecar }: RuntimeConfig, { targets }: UpstreamRouteConfig): boolean {
  return sidecar.buffer === null ? targets.every(({ scheme }) => speaksHttp2(scheme)) : !sidecar.buffer;
}

/** A split among the routes: prefix, host and `match` go before one another as they do at routes. docs/sidecar.md#splits */
function splitInit(config: RuntimeConfig, split: UpstreamRouteConfig, handler: Handler): RouteInit {
  const { prefix, hosts, match } = split;
  const init = { ...routeInit(config, prefix, prefix, handler), hosts, streamsHttp2: streams(config, split) };
  return match === null
    ? init
    : { ...init, match: new RequestMatcher(match, JSON.stringify([prefix, hosts, match]), 0) };
}

function routeInit(config: RuntimeConfig, label: string, path: string, handler: Handler): RouteInit {
  return {
    kind: RouteKind.Upstream,
    label,
    path,
    exact: false,
    methods: [],
    hosts: [],
    stripPrefix: false,
    chunkedMode: CHUNKED_MODES[sidecarChunkedMode(config)],
    buffersBodies: config.sidecar.buffer !== false,
    maxBodyBytes: config.sidecar.maxBodyBytes,
    bodyLimitKey: "sidecar.max_body_bytes",
    handler,
    dropsTrailers: config.server.requestTrailers === "drop",
  };
}

/** The servers that requests to the outbound listener name themselves: a pool an origin key, made when it is first named. */
class EgressOrigins implements OriginSource {
  private readonly own: OwnListeners;
  private readonly pools: OriginPools;
  private readonly identity: SidecarIdentity;
  private readonly serverIds: readonly string[];

  constructor(own: OwnListeners, pools: OriginPools, identity: SidecarIdentity, serverIds: readonly string[]) {
    this.serverIds = serverIds;
    this.own = own;
    this.pools = pools;
    this.identity = identity;
  }

  originOf(scheme: "http" | "https", authority: string): Upstream | Fault {
    const parsed = parseAuthority(authority);
    if (typeof parsed === "string") return Fault.BadHost;
    const port = parsed.port >= 0 ? parsed.port : scheme === "https" ? 443 : 80;
    if (this.own.isNamed(parsed.hostname, port)) return Fault.LoopDetected;
    return this.pools.poolWith(originOf(scheme, parsed.hostname, port, ""), this.identity, this.own, this.serverIds);
  }

  isOwn(authority: string): boolean {
    const parsed = parseAuthority(authority);
    return typeof parsed !== "string" && this.own.isNamed(parsed.hostname, parsed.port);
  }

  forget(upstream: Upstream): void {
    this.pools.drop(upstream);
  }
}

/**
 * Warns of what a sidecar's configuration leaves open, whenever a configuration is applied. docs/sidecar.md#tls-outbound
 */
export function warnOfSidecar(config: RuntimeConfig, event: WriteEvent): void {
  for (const message of sidecarWarnings(config)) event("sidecar_warning", { message });
}

function sidecarWarnings({ sidecar }: RuntimeConfig): readonly string[] {
  if (!sidecar.enabled) return [];
  const warnings: string[] = [];
  if (sidecar.insecureSkipVerify && sidecar.mode !== "ingress") {
    warnings.push("sidecar.insecure_skip_verify: certificate verification is disabled for outbound connections");
  }
  if (!hasCertificate(sidecar) && sidecar.mode !== "egress") {
    warnings.push("sidecar: no cert_file, so the inbound listener speaks cleartext");
  }
  return warnings;
}
