import type { AnyHeaderEdits } from "../routes/header-operations.ts";
import type { AnyRouteConfig, AnyRouteOptions, UpstreamKeys } from "../routes/route-types.ts";
import type { Cidr, ConfigPosition, RuntimeConfig, WafConfig } from "./runtime-config.ts";

/**
 * One entry of `routes.yaml`, with every inherited setting already worked out: what some type of route has made of it. Who wants to
 * know more than what all routes have asks the row of its type (src/routes/route-types.ts).
 */
export type RouteConfig = AnyRouteConfig;

/** What routes of all types have. */
export interface RouteBase extends RouteOptions {
  /** The word at `type`. */
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

/** What a route asks of a request beside path, host and method; all of it must hold. docs/routing.md#match */
export interface MatchConfig {
  readonly header: readonly FieldTest[];
  readonly query: readonly FieldTest[];
  readonly cookie: readonly FieldTest[];
  readonly clientIp: readonly Cidr[];
  /** Capital letters. */
  readonly country: readonly string[];
  /** The part of the clients, above 0; 1 is all. */
  readonly share: number;
  /** The cookie that tells clients apart, "" for their address. */
  readonly stickyBy: string;
}

/** What a route without `match` asks: nothing. */
export const NO_MATCH: MatchConfig = {
  header: [],
  query: [],
  cookie: [],
  clientIp: [],
  country: [],
  share: 1,
  stickyBy: "",
};

/** A name with what is asked of its values: whether there is one, a value, or an expression between slashes. */
export type FieldTest = readonly [name: string, wanted: string | boolean];

/** The path in the place of the client's: `path`, or `to` where `regex` fits; "" for what is not said. docs/routing.md#rewrite */
export interface RewriteConfig {
  readonly path: string;
  readonly regex: string;
  readonly to: string;
}

/** What the keys of routes of every type say, with everything inherited (src/routes/route-options.ts). */
export type RouteOptions = AnyRouteOptions;

/** The path that a route is for, exact or a prefix: also its label in metrics and logs. */
export function pathOf(route: Pick<RouteBase, "path" | "prefix">): string {
  return route.path === "" ? route.prefix : route.path;
}

/** The expression that a route's paths fit, of those that have one; else "". docs/answers.md#by-an-expression */
export function regexOf(route: RouteConfig): string {
  return "regex" in route ? route.regex : "";
}

/** `type: upstream`: requests go to other servers. docs/upstreams.md */
export interface UpstreamRouteConfig extends Omit<RouteBase, "methods">, UpstreamKeys {
  readonly type: "upstream";
}

/** What has targets, as the table of targets sees it: an upstream route, or a stream. */
export type NodeOwner = Pick<
  UpstreamRouteConfig,
  "path" | "prefix" | "targets" | "circuitBreaker" | "healthCheck" | "strictOrigins"
> & {
  readonly timeouts: Pick<UpstreamTimeouts, "connectMs">;
  /** Null where no target speaks TLS with the gateway. */
  readonly tls: UpstreamTlsConfig | null;
  /** Null, or left out, where no target runs scripts. */
  readonly fastcgi?: UpstreamKeys["fastcgi"];
};

/** The routes that send requests to targets, of whatever type they are. */
export function upstreamRoutes(routes: readonly RouteConfig[]): readonly UpstreamRouteConfig[] {
  return routes.filter(hasTargets);
}

/** Whether a route sends requests to targets. */
export function hasTargets(route: RouteConfig): route is UpstreamRouteConfig {
  return "targets" in route;
}

/** The firewall that holds for a route, or for what no route takes. */
export function wafOf({ server }: Pick<RuntimeConfig, "server">, route: RouteConfig | null): WafConfig {
  const own = route?.waf ?? null;
  if (own === null) return server.waf;
  const { mode, level, profile, fields, anomalyThreshold, disabledRules, responses, exclusions, rules } = own;
  return {
    ...server.waf,
    enabled: mode !== "off",
    mode: mode === null || mode === "off" ? server.waf.mode : mode,
    level: level ?? server.waf.level,
    profile: profile ?? server.waf.profile,
    fields: fields ?? server.waf.fields,
    anomalyThreshold: anomalyThreshold ?? server.waf.anomalyThreshold,
    disabledRules: disabledRules ?? server.waf.disabledRules,
    responses: responses ?? server.waf.responses,
    exclusions: exclusions ?? server.waf.exclusions,
    rules: rules ?? server.waf.rules,
  };
}

/** The firewalls that judge some request. */
export function firewallsOf(config: RuntimeConfig): WafConfig[] {
  return [config.server.waf, ...config.routes.map((route) => wafOf(config, route))].filter(({ enabled }) => enabled);
}

/** `h2c` is cleartext HTTP/2, `h2` is HTTP/2 over TLS, `fastcgi` runs scripts; `tcp` and `udp` are whatever the client speaks. */
export type OriginScheme = "http" | "https" | "h2c" | "h2" | "fastcgi" | "tcp" | "udp";

/** A server that the gateway connects to. docs/upstreams.md#targets */
export interface OriginConfig {
  /**
   * `scheme://host[:port]`, lower-case, the scheme's own port left out, `unix:/path` or `fastcgi://unix:/path`: the key of the
   * connection pool.
   */
  readonly originKey: string;
  readonly scheme: OriginScheme;
  /** For connecting and for certificate checks: lower-case, an IPv6 address without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** For a `Host` field: with brackets where needed, the port left out when it is the scheme's own. */
  readonly authority: string;
  /** Put before the forwarded path: "" or `/api`, never ending in `/`. */
  readonly basePath: string;
  /** The absolute path of the UNIX socket where it listens; "" where it is reached by TCP. */
  readonly socketPath: string;
}

/** One server of an upstream route. */
export interface TargetConfig extends OriginConfig {
  /** As `originUrl` writes it, for listings. */
  readonly url: string;
  /** 0 sends nothing to it. */
  readonly weight: number;
  /** Used only while every other target is unhealthy. */
  readonly backup: boolean;
}

export type LoadBalancingConfig = UpstreamKeys["loadBalancing"];
/** The cookie of the policy `sticky`. */
export type StickyCookieConfig = NonNullable<LoadBalancingConfig["cookie"]>;
/** Where copies of a route's requests go. docs/upstreams.md#mirroring */
export type MirrorConfig = NonNullable<UpstreamKeys["mirror"]>;
export type LoadBalancingPolicy = LoadBalancingConfig["policy"];
export type HealthCheckConfig = UpstreamKeys["healthCheck"];
export type CircuitBreakerConfig = UpstreamKeys["circuitBreaker"];
export type UpstreamTimeouts = UpstreamKeys["timeouts"];
/** How scripts are found and run; null where no target runs any. docs/php.md */
export type FastCgiConfig = UpstreamKeys["fastcgi"];
/** How the gateway speaks TLS to `https` and `h2` targets. */
export type UpstreamTlsConfig = UpstreamKeys["tls"];

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
