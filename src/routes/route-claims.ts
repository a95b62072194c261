import { type RouteConfig, redirectListOf } from "./route-config.ts";

/** A host and a method for which a route takes its place; "" stands for any. */
interface RouteClaim {
  readonly host: string;
  readonly method: string;
  /** The same for two routes that would take the same requests. */
  readonly key: string;
}

/** The place of a route, in words. */
export function routePlaceText({ path, prefix, regex, isByRegex }: RouteConfig): string {
  if (path !== "") return `path ${path}`;
  return isByRegex ? `regex ${regex}` : `prefix ${prefix}`;
}

/** The claims of a route, for each of its hosts and methods: of two routes with one of them in common, one alone can serve it. */
export function routeClaims(route: RouteConfig): RouteClaim[] {
  // Each share of requests begins after the one before it: two of the same size take different ones.
  if (route.match !== null && route.match.share < 1) return [];
  const asked = route.match === null ? "" : JSON.stringify(route.match);
  const terms = [routePlaceText(route), asked, route.regex, redirectListOf(route), route.listeners.join(" ")].join(
    "\n",
  );
  return orAny(route.hosts).flatMap((host) =>
    orAny(route.methods).map((method) => ({ host, method, key: `${host} ${method}\n${terms}` })),
  );
}

function orAny(names: readonly string[]): readonly string[] {
  return names.length > 0 ? names : [""];
}
