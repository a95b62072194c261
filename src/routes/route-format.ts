import type { RouteFormat } from "../config/route-syntax.ts";
import { ROUTE_OPTIONS } from "./route-options.ts";
import { ROUTE_TYPES } from "./route-types.ts";

/** What routes.yaml may say: the types of routes, and the options that all of them have. */
export const ROUTE_FORMAT: RouteFormat = { types: ROUTE_TYPES, options: ROUTE_OPTIONS };
