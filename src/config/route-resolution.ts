import type { KeyPath } from "./config-fault.ts";
import { quote } from "./config-fault.ts";
import type { ConfiguredFiles } from "./configured-file.ts";
import type { FaultLog } from "./fault-log.ts";
import { FOREIGN_TYPES } from "./foreign-names.ts";
import { resolveHeaders } from "./header-resolution.ts";
import { resolveHostPattern } from "./host-kinds.ts";
import { warnOfSpool } from "./limit-check.ts";
import { didYouMean, nearestName } from "./nearest-name.ts";
import { describe } from "./piece.ts";
import { rateLimit } from "./policy-settings.ts";
import type { RouteBase, RouteConfig, StaticRouteConfig } from "./route-config.ts";
import { noteNeighbours } from "./route-neighbours.ts";
import {
  routeKeys,
  type StaticEntry,
  staticRouteSchema,
  type UpstreamEntry,
  upstreamRouteSchema,
} from "./route-schema.ts";
import type { ProxyConfig, ServerConfig } from "./runtime-config.ts";
import { SharedParts } from "./shared-parts.ts";
import { resolveUpstream } from "./upstream-resolution.ts";

/** What a route inherits, and how its files are found. */
export interface RouteSurroundings {
  readonly server: ServerConfig;
  readonly proxy: ProxyConfig;
  readonly log: FaultLog;
  readonly files: ConfiguredFiles;
}

/** Resolves the list of routes.yaml, and notes routes that no request could reach. `base` is the list's own path. */
export function resolveRoutes(entries: readonly unknown[], base: KeyPath, around: RouteSurroundings): RouteConfig[] {
  const routes = entries.map((entry, i) => resolveRoute(entry, [...base, i], around));
  const parts = new SharedParts();
  const resolved = routes.filter((route) => route !== null).map((route) => parts.share(route, NO_PARTS));
  noteDuplicates(routes, base, around.log);
  noteNeighbours(routes, base, around.log);
  return resolved;
}

/** Each route has its own. */
const NO_PARTS: ReadonlySet<string> = new Set(["position", "targets"]);

function resolveRoute(raw: unknown, path: KeyPath, around: RouteSurroundings): RouteConfig | null {
  const { log } = around;
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    log.fault(path, `expected a route such as "- type: static" with its keys below, found ${describe(raw)}`);
    return null;
  }
  const type = routeType(raw as Record<string, unknown>, path, log);
  if (type === "") return null;
  if (type === "static") {
    const values = log.read(staticRouteSchema, raw, path, 2);
    return resolveStatic(values, resolveBase(values, "static", [], raw, path, around), path, around);
  }
  const values = log.read(upstreamRouteSchema, raw, path, 2);
  return resolveUpstream(values, resolveBase(values, "upstream", values.methods, raw, path, around), path, around);
}

function routeType(raw: Record<string, unknown>, path: KeyPath, log: FaultLog): "static" | "upstream" | "" {
  const { type } = raw;
  if (type === "static" || type === "upstream") return type;
  if (type !== undefined && type !== null) {
    const own = typeof type === "string" ? FOREIGN_TYPES.get(type.toLowerCase()) : undefined;
    const meant = own !== undefined ? ` (here it is called ${own})` : didYouMean(String(type), ["static", "upstream"]);
    if (typeof type !== "symbol")
      log.fault([...path, "type"], `expected static or upstream, found ${describe(type)}${meant}`);
    return "";
  }
  const slip = Object.keys(raw).find((key) => !routeKeys.includes(key) && nearestName(key, routeKeys) === "type");
  const guess = "dir" in raw ? "static" : "target" in raw || "targets" in raw ? "upstream" : "";
  const cure =
    guess === "" ? "type: static (files from a folder) or type: upstream (another server)" : `type: ${guess}`;
  if (slip === undefined) log.fault(path, `a route needs its type: add ${cure}`);
  else log.fault([...path, slip], `unknown key (did you mean "type"?)`, true);
  return "";
}

function resolveBase<T extends RouteBase["type"]>(
  values: StaticEntry | UpstreamEntry,
  type: T,
  methods: readonly string[],
  raw: object,
  path: KeyPath,
  around: RouteSurroundings,
): RouteBase & { type: T } {
  const { server, proxy, log, files } = around;
  checkPlace(values, type, path, log);
  if ("cache" in raw && values.cache.enabled && !server.cache.enabled) {
    log.warn([...path, "cache"], "has no effect while server.cache is off");
  }
  const mode = values.inbound_chunked_mode || proxy.transport.inboundChunkedMode;
  if (type === "upstream" && mode === "normalize" && values.max_body_bytes > 0) {
    warnOfSpool(values.max_body_bytes, proxy, [...path, "max_body_bytes"], log);
  }
  const hasLimit = "rate_limit" in raw && !log.isFaulty([...path, "rate_limit"]);
  return {
    type,
    position: log.position(path),
    prefix: values.prefix,
    path: values.path,
    methods,
    hosts: values.host.map((host, i) => resolveHostPattern(host, [...path, "host", i], log)),
    inboundChunkedMode: mode,
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
function checkPlace(values: StaticEntry | UpstreamEntry, type: string, path: KeyPath, log: FaultLog): void {
  if (log.isFaulty([...path, "prefix"]) || log.isFaulty([...path, "path"])) return;
  if (type === "static" && values.path !== "") {
    log.fault([...path, "path"], "a static route serves a whole folder: use prefix instead of path", true);
  } else if (values.path !== "" && values.prefix !== "") {
    log.fault(
      [...path, "path"],
      "a route has either prefix (everything below it) or path (exactly this): remove one",
      true,
    );
  } else if (values.path === "" && values.prefix === "") {
    log.fault(
      path,
      type === "static"
        ? "a static route needs prefix, such as prefix: /static"
        : "a route needs prefix or path, such as prefix: /api",
    );
  }
}

function resolveStatic(
  values: StaticEntry,
  base: RouteBase & { type: "static" },
  path: KeyPath,
  { log, files }: RouteSurroundings,
): StaticRouteConfig {
  const at = (key: string): KeyPath => [...path, key];
  if (values.dir === "" && !log.isFaulty(at("dir")))
    log.fault(path, "a static route needs dir, the folder to serve, such as dir: ./public");
  const { fallback } = values;
  if (/^\/|(^|\/)\.\.(\/|$)/.test(fallback)) {
    log.fault(at("fallback"), `expected a file inside dir, such as index.html, found ${quote(fallback)}`);
  }
  const dir = values.dir === "" ? "" : files.folder(at("dir"), values.dir);
  return {
    ...base,
    dir,
    spa: values.spa,
    fallback: fallback === "" && values.spa ? "index.html" : fallback,
    cacheControl: values.cache_control,
  };
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
