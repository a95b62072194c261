import type { RouteConfig } from "../routes/route-config.ts";
import type { RouteSource } from "../routes/route-source.ts";
import type { BesideRoutes } from "./beside-routes.ts";
import type { JoinedRoutes, RoutePart } from "./joined-routes.ts";

/**
 * Notes routes of guests, such as containers, that take requests of a host which an earlier source names. An exact host goes before a wildcard, and that
 * before none: guests may have these. With paths before hosts, they need hosts of their own. docs/providers.md#what-labels-may-do
 */
export function noteGuests(
  { routes, places }: JoinedRoutes,
  beside: readonly BesideRoutes[],
  isHostFirst: boolean,
): void {
  const guests = new Set<RoutePart>(
    beside.flatMap(({ file, part }) => (file.isGuest === true && part !== null ? part : [])),
  );
  if (guests.size === 0) return;
  const owners = new Map<string, string>();
  for (const [i, route] of routes.entries())
    if (!guests.has(places[i]!.part))
      for (const host of route.hosts) if (!owners.has(host)) owners.set(host, places[i]!.part.origin.name);
  if (owners.size === 0) return;
  for (const [i, route] of routes.entries()) {
    const { part, index } = places[i]!;
    if (!guests.has(part)) continue;
    const fault = guestFault(route, owners, isHostFirst, part.origin.source);
    if (fault !== "") part.log.fault([...part.base, index, "host"], fault);
  }
}

function guestFault(
  { hosts }: RouteConfig,
  owners: ReadonlyMap<string, string>,
  isHostFirst: boolean,
  source: RouteSource,
): string {
  const guest = source === "docker" ? "container" : source === "etcd" ? "route" : "service";
  for (const host of hosts) {
    const taken = widerNames(host).find((name) => owners.has(name));
    if (taken !== undefined)
      return `${host} belongs to ${owners.get(taken)}, which has routes for ${taken}: give the ${guest} another host, or set providers.${source}.trusted`;
  }
  if (!isHostFirst && (hosts.length === 0 || hosts.some((host) => host.startsWith("*."))))
    return `with server.route_order: path_first a ${guest} needs a host of its own, without a wildcard`;
  return "";
}

/** A host, and the wildcards that hold it: `a.b.c`, `*.b.c`, `*.c`. */
function widerNames(host: string): string[] {
  const labels = host.split(".");
  return [host, ...labels.slice(1).map((_, i) => `*.${labels.slice(i + 1).join(".")}`)];
}
