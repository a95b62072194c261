import { NO_MATCH } from "../config/match-settings.ts";
import { layered } from "../config/row.ts";
import { latin1 } from "../core/bytes.ts";
import { Fault } from "../core/fault.ts";
import { isFixedPattern, patternShape } from "../core/path-pattern.ts";
import { BUILT_IN_PLACES, type BuiltInEndpoint } from "../features/admin/built-in-endpoints.ts";
import { type AuthConfig, fieldsReadBy, fieldsSetBy, ownPathsOf } from "../features/auth/settings.ts";
import { RobotsHandler } from "../features/bots/robots.ts";
import { limitsIn } from "../features/limit/settings.ts";
import { buildRouter } from "../features/route/build-router.ts";
import { PrefixGuard } from "../features/route/prefix-guard.ts";
import { RequestMatcher } from "../features/route/request-matcher.ts";
import { prefixRoutePath } from "../features/route/route-paths.ts";
import type { Router } from "../features/route/router.ts";
import { RouteExactPhase, RouteLookup, RoutePrefixPhase } from "../features/route/routing-phases.ts";
import type { TelemetryLabels } from "../features/telemetry/route-labels.ts";
import type { TranscodedRouteConfig } from "../features/transcode/transcoded-route.ts";
import type { WafConfig } from "../features/waf/settings.ts";
import type { CounterLabels } from "../memory/counter-table.ts";
import type { BodyRules } from "../message/body-rules.ts";
import { type Exchange, type Handler, type Route, type RouteInit, Verdict } from "../message/exchange.ts";
import type { RequestHead } from "../message/request-head.ts";
import { ChunkedMode, RouteKind, type RouteMatcher } from "../message/route.ts";
import { type RoutePolicies, routePolicies } from "../message/route-policies.ts";
import { type Expression, LateExpression } from "../proto/expression/expression.ts";
import { CHALLENGE_PREFIX } from "../proto/h1/request-rules.ts";
import { routedPath } from "../proto/target/routed-path.ts";
import { withCanaries } from "../routes/canary-routes.ts";
import { labelOf, pathOf } from "../routes/route-base.ts";
import { hasTargets, type RouteConfig, redirectListOf, upstreamRoutes, wafOf } from "../routes/route-config.ts";
import { routeTypeOf } from "../routes/route-types.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { EGRESS_LABEL, INGRESS_LABEL, sidecarRoutes } from "../routes/upstream/sidecar-routes.ts";
import type { NodeOwner } from "../routes/upstream/upstream-config.ts";

/** What answers on the routes of a configuration. */
export interface RouteHandlers {
  readonly endpoints: readonly BuiltInEndpoint[];
  readonly transcoded: (route: TranscodedRouteConfig) => Handler;
  readonly configured: (route: RouteConfig) => Handler;
  /** The redirects of a list's file; without it no list has any. */
  readonly listed?: (file: string) => { has(head: RequestHead): boolean };
  /** Endpoints beyond the built-in ones, for tests alone. */
  readonly extra: readonly RouteInit[];
}

/**
 * THE routes of a gateway's public listeners: built-in endpoints, then the paths of methods of `auth`, then transcoded routes, then those of routes.yaml. Of two with the
 * same path, host and method the earlier is found.
 */
export function publicRouter(config: RuntimeConfig, handlers: RouteHandlers): Router {
  const matchers = routeMatchers(config.routes);
  const { listed } = handlers;
  const guardedFields = identityFields(config).map(latin1);
  const endpoints = handlers.endpoints.filter(({ internal }) => !internal || !hasInternalListener(config));
  const all = [
    ...endpoints.map((endpoint) => builtInRoute(endpoint, config)),
    ...handlers.extra,
    ...(servesRobots(config) ? [builtInRoute(robotsEndpoint(config), config)] : []),
    ...authPaths(config).map((place) => authPathRoute(place, config)),
    ...transcodedRoutes(config)
      .toSorted(headFirst)
      .map((route) => ({
        ...transcodedRoute(route, config, handlers.transcoded(route)),
        guardedFields,
      })),
    ...config.routes.map((route, i) => {
      const init = { ...configuredRoute(route, config, handlers.configured(route)), guardedFields };
      const list = redirectListOf(route);
      if (list !== "") return { ...init, isListed: true, match: listMatcher(list, route, matchers[i]!, listed) };
      return matchers[i] === null ? init : { ...init, match: matchers[i]! };
    }),
  ];
  return buildRouter(all, isHostFirst(config));
}

/** Whether the host of a request counts before its path. docs/routing.md#which-route-wins */
export function isHostFirst({ server }: Pick<RuntimeConfig, "server">): boolean {
  return server.routeOrder !== "path_first";
}

/**
 * What each route asks of requests by its `match` and its `regex`, null without either. Routes of one path and host divide the clients among them:
 * the share of each begins at the end of the one before. docs/routing.md#shares-of-clients
 */
function routeMatchers(routes: readonly RouteConfig[]): (RouteMatcher | null)[] {
  const ends = new Map<string, number>();
  const expressions = new Map<string, Expression>();
  return routes.map((route) => {
    const { match, prefix, path, hosts, methods, regex, listeners } = route;
    if (match === null && regex === "" && listeners.length === 0) return null;
    const place = JSON.stringify([prefix, path, hosts, ...(route.isByRegex ? [regex] : []), ...listeners]);
    const from = ends.get(place) ?? 0;
    if (match !== null && match.share < 1) ends.set(place, from + match.share);
    const id = JSON.stringify([place, methods, match, ...(regex === "" ? [] : [regex])]);
    if (regex === "") return new RequestMatcher(match ?? NO_MATCH, id, from, null, listeners);
    // Tenants have many an expression in common: it is made once.
    const expression = expressions.get(regex) ?? new LateExpression(regex);
    expressions.set(regex, expression);
    return new RequestMatcher(match ?? NO_MATCH, id, from, expression, listeners);
  });
}

/** A route with a list takes the paths of the list, below the route's prefix, of requests that fit its `match`. */
function listMatcher(
  file: string,
  { prefix, hosts }: RouteConfig,
  match: RouteMatcher | null,
  listed: RouteHandlers["listed"],
): RouteMatcher {
  const list = listed?.(file);
  const above = prefixRoutePath(prefix);
  const id = Bun.hash.xxHash64(JSON.stringify([file, prefix, hosts]));
  return {
    id: match?.id ?? new Uint8Array(new BigUint64Array([id]).buffer),
    fits: (head, method) => list?.has(head) === true && isBelow(head, above) && match?.fits(head, method) !== false,
    groupsOf: () => null,
  };
}

function isBelow(head: RequestHead, prefix: string): boolean {
  if (prefix === "") return true;
  const path = routedPath(head, head.sender.canonicalPath);
  return path === prefix || path.startsWith(`${prefix}/`);
}

/** The routes of the listener of `internal_api.listen`: the built-in endpoints and nothing else. */
export function internalRouter(config: RuntimeConfig, endpoints: readonly BuiltInEndpoint[]): Router {
  return buildRouter(endpoints.map((endpoint) => builtInRoute(endpoint, config)));
}

/** The router of the public listeners, for questions about paths: nothing answers on its routes. */
export function pathRouter(config: RuntimeConfig): Router {
  const endpoints = BUILT_IN_PLACES.map((place) => ({ ...place, handler: NO_HANDLER }));
  const none = () => NO_HANDLER;
  return publicRouter(config, { endpoints, transcoded: none, configured: none, extra: [] });
}

/** The configuration of each route, by number; the gateway's own and transcoded ones, which come first, have none. */
export function settingsByIndex(config: RuntimeConfig, routes: readonly Route[]): (RouteConfig | null)[] {
  const own = routes.length - config.routes.length;
  return routes.map((_, index) => (index < own ? null : config.routes[index - own]!));
}

/** The firewall that judges a request, for questions without a running gateway. @param router see pathRouter */
export function firewallFor(config: RuntimeConfig, router: Router, ex: Exchange): WafConfig {
  const bodies = { maxBodyBytes: 0, rejectsChunked: false };
  const guard = new PrefixGuard(router.routes.map((route) => route.init));
  const exact = new RouteExactPhase({ router, bodies, guard, isPreflight: null });
  const route = new RouteLookup(router, exact, new RoutePrefixPhase(router, bodies)).routeOf(ex);
  return wafOf(config, route === null ? null : settingsByIndex(config, router.routes)[route.index]!);
}

/** A path that a method of `auth` has of its own. */
interface AuthPath {
  readonly path: string;
  readonly hosts: readonly string[];
  readonly auth: AuthConfig;
}

/** The paths that methods of `auth` have of their own, under the hosts of their routes: of two that are the same the first counts. */
function authPaths(config: RuntimeConfig): readonly AuthPath[] {
  const places = new Map<string, AuthPath>();
  const transcoded = transcodedRoutes(config).length > 0 ? [{ hosts: [], auth: config.server.auth }] : [];
  for (const { hosts, auth } of [...config.routes, ...transcoded]) {
    for (const path of ownPathsOf(auth)) {
      const key = JSON.stringify([path, hosts]);
      if (!places.has(key)) places.set(key, { path, hosts, auth });
    }
  }
  return [...places.values()];
}

/** The routes' requirements for clients, by number; null for endpoints that are open to every client. */
export function authByIndex(config: RuntimeConfig, routes: readonly Route[]): (AuthConfig | null)[] {
  const settings = settingsByIndex(config, routes);
  const paths = authPaths(config);
  const first = routes.length - config.routes.length - transcodedRoutes(config).length - paths.length;
  return routes.map((route, index) => {
    if (route.kind.isBuiltIn) return isInternal(route) ? config.internalApi.auth : null;
    return settings[index]?.auth ?? paths[index - first]?.auth ?? config.server.auth;
  });
}

/**
 * Names of the fields by which methods of `auth` tell origins who asks, in lower case: no client's own goes on. Credentials are no such
 * names: they are the client's to send. docs/authentication.md#fields-of-a-method
 */
export function identityFields({ server, routes }: RuntimeConfig): readonly string[] {
  const names = fieldsSetBy(new Set([server.auth, ...routes.map(({ auth }) => auth)]));
  return names.filter((name) => name !== "authorization" && name !== "cookie");
}

/** Names of the fields by which requests are chosen, counted, cached or let in, in lower case. docs/security.md#one-key */
export function fieldsGoneBy({ server, routes }: RuntimeConfig): readonly string[] {
  const names = routes.flatMap(({ cache, match }) => [
    ...cache.key.headers,
    ...(match?.header ?? []).map(([name]) => name),
  ]);
  for (const { rateLimit } of [server, ...routes]) names.push(...limitsIn(rateLimit).map(({ keyHeader }) => keyHeader));
  for (const route of routes) {
    if (hasTargets(route) && route.loadBalancing.policy === "header") names.push(route.loadBalancing.keyName);
  }
  names.push(...fieldsReadBy(new Set([server.auth, ...routes.map(({ auth }) => auth)])));
  return [...new Set(names.map((name) => name.toLowerCase()))].filter((name) => name !== "");
}

/** Whether the endpoint is for operators alone. */
export function isInternal({ kind, path }: Route): boolean {
  return kind.isBuiltIn && (path === "/metrics" || path.startsWith("/internal/"));
}

/** Whether `internal_api.listen` names a listener of its own, which takes these endpoints off the public ones. */
function hasInternalListener({ internalApi }: RuntimeConfig): boolean {
  return internalApi.listenPort >= 0;
}

/** Whether there is a way for the internal endpoints alone: that listener's, or the UNIX socket's. */
export function hasInternalWay(config: RuntimeConfig): boolean {
  return hasInternalListener(config) || config.internalApi.socket !== "";
}

/** The transcoded routes that are in force. */
export function transcodedRoutes({ transcoder }: RuntimeConfig): readonly TranscodedRouteConfig[] {
  return transcoder.enabled ? transcoder.routes : [];
}

/** The paths of the built-in endpoints, and the prefix of challenges: the labels of the gateway's own routes. */
const BUILT_IN_LABELS: readonly string[] = [...BUILT_IN_PLACES.map(({ path }) => path), CHALLENGE_PREFIX];

/** The label of requests to forward proxies. */
export const FORWARD_PROXY_LABEL = "forward-proxy";

/** The labels that the counters know routes by. */
export function routeLabels(config: RuntimeConfig): readonly string[] {
  const sidecar = config.sidecar.enabled ? [INGRESS_LABEL, EGRESS_LABEL] : [];
  return [
    ...BUILT_IN_LABELS,
    ...(servesRobots(config) ? [ROBOTS_PATH] : []),
    ...config.routes.map(pathOf),
    ...authPaths(config).map(({ path }) => path),
    ...transcodedRoutes(config).map((route) => route.httpPath),
    ...sidecar,
    ...(config.server.listeners.some((one) => one.forwardProxy !== null) ? [FORWARD_PROXY_LABEL] : []),
    ...sidecarRoutes(config).map(pathOf),
  ];
}

/** The labels that the counters know upstreams by. */
export function upstreamLabels(config: RuntimeConfig): readonly string[] {
  const owners: readonly NodeOwner[] = [
    ...withCanaries(upstreamRoutes(config.routes)),
    ...sidecarRoutes(config),
    ...config.streams,
  ];
  const targets = owners.flatMap((owner) => owner.targets);
  return [...targets, ...transcodedRoutes(config).map((route) => route.upstream)].map((origin) => origin.originKey);
}

/** Numbers the labels of a configuration. */
export function labelsOf(config: RuntimeConfig, labels: TelemetryLabels): CounterLabels {
  const streams = config.streams.map(({ path }) => path);
  const listeners = config.server.listeners.map(({ name }) => name);
  return labels.forConfiguration(routeLabels(config), upstreamLabels(config), streams, listeners);
}

/** The path of the rules for crawlers. RFC 9309 §2.3 */
const ROBOTS_PATH = "/robots.txt";

/** Whether the gateway serves robots.txt itself: if it is configured, and no route has just that path. docs/bots.md#robotstxt */
function servesRobots({ server: { bots }, routes }: RuntimeConfig): boolean {
  if (!bots.enabled || !bots.robots.enabled) return false;
  return !routes.some(
    ({ path, hosts, match, listeners }) =>
      path === ROBOTS_PATH && hosts.length === 0 && match === null && listeners.length === 0,
  );
}

function robotsEndpoint({ server }: RuntimeConfig): BuiltInEndpoint {
  const handler = new RobotsHandler(server.bots.robots);
  return { path: ROBOTS_PATH, methods: ["GET"], internal: false, handler };
}

function builtInRoute({ path, methods, handler }: BuiltInEndpoint, config: RuntimeConfig): RouteInit {
  const named = path.indexOf("{");
  return {
    kind: RouteKind.BuiltIn,
    label: path,
    path: named < 0 ? path : path.slice(0, named),
    exact: true,
    ...(named < 0 ? {} : { isAbove: true }),
    methods,
    hosts: [],
    stripPrefix: false,
    chunkedMode: CHUNKED_MODES[config.server.inboundChunkedMode],
    // Endpoints that take a body have a limit of their own.
    maxBodyBytes: methods.some((method) => method !== "GET") ? 0 : config.server.maxBodyBytes,
    handler,
  };
}

/** What its method lets in finds nothing there. */
function authPathRoute({ path, hosts }: AuthPath, config: RuntimeConfig): RouteInit {
  return {
    kind: RouteKind.Plain,
    label: path,
    path,
    exact: true,
    methods: [],
    hosts,
    stripPrefix: false,
    chunkedMode: CHUNKED_MODES[config.server.inboundChunkedMode],
    maxBodyBytes: config.server.maxBodyBytes,
    handler: NOTHING_THERE,
  };
}

/** GET brings HEAD along: a method that is there for HEAD comes before. */
function headFirst(one: TranscodedRouteConfig, other: TranscodedRouteConfig): number {
  return Number(other.httpMethod === "HEAD") - Number(one.httpMethod === "HEAD");
}

/** A handshake for a WebSocket is a GET: a path of a method that takes a stream has it, unless another route does. */
function methodsOf(route: TranscodedRouteConfig, config: RuntimeConfig): readonly string[] {
  const { httpMethod, pattern, takesStream } = route;
  if (!takesStream || httpMethod === "GET") return [httpMethod];
  const shape = patternShape(pattern);
  const rivals = transcodedRoutes(config).filter(({ pattern: other }) => patternShape(other) === shape);
  const first = rivals.find((one) => one.takesStream);
  return first !== route || rivals.some((one) => one.httpMethod === "GET") ? [httpMethod] : [httpMethod, "GET"];
}

function transcodedRoute(route: TranscodedRouteConfig, config: RuntimeConfig, handler: Handler): RouteInit {
  return {
    kind: route.takesBytes ? RouteKind.TranscodedBytes : RouteKind.Transcoded,
    label: route.httpPath,
    path: route.httpPath,
    exact: true,
    ...(isFixedPattern(route.pattern) ? {} : { pattern: route.pattern }),
    methods: methodsOf(route, config),
    hosts: [],
    stripPrefix: false,
    chunkedMode: CHUNKED_MODES[config.server.inboundChunkedMode],
    maxBodyBytes: config.transcoder.maxBodyBytes,
    bodyLimitKey: "transcoder.max_body_bytes",
    handler,
    dropsTrailers: config.server.requestTrailers === "drop",
  };
}

function configuredRoute(route: RouteConfig, { server }: RuntimeConfig, handler: Handler): RouteInit {
  return {
    label: labelOf(route),
    path: pathOf(route),
    exact: route.path !== "",
    ...(route.isByRegex ? { regex: route.regex } : {}),
    hosts: route.hosts,
    chunkedMode: CHUNKED_MODES[route.inboundChunkedMode],
    maxBodyBytes: route.maxBodyBytes,
    ...(route.maxBodyBytes === server.maxBodyBytes ? {} : { bodyLimitKey: "max_body_bytes" }),
    handler,
    dropsTrailers: server.requestTrailers === "drop",
    takesChallenges: route.acmeChallenge === "upstream",
    ...routeTypeOf(route).shape(route),
  };
}

const NOTHING_THERE: Handler = {
  name: "nothing",
  handle(ex) {
    ex.sink.abort(ex, Fault.NotFound);
    return Verdict.Done;
  },
};

const NO_HANDLER: Handler = { name: "none", handle: () => Verdict.Done };

/** The rules for bodies that no route takes. */
export function bodyRules({ server }: RuntimeConfig): BodyRules {
  return { maxBodyBytes: server.maxBodyBytes, rejectsChunked: server.inboundChunkedMode === "reject" };
}

/** Keys that a route may have over the server's. A list or a number of a route takes the place of the server's; of a section, its keys do. */
type PolicyKey = "cors" | "securityHeaders" | "allowedMethods" | "accessLog";

/** The policies of one configuration, by route. docs/guards.md#policies-at-a-route */
export class PolicyTables {
  private readonly config: RuntimeConfig;
  private readonly settings: readonly (RouteConfig | null)[];
  private readonly finder: RouteLookup;

  constructor(config: RuntimeConfig, router: Router) {
    const bodies = bodyRules(config);
    const guard = new PrefixGuard(router.routes.map((route) => route.init));
    const exact = new RouteExactPhase({ router, bodies, guard, isPreflight: null });
    this.config = config;
    this.settings = settingsByIndex(config, router.routes);
    this.finder = new RouteLookup(router, exact, new RoutePrefixPhase(router, bodies));
  }

  /** The settings of a key, by route. */
  of<K extends PolicyKey>(key: K): RoutePolicies<RuntimeConfig["server"][K]> {
    const server = this.config.server[key];
    const own = this.settings.map((route) => inForce(route?.[key] ?? null, server) as typeof server | null);
    return routePolicies(server, own, this.finder);
  }
}

/** Null if the route says nothing. */
function inForce(own: unknown, server: unknown): unknown {
  const isSection = typeof own === "object" && own !== null && !Array.isArray(own);
  return isSection ? layered(own, server as object) : own;
}

/** The words of `inbound_chunked_mode`. */
export const CHUNKED_MODES = {
  normalize: ChunkedMode.Normalize,
  passthrough: ChunkedMode.Passthrough,
  reject: ChunkedMode.Reject,
} as const;
