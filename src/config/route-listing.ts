import type { RouteBase } from "./route-config.ts";
import { routePlace } from "./route-schema.ts";
import type { RouteFormat } from "./route-syntax.ts";

/** One route as routes.yaml would state it, every inherited value written out. */
export function listRoute(route: RouteBase, { types, options }: RouteFormat): object {
  return { ...routePlace.write(route), ...types[route.type]!.keys.write(route), ...options.write(route) };
}
