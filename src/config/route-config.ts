import type { AnyHeaderEdits } from "../routes/header-operations.ts";
import type { AnyRouteConfig } from "../routes/route-types.ts";
import type { ConfigOf } from "./row.ts";
import type { ChunkedMode, ConfigPosition, IpRules, RateLimitConfig } from "./runtime-config.ts";
import type { upstreamTls } from "./upstream-tls.ts";

/**
 * One entry of `routes.yaml`, with every inherited setting already worked out: what some type of route has made of it. Who wants to
 * know more than what all routes have asks the row of its type (src/routes/route-types.ts).
 */
export type RouteConfig = AnyRouteConfig;

/** What routes of all types have. */
export interface RouteBase extends RouteOptions {
  /** The word that stands at `type`. */
  readonly type: string;
  readonly position: ConfigPosition;
  /** `/node`, never ending in `/` except for the root `/` itself; "" for an exact route. */
  readonly prefix: string;
  /** The exact path, or "" for a prefix route. Exactly one of `prefix` and `path` is set. */
  readonly path: string;
  /** Upper-case; empty means every method. HEAD is served wherever GET is. */
  readonly methods: readonly string[];
  /** Lower-case names without port, `*.example.com` allowed; empty means every host. */
  readonly hosts: readonly string[];
}

/** What the keys of routes of every type say, with everything inherited (src/routes/route-options.ts). */
export interface RouteOptions {
  /** Effective: route, else `proxy.transport`, else server, else `normalize`. */
  readonly inboundChunkedMode: ChunkedMode;
  /** Effective: route, else server. 0 means unconstrained. */
  readonly maxBodyBytes: number;
  readonly cache: RouteCacheConfig;
  /** Effective: the route's own, else the server's (see `scope`). */
  readonly rateLimit: RateLimitConfig;
  /** The route's own address rules; the server's apply before. */
  readonly ipRules: IpRules;
  readonly headers: HeaderOperations;
}

/** The path that a route is for, exact or a prefix: also its label in metrics and logs. */
export function pathOf(route: Pick<RouteBase, "path" | "prefix">): string {
  return route.path === "" ? route.prefix : route.path;
}

/** `type: upstream`: requests go to other servers. docs/upstreams.md */
export interface UpstreamRouteConfig extends RouteBase {
  readonly type: "upstream";
  /** At least one; the weights of the non-backup ones do not add up to 0. */
  readonly targets: readonly TargetConfig[];
  readonly loadBalancing: LoadBalancingConfig;
  readonly healthCheck: HealthCheckConfig;
  readonly circuitBreaker: CircuitBreakerConfig;
  /** How often a request may be tried again after the first time; 0 never. */
  readonly retryAttempts: number;
  readonly timeouts: UpstreamTimeouts;
  /** Effective: route, else server. False takes what old origins send. docs/upstreams.md#old-origins */
  readonly strictOrigins: boolean;
  /** Forward the client's `Host`; when false, the target's own authority is sent. */
  readonly preserveHost: boolean;
  /** Remove `prefix` before forwarding; without effect on exact routes and on `/`. */
  readonly stripPrefix: boolean;
  readonly tls: UpstreamTlsConfig;
}

/** The routes that send requests to targets, of whatever type they are. */
export function upstreamRoutes(routes: readonly RouteConfig[]): readonly UpstreamRouteConfig[] {
  return routes.filter(hasTargets);
}

/** Whether a route sends requests to targets. */
export function hasTargets(route: RouteConfig): route is UpstreamRouteConfig {
  return "targets" in route;
}

/** `h2c` is cleartext HTTP/2, `h2` is HTTP/2 over TLS. */
export type OriginScheme = "http" | "https" | "h2c" | "h2";

/** A server that the gateway connects to. docs/upstreams.md#targets */
export interface OriginConfig {
  /** `scheme://host[:port]`, lower-case, the scheme's own port left out: the key of the connection pool. */
  readonly originKey: string;
  readonly scheme: OriginScheme;
  /** For connecting and for certificate checks: lower-case, an IPv6 address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** For a `Host` field: with brackets where needed, the port left out when it is the scheme's own. */
  readonly authority: string;
  /** Put before the forwarded path: "" or `/api`, never ending in `/`. */
  readonly basePath: string;
}

/** One server of an upstream route. */
export interface TargetConfig extends OriginConfig {
  /** `originKey` and `basePath`, for listings. */
  readonly url: string;
  /** 0 sends nothing to it. */
  readonly weight: number;
  /** Used only while every other target is unhealthy. */
  readonly backup: boolean;
}

export type LoadBalancingPolicy =
  | "round_robin"
  | "random"
  | "least_conn"
  | "p2c"
  | "ip_hash"
  | "uri_hash"
  | "header"
  | "cookie";

/** How one of several targets is chosen. docs/upstreams.md#balancing */
export interface LoadBalancingConfig {
  readonly policy: LoadBalancingPolicy;
  /** The header (lower-case) or cookie (as written) that the policy hashes; "" for the other policies. */
  readonly keyName: string;
}

/** Active probes. Off when the route has no `health_check`. */
export interface HealthCheckConfig {
  readonly enabled: boolean;
  readonly path: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly healthyThreshold: number;
  readonly unhealthyThreshold: number;
  /** A status from `expectStatusFrom` to `expectStatusTo`, both included, is healthy. */
  readonly expectStatusFrom: number;
  readonly expectStatusTo: number;
}

/** When a target that fails is left alone, for how long, and how it comes back. docs/operations.md#failing-targets */
export interface CircuitBreakerConfig {
  readonly enabled: boolean;
  /** Failures in a row that open the breaker. */
  readonly failureThreshold: number;
  /** At most: it ends when a connection or the health check succeeds. */
  readonly openDurationMs: number;
  /** Statuses of answers that count as failures. */
  readonly failureStatuses: readonly number[];
  /** Time over which a recovered target gets its share back; 0 gives it at once. */
  readonly slowStartMs: number;
}

/** How long an exchange with a target may take, in milliseconds. */
export interface UpstreamTimeouts {
  readonly connectMs: number;
  /** From the end of the request to the end of the answer's head. */
  readonly responseHeaderMs: number;
  /** Longest pause within an answer; 0 is no limit. Tunnels have a limit of their own. */
  readonly idleMs: number;
  /** The whole exchange; 0 is no limit. */
  readonly totalMs: number;
}

/** What is done to the fields of requests and responses: remove, set, add, in this order. docs/upstreams.md#header-edits */
export interface HeaderOperations {
  readonly request: HeaderEdits;
  readonly response: HeaderEdits;
}

/** What each operation does to the fields of one direction (src/routes/header-operations.ts). */
export type HeaderEdits = AnyHeaderEdits;

/** A field that is set or added. */
export interface HeaderValue {
  /** As written. */
  readonly name: string;
  readonly value: string;
}

/** How the gateway speaks TLS to `https` and `h2` targets. */
export type UpstreamTlsConfig = ConfigOf<typeof upstreamTls>;

/** A route's share in `server.cache`. */
export interface RouteCacheConfig {
  /** False when the server's cache is off. */
  readonly enabled: boolean;
  readonly defaultTtlMs: number;
}
