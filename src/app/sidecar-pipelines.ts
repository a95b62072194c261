import type { UpstreamRouteConfig } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { targetChoice } from "../features/balance/balancer.ts";
import { ForwardEnd, type ForwardServices } from "../features/forward/forward-handler.ts";
import { BodyLimitPhase } from "../features/ingest/body-limit.ts";
import { BoundedBodyPhase } from "../features/ingest/bounded-body.ts";
import { buildRouter } from "../features/route/build-router.ts";
import type { Router } from "../features/route/router.ts";
import { AuthorityChoice } from "../features/sidecar/authority-choice.ts";
import { BodyWarningTap } from "../features/sidecar/body-warning-tap.ts";
import { EgressPhase } from "../features/sidecar/egress-phase.ts";
import { IngressPhase } from "../features/sidecar/ingress-phase.ts";
import type { AccessLog } from "../features/telemetry/access-log.ts";
import { DispatchPhase, type Handler, type Phase, Pipeline, type ReplyTap } from "../message/exchange.ts";
import type { RequestHead } from "../message/request-head.ts";
import { ChunkedMode, type Route, type RouteInit, RouteKind } from "../message/route.ts";
import { isPlainPath } from "../proto/h1/request-rules.ts";
import { canonicalise } from "../proto/target/canonical-path.ts";
import { forwardHandler, targetsOf } from "../routes/upstream/forward-route.ts";
import type { BodyBudget } from "../shared/body-budget.ts";
import { EgressOrigins } from "./egress-origins.ts";
import type { GraphInputs } from "./graph.ts";
import type { OriginPools } from "./origin-pools.ts";
import { OwnListeners } from "./own-listeners.ts";
import { appRoute, directRoute, EGRESS_LABEL, INGRESS_LABEL, sidecarRoutes } from "./sidecar-routes.ts";

/** What the pipelines of a sidecar are made of. */
export interface SidecarParts {
  readonly inputs: GraphInputs;
  readonly pools: OriginPools;
  readonly budget: BodyBudget;
  readonly accessLog: AccessLog | null;
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
 *   counters → sidecarIngress | sidecarEgress → bodyLimit → boundedBody → dispatch
 *   accessLog ← bodyWarning ← forwardEnd ← counters
 */
export function sidecarPipelines(config: RuntimeConfig, parts: SidecarParts): SidecarPipelines | null {
  if (!config.sidecar.enabled) return null;
  const { inputs, pools, budget } = parts;
  const services: ForwardServices = {
    requestIds: inputs.requestIds,
    wheel: inputs.services.wheel,
    turn: inputs.services.turn,
    bodies: budget,
  };
  const own = new OwnListeners(config);
  const handlerOf = (route: UpstreamRouteConfig): Handler => {
    const poolOf = (target: UpstreamRouteConfig["targets"][number]) => pools.poolWith(target, inputs.sidecar, own);
    const targets = targetsOf(route, poolOf, inputs.nodes);
    return forwardHandler(route, targetChoice(route.loadBalancing, targets, Math.random), services);
  };
  const app = appRoute(config);
  const hasApp = config.sidecar.mode !== "egress";
  const inbound = hasApp ? soleRoute(config, INGRESS_LABEL, handlerOf(app)) : null;
  const splits = sidecarRoutes(config).slice(hasApp ? 1 : 0);
  const authorities = new AuthorityChoice(
    new EgressOrigins(own, pools, inputs.sidecar),
    inputs.tally,
    inputs.services.turn,
  );
  const direct = soleRoute(config, EGRESS_LABEL, forwardHandler(directRoute(config), authorities, services));
  const router = buildRouter(splits.map((split) => routeInit(config, split.prefix, split.prefix, handlerOf(split))));
  const egress = new EgressPhase({ splitFor: (head) => splitFor(router, head) }, direct, authorities);
  const ingress = inbound === null ? egress : new IngressPhase(inbound, config.sidecar.allowedIds);
  const { maxBodyBytes } = config.server;
  return { ingress: pipelineOf(ingress, maxBodyBytes, parts), egress: pipelineOf(egress, maxBodyBytes, parts) };
}

/** @param readingLimit bytes of the body of a GET or HEAD: the sidecar's own limit is for requests that change something */
function pipelineOf(route: Phase, readingLimit: number, { inputs, budget, accessLog }: SidecarParts): Pipeline {
  const warning = new BodyWarningTap({
    onWarning: (message, method, path, limit) => {
      inputs.events.event("sidecar_warning", { message, method, path, limit });
    },
  });
  const taps: ReplyTap[] = [inputs.counters, new ForwardEnd(), warning];
  if (accessLog !== null) taps.push(accessLog);
  const limit = new BodyLimitPhase(readingLimit);
  const phases = [inputs.counters, route, limit, new BoundedBodyPhase(budget, inputs.reports), new DispatchPhase()];
  return new Pipeline(phases, [], taps);
}

/** The split with the longest prefix; where none has the method, which only CONNECT and TRACE lack, there is none. */
function splitFor(router: Router, head: RequestHead): Route | null {
  return isPlainPath(head)
    ? router.findPrefix(head)
    : router.findPrefixCanonical(canonicalise(head.path()).canonical, head);
}

function soleRoute(config: RuntimeConfig, label: string, handler: Handler): Route {
  return buildRouter([routeInit(config, label, "/", handler)]).routes[0]!;
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
    chunkedMode: ChunkedMode.Normalize,
    maxBodyBytes: config.sidecar.maxBodyBytes,
    bodyLimitKey: "sidecar.max_body_bytes",
    handler,
    dropsTrailers: config.server.requestTrailers === "drop",
  };
}
