import type { RouteBase } from "./route-base.ts";

/** Tells a route from all others of a configuration, and the same route in the next one: by its place and its conditions. */
export function routeKey({ hosts, prefix, path, regex, methods, match, listeners }: RouteBase): string {
  return Bun.hash(JSON.stringify([hosts, prefix, path, regex, methods, match, listeners])).toString(36);
}
