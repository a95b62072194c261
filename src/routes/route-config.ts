import type { ConfigPosition } from "../config/config-fault.ts";
import type { OriginConfig } from "../config/origin.ts";
import type { WafConfig } from "../features/waf/settings.ts";
import type { AnyHeaderEdits } from "./header-operations.ts";
import type { AnyRouteConfig, AnyRouteOptions, UpstreamKeys } from "./route-types.ts";

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

/** The part of a configuration that says what the firewall of the server does. */
type ServerFirewall = { readonly server: { readonly waf: WafConfig } };

/** The firewall that holds for a route, or for what no route takes. */
export function wafOf({ server }: ServerFirewall, route: RouteConfig | null): WafConfig {
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
export function firewallsOf(config: ServerFirewall & { readonly routes: readonly RouteConfig[] }): WafConfig[] {
  return [config.server.waf, ...config.routes.map((route) => wafOf(config, route))].filter(({ enabled }) => enabled);
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
/** Where copies of a route's requests go. docs/upstreams.md#mirroring */
export type MirrorConfig = NonNullable<UpstreamKeys["mirror"]>;
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
