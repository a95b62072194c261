import type { UpstreamRouteConfig } from "./upstream-config.ts";

/** The route to the new version: the same but for its targets. Null without one. */
export function canaryRoute(route: UpstreamRouteConfig): UpstreamRouteConfig | null {
  const { canary } = route;
  return canary === null ? null : { ...route, targets: canary.targets, targetMap: null, mirrors: [], canary: null };
}
