import { ROUTE_OPTIONS } from "./route-options.ts";
import type { RouteFormat } from "./route-syntax.ts";
import { ROUTE_TYPES } from "./route-types.ts";
import { STREAM_TYPES } from "./streams/stream-types.ts";

/** What routes.yaml may say: the types of routes with the options that all of them have, and the types of streams. */
export const ROUTE_FORMAT: RouteFormat = { types: ROUTE_TYPES, options: ROUTE_OPTIONS, streams: STREAM_TYPES };
