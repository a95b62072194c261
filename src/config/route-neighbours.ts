import type { KeyPath } from "./config-fault.ts";
import type { FaultLog } from "./fault-log.ts";
import { hasTargets, pathOf, type RouteConfig } from "./route-config.ts";

/**
 * Warns of routes whose rules an origin's leniency gets round: a spelling of the path that is another path here, and so belongs
 * to a less specific route, may be the same to the origin behind that. docs/security.md#paths-and-hosts
 * @param routes in the order of the file, null where one is faulty
 * @param base path of the list in its file
 */
export function noteNeighbours(routes: readonly (RouteConfig | null)[], base: KeyPath, log: FaultLog): void {
  const prefixes = new Map<string, RouteConfig[]>();
  for (const route of routes) {
    if (route === null || route.path !== "") continue;
    const same = prefixes.get(route.prefix);
    if (same === undefined) prefixes.set(route.prefix, [route]);
    else same.push(route);
  }
  routes.forEach((route, i) => {
    if (route === null || pathOf(route) === "") return;
    const ways = waysRound(route, prefixes);
    for (const key of GUARDS) {
      const open = ways.filter(({ neighbour }) => !holds(key, route, neighbour));
      if (open.length > 0 && guards(key, route)) log.warn([...base, i, key], warningOf(pathOf(route), open));
    }
  });
}

/**
 * Warns of routes that give one client cookies of one name for different targets: each takes the other's place.
 * docs/upstreams.md#sticky-clients
 * @param routes in the order of the file, null where one is faulty
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
    for (const place of places) if (!first.has(place)) first.set(place, { path: pathOf(route), targets });
  });
}

/** The keys that guard a route. */
type Guard = "ip_rules" | "rate_limit";
const GUARDS: readonly Guard[] = ["ip_rules", "rate_limit"];

/** A less specific route, and the spellings that it takes. */
interface Way {
  readonly neighbour: RouteConfig;
  readonly spellings: readonly string[];
}

function waysRound(route: RouteConfig, prefixes: ReadonlyMap<string, readonly RouteConfig[]>): Way[] {
  const path = pathOf(route);
  const others = [`${path};x`, ...(/[a-z]/i.test(path) ? ["letter case"] : [])];
  const above = nearest(route, parentOf(path), prefixes);
  const slashed = route.path !== "" && !path.endsWith("/") ? nearest(route, path, prefixes) : null;
  const ways: Way[] = [];
  if (slashed !== null && slashed !== above) ways.push({ neighbour: slashed, spellings: [`${path}/`] });
  if (above !== null) {
    ways.push({ neighbour: above, spellings: slashed === above ? [`${path}/`, ...others] : others });
  }
  // The files of a mount are named exactly as they are; only origins are lenient.
  return ways.filter(({ neighbour }) => hasTargets(neighbour));
}

/** The route with the longest prefix of `path` that some host has in common with `route`. */
function nearest(
  route: RouteConfig,
  path: string,
  prefixes: ReadonlyMap<string, readonly RouteConfig[]>,
): RouteConfig | null {
  for (let prefix = path; prefix !== ""; prefix = parentOf(prefix)) {
    const found = prefixes.get(prefix)?.find((other) => other !== route && shareHosts(route.hosts, other.hosts));
    if (found !== undefined) return found;
  }
  return null;
}

/** The path without its last segment: `/a` of `/a/b`, `/` of `/a`, "" of `/`. */
function parentOf(path: string): string {
  if (path === "/") return "";
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

function shareHosts(some: readonly string[], others: readonly string[]): boolean {
  if (some.length === 0 || others.length === 0) return true;
  return some.some((one) => others.some((other) => one === other || isBelow(one, other) || isBelow(other, one)));
}

function isBelow(host: string, pattern: string): boolean {
  return pattern.startsWith("*.") && host.replace(/^\*/, "").endsWith(pattern.slice(1));
}

function guards(key: Guard, { ipRules, rateLimit }: RouteConfig): boolean {
  if (key === "ip_rules") return ipRules.allow.length + ipRules.deny.length > 0;
  return rateLimit.enabled && rateLimit.scope === "route";
}

/** Whether the neighbour says the same. */
function holds(key: Guard, route: RouteConfig, neighbour: RouteConfig): boolean {
  return key === "ip_rules"
    ? Bun.deepEquals(route.ipRules, neighbour.ipRules)
    : Bun.deepEquals(route.rateLimit, neighbour.rateLimit);
}

function warningOf(path: string, ways: readonly Way[]): string {
  const parts = ways.map(({ neighbour, spellings }) => `${spellings.join(", ")}: the route ${pathOf(neighbour)}`);
  return `other spellings of ${path} belong to less specific routes, whose origin may read them as ${path} (${parts.join("; ")})`;
}
