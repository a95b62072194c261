import type { RouteBase } from "./route-base.ts";
import { routePlace } from "./route-schema.ts";
import type { RouteFormat } from "./route-syntax.ts";
import type { StreamConfig } from "./streams/stream-config.ts";

/** One route as routes.yaml would state it, every inherited value written out. */
export function listRoute(route: RouteBase, { types, options }: RouteFormat): object {
  return { ...routePlace.write(route), ...types[route.type]!.keys.write(route), ...options.write(route) };
}

/** The same for a stream. */
export function listStream(stream: StreamConfig, { streams }: RouteFormat): object {
  return { type: stream.type, ...streams[stream.type].keys.write(stream) };
}
