import type { WafConfig } from "../features/waf/settings.ts";
import type { AnyRouteConfig } from "./route-types.ts";
import type { UpstreamRouteConfig } from "./upstream/upstream-config.ts";

/**
 * One entry of `routes.yaml`, with every inherited setting already worked out: what some type of route has made of it. Who wants to
 * know more than what all routes have asks the row of its type (src/routes/route-types.ts).
 */
export type RouteConfig = AnyRouteConfig;

/** The file with the paths of a route that are in a list; "" for a route of another place. docs/answers.md#lists */
export function redirectListOf(route: RouteConfig): string {
  return "list" in route ? route.list : "";
}

/** Whether the local authority signs for the hosts of a route. docs/tls.md#a-local-authority */
export function hasInternalTls(route: RouteConfig): boolean {
  return ("ownTls" in route && route.ownTls !== null) || (hasTargets(route) && route.tls.isInternal);
}

/** The routes that send requests to targets, of whatever type they are. */
export function upstreamRoutes(routes: readonly RouteConfig[]): readonly UpstreamRouteConfig[] {
  return routes.filter(hasTargets);
}

/** Whether a route sends requests to targets. */
export function hasTargets(route: RouteConfig): route is UpstreamRouteConfig {
  return "targets" in route;
}

/** The settings of the server's firewall. */
type ServerFirewall = { readonly server: { readonly waf: WafConfig } };

/** The firewall that holds for a route, or for what no route takes. */
export function wafOf({ server }: ServerFirewall, route: RouteConfig | null): WafConfig {
  const own = route?.waf ?? null;
  if (own === null) return server.waf;
  const { mode, level, profile, fields, anomalyThreshold, disabledRules, responses, exclusions, rules, json } = own;
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
    json: json ?? server.waf.json,
  };
}

/** The firewalls that judge some request. */
export function firewallsOf(config: ServerFirewall & { readonly routes: readonly RouteConfig[] }): WafConfig[] {
  return [config.server.waf, ...config.routes.map((route) => wafOf(config, route))].filter(({ enabled }) => enabled);
}
