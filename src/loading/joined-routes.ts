import type { KeyPath } from "../config/config-fault.ts";
import type { FaultLog } from "../config/fault-log.ts";
import { pathOf } from "../routes/route-base.ts";
import { routeClaims } from "../routes/route-claims.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { RouteOrigin } from "../routes/route-source.ts";
import type { PlacedEntries } from "./stream-resolution.ts";

/** The entries of one list, as they were read. */
export interface RoutePart {
  readonly origin: RouteOrigin;
  readonly entries: PlacedEntries;
  /** The path of the list in its file. */
  readonly base: KeyPath;
  readonly log: FaultLog;
}

/** A route that another one of the same host, path and match takes the place of. */
export interface ShadowedRoute extends RouteOrigin {
  /** Its path. */
  readonly route: string;
  readonly hosts: readonly string[];
  readonly by: RouteOrigin;
}

/** All routes in the order of their sources. */
export interface JoinedRoutes {
  readonly routes: readonly RouteConfig[];
  /** The place of each of them. */
  readonly places: readonly { readonly part: RoutePart; readonly index: number }[];
  readonly shadowed: readonly ShadowedRoute[];
}

/**
 * Joins the lists of all sources: of two routes of the same host, path and match, that of the earlier source stays. Within one list that is a fault,
 * which has been noted. docs/providers.md#which-route-wins
 */
export function joinedRoutes(parts: readonly RoutePart[]): JoinedRoutes {
  const routes: RouteConfig[] = [];
  const places: { part: RoutePart; index: number }[] = [];
  const shadowed: ShadowedRoute[] = [];
  const taken = new Map<string, RoutePart>();
  for (const part of parts)
    for (const [index, route] of part.entries.routes.entries()) {
      if (route === null) continue;
      const keys = parts.length === 1 ? [] : routeClaims(route).map(({ key }) => key);
      const winner = keys.map((key) => taken.get(key)).find((found) => found !== undefined && found !== part);
      if (winner !== undefined) {
        shadowed.push({ ...part.origin, route: pathOf(route), hosts: route.hosts, by: winner.origin });
        continue;
      }
      for (const key of keys) taken.set(key, part);
      routes.push(route);
      places.push({ part, index });
    }
  return { routes, places, shadowed };
}
