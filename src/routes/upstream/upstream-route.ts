import { circuitBreaker, routeRetries } from "../../config/attempt-settings.ts";
import { applicationScheme, speaksHttp2, type TargetConfig, takesVariables } from "../../config/origin.ts";
import { sign } from "../../features/agents/sign-settings.ts";
import { ai } from "../../features/ai/settings.ts";
import type { TargetInit } from "../../features/balance/balancer.ts";
import { MappedTarget } from "../../features/balance/mapped-target.ts";
import { targetChoice } from "../../features/balance/target-choice.ts";
import type { CanaryCell } from "../../features/canary/canary-cells.ts";
import { hedge } from "../../features/hedge/settings.ts";
import { MirroredUpstream } from "../../features/mirror/mirrored-exchange.ts";
import type { Handler, Upstream } from "../../message/exchange.ts";
import { ChunkedMode, RouteKind } from "../../message/route.ts";
import type { TargetChoice } from "../../message/target.ts";
import { warnOfSpool } from "../../settings/proxy-settings.ts";
import { namesChanged } from "../header-operations.ts";
import { rewrite, rewriting } from "../rewrite-keys.ts";
import type { RouteShape, RouteType, RouteTypePorts, TargetState, TargetStatus } from "../route-type.ts";
import { canaryRoute } from "./canary-route.ts";
import { forwardHandler, hedgingHandler, mirroringHandler, targetsOf } from "./forward-route.ts";
import { healthCheck } from "./health-check-keys.ts";
import { LateHandler } from "./late-handler.ts";
import { rewriteCookies, rewriteLocation } from "./response-keys.ts";
import type { UpstreamRouteConfig } from "./upstream-config.ts";
import { canary, type FastCgiConfig, type MirrorConfig, retriesOf, timeouts, upstreamKeys } from "./upstream-keys.ts";

/** Routes from which on a configuration is large: their handlers are made late, and its leftovers are collected at once. */
export const MANY_ROUTES = 1000;

/** The row of `type: upstream`: requests go to other servers. docs/upstreams.md#upstreams */
export const UPSTREAM_ROUTE: RouteType<UpstreamRouteConfig> = {
  what: "another server",
  sentence: 'an upstream route sends requests to "target"',
  foreignWords: ["proxy", "reverse_proxy", "http", "grpc", "backend"],
  marks: ["target", "targets"],
  keys: upstreamKeys,
  check(route, { values, proxy, log, path }) {
    if (route.healthCheck.grpc && !route.targets.every(({ scheme }) => speaksHttp2(scheme)))
      log.fault([...path, "health_check", "grpc"], "needs targets of HTTP/2, with h2c:// or h2://");
    const socket = route.targets.find(({ socketPath }) => socketPath !== "");
    if (route.healthCheck.port !== 0 && socket !== undefined)
      log.fault([...path, "health_check", "port"], `a UNIX socket has no ports: remove it, or ${socket.url}`, true);
    if (route.inboundChunkedMode !== "normalize" || values.max_body_bytes === 0) return;
    warnOfSpool(values.max_body_bytes, proxy, [...path, "max_body_bytes"], log);
  },
  help: {
    doc: "upstream servers; WebSockets and other upgrades need no setting",
    prefix: { example: "/api", doc: 'removed: /api/users is sent as /users. Or "path:", exactly this path' },
    host: { example: ["api.example.com"] },
    unlisted: ["target", "mirrors", "hedge", "ai"],
    hasOptions: true,
  },
  explain,
  leadsTo: ({ targets: [first, ...more] }) => `${first!.url}${more.length === 0 ? "" : ` and ${more.length} more`}`,
  shape,
  build,
  rehearse: (route, look, site) => upstreamHandler(route, site, look),
};

function explain(route: UpstreamRouteConfig, statusOf: TargetStatus): object {
  const { loadBalancing } = route;
  return {
    targets: route.targets.map((target) => explainTarget(target, statusOf(target.originKey, route))),
    ...(route.canary === null ? {} : { canary: canary.write(route.canary) }),
    load_balancing: { policy: loadBalancing.policy, key: loadBalancing.keyName },
    mirror: explainMirror(route.mirrors[0]),
    ...(route.mirrors.length > 1 ? { mirrors: route.mirrors.map(explainMirror) } : {}),
    ...(route.hedge === null ? {} : { hedge: hedge.write(route.hedge) }),
    strip_prefix: route.stripPrefix,
    ...(route.rewrite === null ? {} : { rewrite: rewrite.write(route.rewrite) }),
    ...(route.rewriteLocation === null ? {} : { rewrite_location: rewriteLocation.write(route.rewriteLocation) }),
    ...(route.rewriteCookies === null ? {} : { rewrite_cookies: rewriteCookies.write(route.rewriteCookies) }),
    ...(route.ai === null ? {} : { ai: ai.write(route.ai) }),
    ...(route.sign === null ? {} : { sign: sign.write(route.sign) }),
    strict_origins: route.strictOrigins,
    preserve_host: route.preserveHost,
    ...(route.hostHeader === "" ? {} : { host_header: route.hostHeader }),
    ...(route.grpcWeb ? { grpc_web: true } : {}),
    retries: routeRetries.show(retriesOf(route)),
    timeouts: timeouts.show(route.timeouts),
    circuit_breaker: circuitBreaker.show(route.circuitBreaker),
    health_check: healthCheck.show(route.healthCheck),
  };
}

function explainMirror(mirror: MirrorConfig | undefined): object | null {
  return mirror === undefined ? null : { ...mirror, target: mirror.target.url };
}

/** A target as `/internal/api/routes` shows it. */
export function explainTarget(target: TargetConfig, state: TargetState): object {
  const { url, name = "", weight, backup } = target;
  return { url, ...(name === "" ? {} : { name }), weight, backup, ...state };
}

function shape(route: UpstreamRouteConfig): RouteShape {
  const runsScripts = route.targets.some(({ scheme }) => takesVariables(scheme));
  return {
    kind: runsScripts ? RouteKind.Scripts : RouteKind.Upstream,
    // FastCGI, uWSGI and SCGI have no body whose length is not known when it begins.
    ...(runsScripts && route.inboundChunkedMode === "passthrough" ? { chunkedMode: ChunkedMode.Normalize } : {}),
    methods: route.methods,
    stripPrefix: route.stripPrefix,
    streamsHttp2: route.targets.every(({ scheme }) => speaksHttp2(scheme)),
    ownFields: namesChanged(route.headers.request),
  };
}

/** If there are thousands of routes, the objects of each wait for its first request; files are read at once. */
function build(route: UpstreamRouteConfig, site: RouteTypePorts): Handler {
  const make = () => upstreamHandler(route, site);
  const readsFiles = route.tls.caFile !== "" || route.tls.clientCertificate.certFile !== "";
  return site.config.routes.length < MANY_ROUTES || readsFiles ? make() : new LateHandler(make);
}

/**
 * Without `proxy.enabled` no target is there.
 * @param look learns of the file that would be sent, if a request is explained; null if it is sent
 */
export function upstreamHandler(
  route: UpstreamRouteConfig,
  site: RouteTypePorts,
  look: ((file: string) => void) | null = null,
): Handler {
  const isEnabled = site.config.proxy.enabled;
  const { mirrors } = site;
  const isMirrored = isEnabled && route.mirrors.length > 0 && mirrors !== null;
  const poolOf = (target: TargetConfig): Upstream => {
    const pool = site.poolOf(target, route);
    return isMirrored ? new MirroredUpstream(pool) : pool;
  };
  const cell = isEnabled ? site.canaryOf(route) : null;
  const targets = isEnabled ? targetsOf(route, poolOf, site, cell?.tallyOf(false)) : [];
  const own =
    route.targetMap === null || !isEnabled
      ? targetChoice(route.loadBalancing, targets, Math.random, site.cookieKey)
      : new MappedTarget(route.targetMap, targets);
  if (route.ai !== null) return rewriting(modelHandler(route, targets, site), route, false);
  const choice = cell === null ? own : canaryChoice(route, own, cell, poolOf, site);
  const handler = forwardHandler(route, choice, site.forward);
  if (route.fastcgi !== null) return scriptHandler(route, route.fastcgi, handler, site, look);
  if (applicationScheme(route.targets[0]?.scheme ?? "http") !== null) return applicationHandler(route, handler);
  if (route.hedge !== null && isEnabled && mirrors !== null && targets.length > 1)
    return grpcWeb(rewriting(hedgingHandler(route, handler, choice, site.forward, mirrors), route, false), route, site);
  const whole = isMirrored ? mirroringHandler(route, handler, site.forward, mirrors) : handler;
  // Outside of the mirror, so that copies get the new path too.
  return grpcWeb(rewriting(whole, route, false), route, site);
}

/** Puts the targets of a new version beside those of the old one. What chooses is loaded if a route asks for it. */
function canaryChoice(
  route: UpstreamRouteConfig,
  old: TargetChoice,
  cell: CanaryCell,
  poolOf: (target: TargetConfig) => Upstream,
  site: RouteTypePorts,
): TargetChoice {
  const { CanaryChoice, CanaryPlaces } =
    require("../../features/canary/canary-choice.ts") as typeof import("../../features/canary/canary-choice.ts");
  const fresh = canaryRoute(route)!;
  const targets = targetsOf(fresh, poolOf, site, cell.tallyOf(true));
  const places = route.canary!.sticky ? new CanaryPlaces(site.cookieKey) : null;
  const choice = targetChoice(route.loadBalancing, targets, Math.random, site.cookieKey);
  return new CanaryChoice(old, choice, cell, places, Math.random);
}

/** What finds scripts is loaded where a route asks for it. */
function scriptHandler(
  route: UpstreamRouteConfig,
  fastcgi: NonNullable<FastCgiConfig>,
  scripts: Handler,
  site: RouteTypePorts,
  look: ((file: string) => void) | null,
): Handler {
  const { scriptHandler: make } = require("./script-route.ts") as typeof import("./script-route.ts");
  return make(route, fastcgi, scripts, site, look);
}

/** The handler of models is loaded if a route asks for it. */
function modelHandler(route: UpstreamRouteConfig, targets: readonly TargetInit[], site: RouteTypePorts): Handler {
  const { aiHandler } = require("./ai-route.ts") as typeof import("./ai-route.ts");
  return aiHandler(route, targets, site);
}

/** What splits paths for applications is loaded where a route asks for it. */
function applicationHandler(route: UpstreamRouteConfig, inner: Handler): Handler {
  const { ApplicationHandler } =
    require("../../features/files/application-handler.ts") as typeof import("../../features/files/application-handler.ts");
  const prefix = route.stripPrefix ? route.prefix : "";
  const { uwsgi, scgi, rewrite } = route;
  const env = uwsgi?.env ?? scgi?.env ?? [];
  const modifiers = [uwsgi?.modifier1 ?? 0, uwsgi?.modifier2 ?? 0] as const;
  return rewriting(new ApplicationHandler({ prefix, env, modifiers }, inner), { prefix, rewrite }, true);
}

/** What translates gRPC-Web is loaded where a route asks for it. */
function grpcWeb(inner: Handler, route: UpstreamRouteConfig, { forward }: RouteTypePorts): Handler {
  if (!route.grpcWeb) return inner;
  const { GrpcWebHandler } =
    require("../../features/transcode/grpc-web.ts") as typeof import("../../features/transcode/grpc-web.ts");
  return new GrpcWebHandler(inner, forward);
}
