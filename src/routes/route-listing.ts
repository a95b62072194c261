import type { RouteBase } from "./route-base.ts";
import { ROUTE_FORMAT } from "./route-format.ts";
import { routePlace } from "./route-schema.ts";
import type { StreamConfig } from "./streams/stream-config.ts";

/** One route as routes.yaml would state it, every inherited value written out. */
export function listRoute(route: RouteBase): object {
  const { types, options } = ROUTE_FORMAT;
  return { ...routePlace.write(route), ...types[route.type]!.keys.write(route), ...options.write(route) };
}

/** The same for a stream. */
export function listStream(stream: StreamConfig): object {
  return { type: stream.type, ...ROUTE_FORMAT.streams[stream.type].keys.write(stream) };
}
