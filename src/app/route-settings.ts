import type { RouteConfig } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { Route } from "../message/route.ts";

/** What the configuration says of each route, by number; of the gateway's own and transcoded ones, which stand before, nothing. */
export function settingsByIndex(config: RuntimeConfig, routes: readonly Route[]): (RouteConfig | null)[] {
  const own = routes.length - config.routes.length;
  return routes.map((_, index) => (index < own ? null : config.routes[index - own]!));
}
