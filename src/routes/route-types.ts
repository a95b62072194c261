import { FUNCTION_ROUTE } from "./function-route.ts";
import { REDIRECT_ROUTE } from "./redirect-route.ts";
import { RESPOND_ROUTE } from "./respond-route.ts";
import type { RouteBase } from "./route-base.ts";
import type { RouteType } from "./route-type.ts";
import { STATIC_ROUTE } from "./static-route.ts";
import { UPSTREAM_ROUTE } from "./upstream/upstream-route.ts";

/** THE types of routes, by the word at `type` in routes.yaml, in the order in which faults and help name them. */
export const ROUTE_TYPES = {
  static: STATIC_ROUTE,
  upstream: UPSTREAM_ROUTE,
  redirect: REDIRECT_ROUTE,
  respond: RESPOND_ROUTE,
  function: FUNCTION_ROUTE,
} as const satisfies Readonly<Record<string, RouteType>>;

/** A resolved route of any of the types. */
export type AnyRouteConfig = RouteOf<(typeof ROUTE_TYPES)[keyof typeof ROUTE_TYPES]>;

type RouteOf<T> = T extends RouteType<infer C> ? C : never;

/** The row of a route's type. */
export function routeTypeOf(route: RouteBase): RouteType {
  return ROUTE_TYPES[route.type as keyof typeof ROUTE_TYPES];
}
