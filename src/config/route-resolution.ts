import type { KeyPath } from "./config-fault.ts";
import type { FaultLog } from "./fault-log.ts";
import { resolveHeaders } from "./header-resolution.ts";
import { resolveHostPattern } from "./host-kinds.ts";
import { didYouMean, nearestName } from "./nearest-name.ts";
import { describe, oneOf } from "./piece.ts";
import { rateLimit } from "./policy-settings.ts";
import type { RouteBase, RouteConfig } from "./route-config.ts";
import { noteNeighbours } from "./route-neighbours.ts";
import { RouteSchemas, type SharedValues } from "./route-schema.ts";
import type { RouteSurroundings, RouteSyntax, RouteSyntaxes } from "./route-syntax.ts";
import { SharedParts } from "./shared-parts.ts";

/** Resolves the list of routes.yaml, and notes routes that no request could reach. `base` is the list's own path. */
export function resolveRoutes(entries: readonly unknown[], base: KeyPath, around: RouteSurroundings): RouteConfig[] {
  const schemas = new RouteSchemas(around.types);
  const routes = entries.map((entry, i) => resolveRoute(entry, [...base, i], schemas, around));
  const parts = new SharedParts();
  const resolved = routes.filter((route) => route !== null).map((route) => parts.share(route, NO_PARTS));
  noteDuplicates(routes, base, around.log);
  noteNeighbours(routes, base, around.log);
  return resolved;
}

/** Each route has its own. */
const NO_PARTS: ReadonlySet<string> = new Set(["position", "targets"]);

function resolveRoute(
  raw: unknown,
  path: KeyPath,
  schemas: RouteSchemas,
  around: RouteSurroundings,
): RouteConfig | null {
  const { log, types } = around;
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    log.fault(path, `expected a route such as "- type: static" with its keys below, found ${describe(raw)}`);
    return null;
  }
  const name = typeOf(raw as Record<string, unknown>, path, schemas, around);
  if (name === "") return null;
  const values = log.read(schemas.of(name), raw, path, 2);
  checkPlace(values, types[name]!, path, log);
  // What a row of the table makes of a route is what its type says.
  return types[name]!.resolve(values, resolveBase(values, name, raw, path, around), path, around) as RouteConfig;
}

/** The word at `type`, which a row of the table has; "" where there is none, which is a fault. */
function typeOf(
  raw: Record<string, unknown>,
  path: KeyPath,
  { names, keys }: RouteSchemas,
  around: RouteSurroundings,
): string {
  const { log, types } = around;
  const { type } = raw;
  if (typeof type === "string" && names.includes(type)) return type;
  if (type !== undefined && type !== null) {
    const own = typeof type === "string" ? namedElsewhere(type.toLowerCase(), types) : undefined;
    const meant = own !== undefined ? ` (here it is called ${own})` : didYouMean(String(type), names);
    if (typeof type !== "symbol")
      log.fault([...path, "type"], `expected ${oneOf(names)}, found ${describe(type)}${meant}`);
    return "";
  }
  const slip = Object.keys(raw).find((key) => !keys.includes(key) && nearestName(key, keys) === "type");
  const guess = names.find((name) => types[name]!.marks.some((key) => key in raw));
  const cure =
    guess === undefined ? oneOf(names.map((name) => `type: ${name} (${types[name]!.what})`)) : `type: ${guess}`;
  if (slip === undefined) log.fault(path, `a route needs its type: add ${cure}`);
  else log.fault([...path, slip], `unknown key (did you mean "type"?)`, true);
  return "";
}

/** The type that another gateway calls by this word. */
function namedElsewhere(word: string, types: RouteSyntaxes): string | undefined {
  return Object.keys(types).find((name) => types[name]!.foreignWords.includes(word));
}

/** What the keys of every route give. */
function resolveBase(
  values: SharedValues,
  type: string,
  raw: object,
  path: KeyPath,
  around: RouteSurroundings,
): RouteBase {
  const { server, proxy, log, files } = around;
  if ("cache" in raw && values.cache.enabled && !server.cache.enabled) {
    log.warn([...path, "cache"], "has no effect while server.cache is off");
  }
  const hasLimit = "rate_limit" in raw && !log.isFaulty([...path, "rate_limit"]);
  return {
    type,
    position: log.position(path),
    prefix: values.prefix,
    path: values.path,
    methods: [],
    hosts: values.host.map((host, i) => resolveHostPattern(host, [...path, "host", i], log)),
    inboundChunkedMode: values.inbound_chunked_mode || proxy.transport.inboundChunkedMode,
    maxBodyBytes: values.max_body_bytes || server.maxBodyBytes,
    cache: {
      enabled: server.cache.enabled && values.cache.enabled,
      defaultTtlMs: values.cache.default_ttl ?? server.cache.defaultTtlMs,
    },
    rateLimit: hasLimit
      ? { ...rateLimit.resolve(values.rate_limit, { path: [...path, "rate_limit"], log, files }), scope: "route" }
      : server.rateLimit,
    ipRules: values.ip_rules,
    headers: resolveHeaders(values.headers, [...path, "headers"], log),
  };
}

/** Exactly one of `prefix` and `path` says where a route is. */
function checkPlace(values: SharedValues, { onlyPrefix }: RouteSyntax, path: KeyPath, log: FaultLog): void {
  if (log.isFaulty([...path, "prefix"]) || log.isFaulty([...path, "path"])) return;
  if (onlyPrefix !== undefined && values.path !== "") {
    log.fault([...path, "path"], onlyPrefix.refusal, true);
  } else if (values.path !== "" && values.prefix !== "") {
    log.fault(
      [...path, "path"],
      "a route has either prefix (everything below it) or path (exactly this): remove one",
      true,
    );
  } else if (values.path === "" && values.prefix === "") {
    log.fault(path, onlyPrefix?.missing ?? "a route needs prefix or path, such as prefix: /api");
  }
}

/** Two routes for the same place, host and method: the second could never answer. */
function noteDuplicates(routes: readonly (RouteConfig | null)[], base: KeyPath, log: FaultLog): void {
  const first = new Map<string, RouteConfig>();
  for (const [i, route] of routes.entries()) {
    if (route === null || (route.prefix === "" && route.path === "")) continue;
    const place = route.path === "" ? `prefix ${route.prefix}` : `path ${route.path}`;
    for (const host of orAny(route.hosts)) {
      const methods: readonly string[] = route.methods.length > 0 ? route.methods : [""];
      const taken = methods.find((method) => first.has(`${place} ${host} ${method}`));
      for (const method of methods) if (taken === undefined) first.set(`${place} ${host} ${method}`, route);
      if (taken === undefined) continue;
      const earlier = first.get(`${place} ${host} ${taken}`)!;
      if (earlier === route) continue;
      const what = `${taken === "" ? "" : `${taken} on `}${place}${host === "" ? "" : ` of host ${host}`}`;
      const message = `${what} is taken by the route in line ${earlier.position.line}: remove one, or tell them apart by host or methods`;
      log.fault([...base, i, route.path === "" ? "prefix" : "path"], message, true);
      break;
    }
  }
}

/** "" stands for any. */
function orAny(names: readonly string[]): readonly string[] {
  return names.length > 0 ? names : [""];
}
