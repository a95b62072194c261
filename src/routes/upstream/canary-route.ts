import type { NodeOwner, UpstreamRouteConfig } from "./upstream-config.ts";

/** The route to the new version: the same but for its targets. Null without one. */
export function canaryRoute(route: UpstreamRouteConfig): (UpstreamRouteConfig & Pick<NodeOwner, "oldTargets">) | null {
  const { canary, targets } = route;
  return canary === null
    ? null
    : { ...route, targets: canary.targets, oldTargets: targets, targetMap: null, mirrors: [], canary: null };
}
