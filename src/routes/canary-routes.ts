import type { JudgeRules } from "../features/canary/canary-judge.ts";
import { labelOf } from "./route-base.ts";
import { hasTargets, type RouteConfig } from "./route-config.ts";
import { routeKey } from "./route-key.ts";
import { canaryRoute } from "./upstream/canary-route.ts";
import type { UpstreamRouteConfig } from "./upstream/upstream-config.ts";

/** A rollout of a route: control thread and workers make the same of the same configuration. */
export interface CanaryInit {
  /** Tells it from all others, across reloads; other targets begin anew. */
  readonly key: string;
  readonly route: string;
  readonly targets: readonly string[];
  readonly rules: JudgeRules;
}

/** The rollout of a route; null without one. */
export function canaryOf(route: UpstreamRouteConfig): CanaryInit | null {
  if (route.canary === null) return null;
  const { targets, steps, everyMs, abort } = route.canary;
  const urls = targets.map(({ url }) => url);
  return {
    key: `${routeKey(route)}-${Bun.hash(JSON.stringify(urls)).toString(36)}`,
    route: labelOf(route),
    targets: urls,
    rules: { steps, everyMs, ...abort },
  };
}

/** The rollouts of a configuration. */
export function canariesIn(routes: readonly RouteConfig[]): readonly CanaryInit[] {
  return routes.flatMap((route) => (hasTargets(route) ? (canaryOf(route) ?? []) : []));
}

/** Their keys. */
export function canaryKeys({ routes }: { readonly routes: readonly RouteConfig[] }): ReadonlySet<string> {
  return new Set(canariesIn(routes).map(({ key }) => key));
}

/** Routes, each followed by that to its new version. */
export function withCanaries(routes: readonly UpstreamRouteConfig[]): readonly UpstreamRouteConfig[] {
  return routes.flatMap((route) => [route, canaryRoute(route) ?? []].flat());
}
