import type { ConfigPosition } from "../config/config-fault.ts";
import type { RouteOptions } from "./route-options.ts";
import type { RouteSource } from "./route-source.ts";

/** What routes of all types have. */
export interface RouteBase extends RouteOptions {
  /** The word at `type`. */
  readonly type: string;
  readonly position: ConfigPosition;
  /** Absent for routes.yaml. */
  readonly source?: RouteSource;
  /** `/node`, never ending in `/` except for the root `/` itself; "" for an exact route. */
  readonly prefix: string;
  /** The expression that its paths fit; "" for none. Without a prefix beside it, `prefix` is `/`. */
  readonly regex: string;
  /** Whether the expression alone places the route. */
  readonly isByRegex: boolean;
  /** The exact path, or "" for a prefix route. Exactly one of `prefix` and `path` is set. */
  readonly path: string;
  /** Upper-case; empty means every method. HEAD is served wherever GET is. */
  readonly methods: readonly string[];
  /** Lower-case names without port, `*.example.com` allowed; empty means every host. */
  readonly hosts: readonly string[];
}

/** The path that a route is for, exact or a prefix. */
export function pathOf(route: Pick<RouteBase, "path" | "prefix">): string {
  return route.path === "" ? route.prefix : route.path;
}

/** The name of a route in metrics, logs and listings: its path, its prefix, or its expression. */
export function labelOf(route: RoutePlace): string {
  return route.isByRegex === true ? (route.regex ?? "") : pathOf(route);
}

/** A route's place; built-in handlers have no expression. */
type RoutePlace = Pick<RouteBase, "path" | "prefix"> & Partial<Pick<RouteBase, "regex" | "isByRegex">>;
