import { type KeyPath, quote } from "../config/config-fault.ts";
import type { FaultLog } from "../config/fault-log.ts";
import { limitsIn } from "../features/limit/settings.ts";
import type { WafConfig } from "../features/waf/settings.ts";
import { labelOf, pathOf } from "../routes/route-base.ts";
import { hasTargets, type RouteConfig } from "../routes/route-config.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import type { ServerConfig } from "../settings/sections.ts";
import { HostTiers, type PassingRoutes, parentOf, patternsAbove } from "./host-tiers.ts";

/**
 * Warns of routes whose rules an origin's leniency gets round: a spelling of the path that is another path here, and so belongs
 * to a less specific route, may be the same to the origin behind that. docs/security.md#paths-and-hosts
 * @param routes in the order of the file, null if one is faulty
 * @param base path of the list in its file
 * @param server whose firewall holds at routes that say nothing
 */
export function noteNeighbours(
  routes: readonly (RouteConfig | null)[],
  base: KeyPath,
  log: FaultLog,
  { waf, routeOrder }: Pick<ServerConfig, "waf" | "routeOrder">,
): void {
  const isHostFirst = routeOrder !== "path_first";
  const tiers = new HostTiers(routes, isHostFirst);
  const prefixes = new Map<string, RoutesByHost>();
  for (const route of routes) {
    if (route === null || route.path !== "") continue;
    const same = prefixes.get(route.prefix) ?? new RoutesByHost();
    same.add(route);
    prefixes.set(route.prefix, same);
  }
  const all = [...GUARDS, firewallGuard(waf)];
  routes.forEach((route, i) => {
    if (route === null || labelOf(route) === "") return;
    const guards = all.filter((one) => one.guards(route));
    if (guards.length === 0) return;
    const others = isHostFirst
      ? (path: string) => tiers.nearest(route, path)
      : (path: string) => nearest(route, path, prefixes);
    const ways = route.isByRegex ? [] : waysRound(route, others);
    for (const { key, holds } of guards) {
      const open = ways.filter(({ neighbour }) => !holds(route, neighbour));
      if (open.length > 0) log.warn([...base, i, key], warningOf(labelOf(route), open, key));
      for (const passing of tiers.passing(route, (other) => serves(other) && !holds(route, other)))
        log.warn([...base, i, key], passedBy(passing, key));
    }
  });
}

/**
 * Warns of routes that give one client cookies of one name for different targets: each takes the other's place.
 * docs/upstreams.md#sticky-clients
 * @param routes in the order of the file, null if one is faulty
 * @param base path of the list in its file
 */
export function noteSharedCookies(routes: readonly (RouteConfig | null)[], base: KeyPath, log: FaultLog): void {
  const first = new Map<string, { readonly path: string; readonly targets: string }>();
  routes.forEach((route, i) => {
    if (route === null || !hasTargets(route) || route.loadBalancing.cookie === null) return;
    const { name, secret } = route.loadBalancing.cookie;
    const origins = new Set(route.targets.map(({ originKey }) => originKey));
    const targets = JSON.stringify([secret, ...[...origins].sort()]);
    const places = (route.hosts.length === 0 ? [""] : route.hosts).map((host) => `${name} ${host}`);
    const others = [`${name} `, ...places].map((place) => first.get(place));
    const other = others.find((one) => one !== undefined && one.targets !== targets);
    if (other !== undefined) {
      log.warn(
        [...base, i, "load_balancing"],
        `the cookie ${name} is also that of ${other.path}, which has other targets: a client that uses both keeps neither; give one of them another cookie: {name: …}`,
      );
    }
    for (const place of places) if (!first.has(place)) first.set(place, { path: labelOf(route), targets });
  });
}

/** A key that guards a route. */
interface Guard {
  readonly key: string;
  /** Whether the route has a guard of its own. */
  guards(route: RouteConfig): boolean;
  /** Whether the neighbour is guarded as well. */
  holds(route: RouteConfig, neighbour: RouteConfig): boolean;
}

const GUARDS: readonly Guard[] = [
  {
    key: "ip_rules",
    guards: ({ ipRules }) => ipRules.allow.length + ipRules.deny.length > 0,
    holds: (route, neighbour) => Bun.deepEquals(route.ipRules, neighbour.ipRules),
  },
  {
    key: "rate_limit",
    guards: ({ rateLimit }) => limitsIn(rateLimit).length > 0 && rateLimit.scope === "route",
    holds: (route, neighbour) => Bun.deepEquals(route.rateLimit, neighbour.rateLimit),
  },
  {
    key: "bots",
    guards: ({ bots }) => bots.isOwn && bots.enabled && bots.challenge === "all",
    holds: ({ bots }, { bots: other }) =>
      other.enabled && other.challenge === "all" && other.difficulty >= bots.difficulty,
  },
  {
    key: "auth",
    guards: ({ auth }) => auth.enabled && auth.scope === "route",
    holds: (route, neighbour) => neighbour.auth.enabled && Bun.deepEquals(route.auth.methods, neighbour.auth.methods),
  },
];

/** The firewall, where a route enforces it and its neighbour does not. */
function firewallGuard(server: Pick<WafConfig, "enabled" | "mode">): Guard {
  const modeOf = ({ waf }: RouteConfig): string => waf?.mode ?? (server.enabled ? server.mode : "off");
  return {
    key: "waf",
    guards: (route) => route.waf !== null && modeOf(route) === "enforce",
    holds: (_, neighbour) => modeOf(neighbour) === "enforce",
  };
}

/** A less specific route, and the spellings that it takes. */
interface Way {
  readonly neighbour: RouteConfig;
  readonly spellings: readonly string[];
}

/** @param nearestTo the route that takes a path which is none of this one's */
function waysRound(route: RouteConfig, nearestTo: (path: string) => RouteConfig | null): Way[] {
  const path = pathOf(route);
  const others = [`${path};x`, ...(/[a-z]/i.test(path) ? ["letter case"] : [])];
  const above = nearestTo(parentOf(path));
  const slashed = route.path !== "" && !path.endsWith("/") ? nearestTo(path) : null;
  const ways: Way[] = [];
  if (slashed !== null && slashed !== above) ways.push({ neighbour: slashed, spellings: [`${path}/`] });
  if (above !== null) {
    ways.push({ neighbour: above, spellings: slashed === above ? [`${path}/`, ...others] : others });
  }
  // The files of a mount are named exactly as they are; only origins are lenient.
  return ways.filter(({ neighbour }) => hasTargets(neighbour));
}

/** The route with the longest prefix of `path` that some host has in common with `route`. */
function nearest(route: RouteConfig, path: string, prefixes: ReadonlyMap<string, RoutesByHost>): RouteConfig | null {
  for (let prefix = path; prefix !== ""; prefix = parentOf(prefix)) {
    const found = prefixes.get(prefix)?.firstBeside(route) ?? null;
    if (found !== null) return found;
  }
  return null;
}

/** Routes of one prefix, found by hosts without a look at each: there may be one for each of thousands of hosts. */
export class RoutesByHost {
  /** The first two of each key, in the order of the file: one may be the route that asks. */
  private readonly places = new Map<string, { readonly route: RouteConfig; readonly order: number }[]>();
  private count = 0;

  add(route: RouteConfig): void {
    const order = this.count++;
    const keys = route.hosts.length === 0 ? [EVERY_HOST] : route.hosts.flatMap((host) => [host, ...below(host)]);
    for (const key of [ANY_ROUTE, ...keys]) {
      const list = this.places.get(key);
      if (list === undefined) this.places.set(key, [{ route, order }]);
      else if (list.length === 1 && list[0]!.route !== route) list.push({ route, order });
    }
  }

  /** The first other route that some host has in common with `route`; null if there is none. */
  firstBeside(route: RouteConfig): RouteConfig | null {
    const { hosts } = route;
    const keys = hosts.length === 0 ? [ANY_ROUTE] : [EVERY_HOST, ...hosts.flatMap(holding)];
    let first: { readonly route: RouteConfig; readonly order: number } | null = null;
    for (const key of keys)
      for (const one of this.places.get(key) ?? [])
        if (one.route !== route && (first === null || one.order < first.order)) first = one;
    return first?.route ?? null;
  }
}

/** The keys under which routes with a host in common with this one are: itself, all below it, and the patterns above it. */
function holding(host: string): string[] {
  return [host, ...(host.startsWith("*.") ? [`below ${host}`] : []), ...patternsAbove(host)];
}

/** The keys of a host for the patterns that it is below. */
function below(host: string): string[] {
  return patternsAbove(host).map((pattern) => `below ${pattern}`);
}

/** Keys that are no hosts: of routes without one, and of all. */
const EVERY_HOST = "";
const ANY_ROUTE = "any route";

/** Whether clients get something from a route that is not written in routes.yaml itself. */
export function serves({ type }: RouteConfig): boolean {
  return ROUTE_FORMAT.types[type]?.isWritten !== true;
}

function passedBy({ route, host, more }: PassingRoutes, key: string): string {
  const where = `the route in line ${route.position.line}${more === 0 ? "" : ` (${more} more alike)`}`;
  if (host === "")
    return `paths that fit ${quote(route.regex)} pass it by: ${where} goes before prefixes; give that route the same ${key}, or a prefix of its own`;
  return `requests for ${host} pass it by: ${where} takes them, since a host goes before a path; give that route the same ${key}, write this one for ${host} as well, or set server.route_order: path_first`;
}

function warningOf(path: string, ways: readonly Way[], key: string): string {
  const parts = ways.map(({ neighbour, spellings }) => `${spellings.join(", ")}: the route ${labelOf(neighbour)}`);
  return `other spellings of ${path} belong to less specific routes, whose origin may read them as ${path} (${parts.join("; ")}): if yours does, set ${key} there too`;
}
