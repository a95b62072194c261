import { type SloCounts, SloTap } from "../features/slo/slo-counts.ts";
import type { ResponseTap } from "../message/exchange.ts";
import { labelOf } from "./route-base.ts";
import type { RouteConfig } from "./route-config.ts";
import { routeKey } from "./route-key.ts";

/** The objectives of a route: control thread and workers make the same of the same configuration. */
export interface SloInit {
  /** Tells it from all others, across reloads; another time limit begins anew. */
  readonly key: string;
  readonly route: string;
  /** A response that takes longer is slow; infinite without such an objective. */
  readonly underMs: number;
  readonly windowMs: number;
  readonly objectives: readonly { readonly slo: "availability" | "latency"; readonly objective: number }[];
}

/** The objectives of routes. */
export function slosIn(routes: readonly RouteConfig[]): readonly SloInit[] {
  return routes.map(sloOf).filter((one) => one !== null);
}

/** Null without any. */
function sloOf(route: RouteConfig): SloInit | null {
  if (route.slo === null) return null;
  const { availability, latency, windowMs } = route.slo;
  const underMs = latency?.underMs ?? Number.POSITIVE_INFINITY;
  return {
    key: `${routeKey(route)} ${underMs}`,
    route: labelOf(route),
    underMs,
    windowMs,
    objectives: [
      ...(availability === null ? [] : [{ slo: "availability" as const, objective: shareOf(availability) }]),
      ...(latency === null ? [] : [{ slo: "latency" as const, objective: shareOf(latency.p) }]),
    ],
  };
}

/** 99.9 % is 0.999, and not a little more. */
function shareOf(percent: number): number {
  return Number((percent / 100).toFixed(8));
}

/** The keys of a configuration's objectives. */
export function sloKeys({ routes }: { readonly routes: readonly RouteConfig[] }): ReadonlySet<string> {
  return new Set(slosIn(routes).map(({ key }) => key));
}

/** Counts for objectives; null if no route has any. @param routes by their numbers; null for those of the gateway's own */
export function sloTap(routes: readonly (RouteConfig | null)[], counts: SloCounts): ResponseTap | null {
  const all = routes.map((route) => {
    const init = route === null ? null : sloOf(route);
    return init === null ? null : { counter: counts.of(init.key), underMs: init.underMs };
  });
  return all.some((one) => one !== null) ? new SloTap(all) : null;
}
