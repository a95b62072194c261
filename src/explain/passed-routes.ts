import type { ConfigFault } from "../config/config-fault.ts";
import { HostTiers } from "../loading/host-tiers.ts";
import { serves } from "../loading/route-neighbours.ts";
import { placeKey } from "../loading/route-resolution.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";

/**
 * Notes routes that requests for some host pass by, since that host has a route with a shorter path: with `path_first` they took
 * them. A configuration that says `server.route_order` gets no note. docs/routing.md#which-route-wins
 */
export function passedRoutes({ routes, server }: RuntimeConfig): ConfigFault[] {
  if (server.routeOrder !== "") return [];
  const tiers = new HostTiers(routes, true);
  return routes.flatMap((route, i) => {
    if (!serves(route)) return [];
    return tiers.passing(route, serves).flatMap(({ host, more, route: other }) => {
      if (host === "") return [];
      const where = `the route in line ${other.position.line}${more === 0 ? "" : ` (${more} more alike)`}`;
      const message = `requests for ${host} pass this route by: ${where} takes them, since a host goes before a path; write it for ${host} as well if it should serve that host, or say server.route_order`;
      return [{ ...route.position, path: `routes[${i}].${placeKey(route)}`, message }];
    });
  });
}
